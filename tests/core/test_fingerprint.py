"""Fingerprints of code: what counts as another program, and what does not."""

from __future__ import annotations

import subprocess
import sys

import pytest

from evolute.core.fingerprint import file_fingerprint, fingerprint

FUNCTION = '''
RATE = 0.5
FACES = frozenset({"heads", "tails", "edge"})

def gain(steps):
    return RATE * steps

def train(state, hparams, steps, seed):
    """Trains."""
    assert "heads" in FACES
    return (state or 0.0) + gain(steps), {"score": 1.0}
'''
CLASS = """
class Base:
    rate = 0.5

class Agent(Base):
    def __init__(self, width=8):
        self.width, self.calls = width, 0

    def train(self, state, hparams, steps, seed):
        self.calls += 1
        return state, {"score": self.rate}
"""


def made(text, name="train"):
    """What a name refers to after this text was run, as at a prompt."""
    names = {"__name__": "__prompt__"}
    exec(text, names)  # noqa: S102 - that is what a prompt does
    return names[name]


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("", "", True),
        ("RATE * steps", "RATE * steps  # a comment", True),
        ("def train", "\n\n\ndef train", True),
        ('"""Trains."""', '"""Trains for some steps."""', True),
        ('"score": 1.0', '"score": 2.0', False),
        ('"score": 1.0', '"score": 1', False),
        ("RATE * steps", "RATE + steps", False),
        ("RATE = 0.5", "RATE = 0.6", False),
        ('"tails", ', "", False),
    ],
)
def test_a_function_counts_with_what_it_refers_to(old, new, same):
    assert old in FUNCTION
    assert (fingerprint(made(FUNCTION)) == fingerprint(made(FUNCTION.replace(old, new)))) == same


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("rate = 0.5", "rate = 0.6", False),
        ("width=8", "width=9", False),
        ("return state", "return None", False),
        ("class Agent", "# the learner\nclass Agent", True),
    ],
)
def test_a_class_counts_with_its_bases(old, new, same):
    one, other = (made(text, "Agent") for text in (CLASS, CLASS.replace(old, new)))
    assert (fingerprint(one) == fingerprint(other)) == same


def test_an_object_counts_with_what_it_was_made_with_and_not_with_what_training_changes():
    agent = made(CLASS, "Agent")
    used = agent(8)
    used.train(None, {}, 1, 0)
    assert fingerprint(used) == fingerprint(agent(8))
    assert fingerprint(agent(8)) != fingerprint(agent(9))
    assert fingerprint(used.train) == fingerprint(agent(8).train)


def test_captured_values_and_defaults_count():
    text = (
        "def outer(rate):\n    def train(state, hparams, steps, seed, *, power=POWER):\n        return rate\n    return train"
    )
    one, other = (made(text.replace("POWER", "1"), "outer") for _ in range(2))
    assert fingerprint(one(0.1)) == fingerprint(other(0.1)) != fingerprint(other(0.2))
    assert fingerprint(one(0.1)) != fingerprint(made(text.replace("POWER", "2"), "outer")(0.1))


def test_lambdas_have_one():
    one, same, other = (made(f"train = lambda state, hparams, steps, seed: {word}") for word in ("1", "1", "2"))
    assert fingerprint(one) == fingerprint(same) != fingerprint(other)


def test_names_that_code_changes_itself_do_not_count():
    text = "calls = 0\ndef train(state, hparams, steps, seed):\n    global calls\n    calls += 1\n    return None, {'score': 0}"
    train = made(text)
    before = fingerprint(train)
    train(None, {}, 1, 0)
    assert fingerprint(train) == before


def test_code_of_jax_and_of_other_modules_is_followed(tmp_path, monkeypatch):
    import importlib

    monkeypatch.syspath_prepend(tmp_path)
    marks = []
    for number in range(2):
        (tmp_path / f"helpers{number}.py").write_text(f"import jax\n@jax.jit\ndef loss(x):\n    return x * {number}\n")
        importlib.invalidate_caches()
        text = f"import helpers{number} as helpers\ndef train(state, hparams, steps, seed):\n    return helpers.loss(state)"
        by_name = f"from helpers{number} import loss\ndef train(state, hparams, steps, seed):\n    return loss(state)"
        marks.append((fingerprint(made(text)), fingerprint(made(by_name))))
    assert marks[0][0] != marks[1][0]
    assert marks[0][1] != marks[1][1]


def test_code_of_others_has_none():
    from evolute.learners.ppo import ppo

    assert fingerprint(ppo) is None
    assert fingerprint(pytest.approx) is None
    assert fingerprint(len) is None


def test_it_is_the_same_in_every_process(tmp_path):
    (tmp_path / "own.py").write_text(FUNCTION + CLASS)
    ask = "import own; from evolute.core.fingerprint import fingerprint as f; print(f(own.train), f(own.Agent), f(own))"
    said = {
        subprocess.run([sys.executable, "-c", ask], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        for _ in range(3)
    }
    assert len(said) == 1


def test_programs_count_by_their_code_or_their_bytes(tmp_path):
    program = tmp_path / "train.py"
    program.write_text("print(1)\n")
    before = file_fingerprint(program)
    program.write_text("# prints\nprint(1)\n")
    assert file_fingerprint(program) == before
    program.write_text("print(2)\n")
    assert file_fingerprint(program) != before
    program.write_text("print(\n")
    assert file_fingerprint(program) != before
