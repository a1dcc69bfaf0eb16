"""Machine code is an extra: without llvmlite XLA trains, and a run keeps to the code that it began with."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys

import pytest

from evolute.store.journal import Journal

RUN = """
import json, sys
from pathlib import Path
arguments = json.loads(sys.argv[1])
if not arguments["llvmlite"]:
    sys.modules["llvmlite"] = None
import evolute
from evolute.config.error import ConfigError
from evolute.config.layers import python, stack
from evolute.config.resolve import resolved
from evolute.core.events import Notice
from evolute.runs.session import Launch, launch, proceed
from evolute.runs.states import remembered

folder, notices, stop = Path(arguments["folder"]), [], {"stop": {"turns": arguments["turns"]}}
how = Launch(folder=folder, notify=lambda event: notices.append(event.text) if isinstance(event, Notice) else None)
small = {"envs": 2, "unroll": 16, "minibatches": 1, "epochs": 1, "widths": [8], "devices": 2, **arguments["ppo"]}
given = {"learner": "ppo", "env": "cartpole", "population": 2, "interval": 64, "ppo": small, "engine": "inline", **stop}
try:
    if arguments["resume"]:
        run = proceed(folder, remembered(folder, [python(stop)]), how)
    else:
        run = launch(resolved(stack([python(given)])), how)
except ConfigError as error:
    print(json.dumps({"error": str(error), "turns": evolute.load(folder).best.turn.ref.turn + 1,
                      "played": len(evolute.load(folder).best.evaluate(seed=1, episodes=2))}))
else:
    digests = [turn.report.digest for member in run.population.members for turn in member.history()]
    native = "evolute.learners.kit.native.dense" in sys.modules
    print(json.dumps({"digests": digests, "notices": notices, "native": native}))
"""


def run(folder, *, llvmlite, turns=1, ppo=None, resume=False):
    """What a run prints in a process of its own, in which llvmlite can be imported or not."""
    arguments = {"folder": str(folder), "llvmlite": llvmlite, "turns": turns, "ppo": ppo or {}, "resume": resume}
    given = json.dumps(arguments)
    done = subprocess.run([sys.executable, "-c", RUN, given], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def code(folder):
    with contextlib.closing(Journal.read(folder)) as journal:
        return journal.meta.choices["code"]


def on_code(outcome):
    return [text for text in outcome["notices"] if "XLA" in text]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Two turns without llvmlite."""
    folder = tmp_path_factory.mktemp("plain") / "run"
    return folder, run(folder, llvmlite=False, turns=2)


def test_without_llvmlite_xla_trains_and_says_so_once(plain, tmp_path):
    folder, outcome = plain
    assert code(folder) == "xla"
    assert not outcome["native"]
    (text,) = on_code(outcome)
    assert "pip install 'evolute[native]'" in text
    again = run(tmp_path / "asked", llvmlite=True, turns=2, ppo={"code": "xla"})
    assert again["digests"] == outcome["digests"]
    assert not again["native"]
    assert on_code(again) == []


@pytest.mark.slow(reason="two processes compile, with and without llvmlite")
def test_a_run_keeps_to_xla_when_llvmlite_is_installed_later(plain, tmp_path):
    folder = tmp_path / "run"
    run(folder, llvmlite=False, turns=1)
    outcome = run(folder, llvmlite=True, turns=2, resume=True)
    assert outcome["digests"] == plain[1]["digests"]
    assert on_code(outcome) == []


@pytest.mark.slow(reason="two processes compile, with and without llvmlite")
def test_a_run_that_began_with_machine_code_stops_without_it_and_can_still_be_played(plain, tmp_path):
    folder = tmp_path / "run"
    outcome = run(folder, llvmlite=True)
    assert code(folder) == "native"
    assert outcome["native"]
    assert on_code(outcome) == []
    assert not set(outcome["digests"]) & set(plain[1]["digests"])
    refused = run(folder, llvmlite=False, turns=2, resume=True)
    assert "machine code" in refused["error"]
    assert "pip install 'evolute[native]'" in refused["error"]
    assert refused["turns"] == 1
    assert refused["played"] == 2


@pytest.mark.slow(reason="trains a run as older versions wrote it, and resumes it")
def test_a_run_from_before_counts_as_native(tmp_path):
    folder = tmp_path / "run"
    whole = run(tmp_path / "whole", llvmlite=True, turns=2)
    run(folder, llvmlite=True)
    with contextlib.closing(Journal.write(folder)) as journal:
        journal.put(choices={"env": "cartpole", "devices": journal.meta.choices["devices"]})
    assert run(folder, llvmlite=True, turns=2, resume=True)["digests"] == whole["digests"]


@pytest.mark.parametrize("ppo", [{"activation": "elu"}, {"memory": 4}])
def test_networks_without_machine_code_need_no_word(tmp_path, ppo):
    outcome = run(tmp_path / "run", llvmlite=False, ppo=ppo)
    assert on_code(outcome) == []
