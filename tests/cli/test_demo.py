"""`make demo`, in a folder of its own: it trains, writes the report, and says how to open it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow(reason="compiles and trains the demo")
def test_the_demo_ends_with_a_report_and_says_how_to_open_it(tmp_path):
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    (tmp_path / ".venv" / ".installed").touch()  # what is installed here is used
    done = subprocess.run(["make", "demo"], cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "MAKEFLAGS": ""})
    assert done.returncode == 0, done.stderr
    address = re.search(r"open it in a browser: (file://\S+)", done.stdout)[1]
    assert address == (tmp_path / "demo.html").resolve().as_uri()
    assert "cartpole-1" in (tmp_path / "demo.html").read_text()
