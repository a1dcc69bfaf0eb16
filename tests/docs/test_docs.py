"""What the documents say is true: generated pages are current, links work, and every command and program in them runs.

Each page runs from top to bottom in a folder of its own: files with a title are written, programs and commands are run.
Commands that need a cluster, an account or an install are replaced by something that does nothing (ELSEWHERE says why);
training in environments is shortened (`short.py`).
"""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from tests.docs.blocks import PAGES, ROOT, SHELLS, blocks, commands

from evolute.cli.main import app, main, spread

HERE = Path(__file__).parent
ELSEWHERE = {
    "pip": "installs packages",
    "sudo": "installs packages",
    "make": "installs packages, and runs these tests",
    "pre-commit": "installs a hook",
    "git": "changes a repository",
    "srun": "needs Slurm",
    "sbatch": "needs Slurm",
    "scontrol": "needs Slurm",
    "wandb": "needs an account",
    "tensorboard": "serves pages until it is stopped",
    "ray": "starts a cluster; tests/engines/test_ray.py runs these commands",
    "scp": "needs a second machine",
}
NOT_HERE = {
    "mpiexec": "one rank stands for all here; tests/engines/test_mpi.py starts several",
    "ray.address=auto": "needs a cluster; tests/engines/test_ray.py starts one",
    "actors.address=auto": "needs a cluster; tests/engines/far_ray.py starts one",
    "env=procgen": "trains long even if it is short; tests/envs/test_extras.py plays it",
    "procgen-small": "trains long even if it is short; tests/config/test_presets.py builds it",
}
"""Commands that are checked by a dry run alone."""
QUICK = {
    "docs/explain/laws.md",
    "docs/explain/pbt.md",
    "docs/how-to/pandas.md",
    "docs/how-to/shell.md",
    "docs/how-to/steer.md",
    "docs/index.md",
}
"""Pages that run within some seconds."""
RUNNABLE = [page for page in PAGES if any(block.language in (*SHELLS, "python") for block in blocks(page))]
READY = {"runs/cartpole-1": ["cartpole"], "runs/toy-1": ["toy"], "runs/drift-1": ["drift", "-m", "strategy=pb2"]}
"""Runs that pages speak of without having made them."""


def test_the_config_page_is_up_to_date():
    page = runpy.run_path(str(ROOT / "docs" / "make_config.py"))["page"]()
    assert (ROOT / "docs" / "config.md").read_text() == page, "run python docs/make_config.py"


def test_the_page_on_the_command_line_has_every_command_and_option():
    pytest.importorskip("mkdocs")
    page = runpy.run_path(str(ROOT / "docs" / "make_cli.py"))["page"]()
    for name, command in typer.main.get_command(app).commands.items():
        section = page.partition(f"## evolute {name}\n")[2].partition("\n## ")[0]
        options = [option for param in command.params for option in param.opts if option.startswith("--") and not param.hidden]
        assert section
        assert not [option for option in options if option not in section], name


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_its_pages_load_nothing_from_elsewhere(tmp_path):
    """The sandbox of this test cannot forbid a network; `unshare -rn make docs` shows that none is needed."""
    pytest.importorskip("mkdocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path / "site")]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 25
    for page in pages:
        text = page.read_text()
        assert not re.findall(r"<(?:script|link|img|iframe|source)\b[^>]*(?:src|href)=\"?(?:https?:)?//[^>]*>", text), page


@pytest.mark.parametrize("page", [*PAGES, "ARCHITECTURE.md", "CHANGELOG.md"])
def test_links_and_named_files_exist(page):
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text):
        linked = (ROOT / page).parent / link
        assert link.startswith("https://") or linked.exists() or linked.name == "cli.md", link
    for named in re.findall(r"`((?:tests|src|examples|benchmarks|docs)/[\w/.-]+)`", text):
        assert (ROOT / named).exists(), named


