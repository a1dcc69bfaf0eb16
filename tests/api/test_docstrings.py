"""The examples in the docstrings of the Python API run as they are printed in the reference."""

from __future__ import annotations

import inspect
import re
import textwrap

import pytest

import evolute

TOURNAMENT = pytest.param(evolute.tournament, marks=pytest.mark.slow(reason="its example trains in a game, which is compiled"))


@pytest.mark.parametrize("function", [evolute.run, evolute.resume, evolute.load, TOURNAMENT])
def test_the_example_runs(function, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", inspect.getdoc(function), re.DOTALL)
    exec(textwrap.dedent(example), {"__name__": "example"})  # noqa: S102
    assert list((tmp_path / "runs").iterdir())


@pytest.mark.parametrize("function", [evolute.run, evolute.resume, evolute.load, evolute.tournament])
def test_every_argument_is_described(function):
    arguments = inspect.getdoc(function).partition("Args:")[2].partition("Returns:")[0]
    assert re.findall(r"^    \**(\w+): ", arguments, re.MULTILINE) == list(inspect.signature(function).parameters)
