"""No config, journal or checkpoint can make the program run code: nothing in the source evaluates text or unpickles."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import evolute

SOURCE = Path(evolute.__file__).parent
CALLS = {"eval", "exec", "compile", "__import__", "execfile"}
UNPICKLERS = {"pickle", "cPickle", "dill", "marshal", "shelve", "joblib", "cloudpickle"}
ALLOWED = {
    ("engines/trainer_process.py", "cloudpickle.loads"),
    ("engines/links/processes.py", "cloudpickle.loads"),
    ("envs/actor_process.py", "cloudpickle.loads"),
}
"""A learner, or an environment, comes over a pipe that only the process which made it has the other end of."""


def dangers(tree: ast.AST) -> set[str]:
    """Names of calls that run text or unpickle, `from pickle import loads` included."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in UNPICKLERS:
            found |= {f"{node.module}.{name.name}" for name in node.names}
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            module, _, attribute = name.rpartition(".")
            if name in CALLS or (module.split(".")[-1] == "builtins" and attribute in CALLS):
                found.add(name)
            if module in UNPICKLERS and attribute in {"load", "loads", "Unpickler", "open"}:
                found.add(name)
            if name == "yaml.load" and "Loader" not in [ast.unparse(argument) for argument in node.args]:
                found.add(name)
            if name in {"yaml.unsafe_load", "yaml.full_load"}:
                found.add(name)
            if any(keyword.arg == "allow_pickle" and ast.unparse(keyword.value) != "False" for keyword in node.keywords):
                found.add(f"{name}(allow_pickle)")
    return found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("eval('1')", {"eval"}),
        ("builtins.exec('1')", {"builtins.exec"}),
        ("import pickle\npickle.loads(data)", {"pickle.loads"}),
        ("from pickle import loads", {"pickle.loads"}),
        ("yaml.load(text, yaml.UnsafeLoader)", {"yaml.load"}),
        ("yaml.load(text, Loader)", set()),
        ("np.load(path, allow_pickle=True)", {"np.load(allow_pickle)"}),
        ("re.compile('a')\nmodel.eval()", set()),
    ],
)
def test_the_search_finds_what_it_looks_for(text, found):
    assert dangers(ast.parse(text)) == found


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_nothing_evaluates_text_or_unpickles(path):
    name = path.relative_to(SOURCE).as_posix()
    assert {(name, call) for call in dangers(ast.parse(path.read_text()))} <= ALLOWED
