"""What the documents say is true: the config page is made from the code, and the README's program and links work."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_config_page_is_up_to_date():
    page = runpy.run_path(str(ROOT / "docs" / "make_config.py"))["page"]()
    assert (ROOT / "docs" / "config.md").read_text() == page, "run python docs/make_config.py"


@pytest.mark.parametrize("program", re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL))
def test_the_readmes_programs_run_as_they_stand(program, tmp_path):
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", ["README.md", "ARCHITECTURE.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))])
def test_links_and_named_files_exist(page):
    text = (ROOT / page).read_text()
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert ((ROOT / page).parent / link).exists(), link
    for named in re.findall(r"`((?:tests|src|examples|benchmarks|docs)/[\w/.]+)`", text):
        assert (ROOT / named).exists(), named


@pytest.mark.parametrize("page", ["README.md", "docs/strategies.md"])
def test_commands_that_are_shown_are_understood(page, tmp_path):
    commands = re.findall(r"^    evolute run (\w[^#\n]*)", (ROOT / page).read_text(), re.MULTILINE)
    assert commands
    for command in commands:
        arguments = [word for word in command.split() if word != "--json"]
        done = subprocess.run(
            [sys.executable, "-m", "evolute", "run", *arguments, "--dry-run"], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