def test_contributing_names_files_and_functions_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    code = ROOT / "src" / "evolute"
    rows = re.findall(r"^\|.*$", text.partition("## Where does it go?")[2].partition("\n## ")[0], re.MULTILINE)[2:]
    assert len(rows) >= 12
    for row in rows:
        files = re.findall(r"`([\w<>/]+/(?:[\w<>]+\.(?:py|yaml))?)`", row)
        assert files, row
        assert all(((code / name).parent if "<" in name else code / name).exists() for name in files), row
    settings = (code / "config" / "settings.py").read_text()
    assert all(f"def {name}(" in settings for name in re.findall(r"`(_\w+)\(…\)`", text))
    shown = next(block.text for block in blocks("CONTRIBUTING.md") if "Annotated[Count" in block.text)
    assert shown in settings


@pytest.mark.parametrize("page", [page for page in RUNNABLE if commands(page)])
def test_commands_that_are_shown_are_understood(page, tmp_path, monkeypatch, capsys):
    """Every command has the options that it is given; every run has a config that is valid as it is written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    written(page, tmp_path)
    group = typer.main.get_command(app)
    for words in commands(page):
        name, *rest = spread(words)
        shown = [word.replace("$seed", "0") for word in rest]
        group.commands[name].make_context(name, list(shown))
        if name == "run" and not any("schedule.yaml" in word or "init.from" in word for word in shown):
            with pytest.raises(SystemExit) as ended:
                main([name, *shown, "--dry-run"])
            assert ended.value.code == 0, f"{words}: {capsys.readouterr().err}"
    capsys.readouterr()
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    """A folder with the runs that pages speak of."""
    folder = tmp_path_factory.mktemp("ready")
    return folder


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("page", [page if page in QUICK else pytest.param(page, marks=pytest.mark.slow) for page in RUNNABLE])
def test_a_page_runs_from_top_to_bottom(page, ready, tmp_path):
    path = shims(tmp_path / "bin")
    folder = tmp_path / "here"
    folder.mkdir()
    env = {
        **os.environ,
        "PATH": f"{path}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT / 'src'}",
        "WANDB_MODE": "offline",
        "SLURM_JOB_ID": "1",
    }
    for run, words in READY.items():
        mentioned, made = run in (ROOT / page).read_text(), any(f"evolute run {words[0]}" in b.text for b in blocks(page)[:1])
        if mentioned and not made:
            copied(ready, run, words, folder, env)
    for number, block in enumerate(blocks(page)):
        if block.title is not None:
            (folder / block.title).write_text(block.text + "\n")
        elif block.language == "python":
            check([sys.executable, "-c", block.text], folder, env, f"{page}, block {number}")
        elif block.language in SHELLS:
            check(["bash", "-euc", runnable(block.text)], folder, env, f"{page}, block {number}")


def written(page: str, folder: Path) -> None:
    """Write the files that a page shows."""
    for block in blocks(page):
        if block.title is not None:
            (folder / block.title).write_text(block.text + "\n")


def runnable(text: str) -> str:
    """A block without the commands that only a dry run checks."""
    lines = text.replace("\\\n", " ").splitlines()
    return "\n".join(line for line in lines if not any(mark in line for mark in NOT_HERE))


def shims(folder: Path) -> Path:
    """A folder of programs that stand before those of the system: a short `evolute`, and what does nothing here."""
    folder.mkdir()
    programs = {name: f"#!/bin/sh\n# {reason}\nexit 0\n" for name, reason in ELSEWHERE.items()}
    programs["evolute"] = f'#!/bin/sh\nexec "{sys.executable}" "{HERE / "short.py"}" "$@"\n'
    for name, text in programs.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


def copied(ready: Path, run: str, words: list[str], folder: Path, env: dict[str, str]) -> None:
    """Put a run into a page's folder, trained once for all pages."""
    if not (ready / run).exists():
        check(["evolute", "run", *words, "--folder", run], ready, env, run)
    shutil.copytree(ready / run, folder / run)


def check(command: list[str], folder: Path, env: dict[str, str], what: str) -> None:
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, f"{what}:\n{command[-1]}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
