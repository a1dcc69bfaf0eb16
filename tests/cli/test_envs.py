"""`evolute envs` in a process of its own."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

import pytest


def evolute_envs(*arguments):
    return subprocess.run([sys.executable, "-m", "evolute", "envs", *arguments], capture_output=True, text=True)


def test_what_is_installed_is_listed_with_an_example_and_the_rest_with_how_to_get_it():
    rows = json.loads(evolute_envs("--json").stdout)
    shown = evolute_envs().stdout
    assert rows["gym"]["installed"]
    for name, row in rows.items():
        line = next(line for line in shown.splitlines() if line.startswith(f"{name} "))
        assert ("not yet" in line, row["get"] in line) == (not row["installed"],) * 2
        assert not row["installed"] or f"env={row['example']}" in line


def test_the_names_in_a_source_are_listed():
    assert "gym:CartPole-v1" in evolute_envs("gym").stdout.splitlines()
    failed = evolute_envs("gymnx")
    assert (failed.returncode, "did you mean 'gymnax'?" in failed.stderr) == (2, True)


@pytest.mark.skipif(importlib.util.find_spec("gfootball") is not None, reason="football is installed")
def test_where_football_can_be_built_is_told():
    said = evolute_envs("football").stderr
    assert "this builds it on Debian 12, in an activated virtual environment with Python 3.11:" in said
