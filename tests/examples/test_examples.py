"""Every example runs as its docstring says, in a folder of its own, and shows what it promises."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))
SHORT = {
    "own_function": ["--turns", "12"],
    "own_class": ["--turns", "4"],
    "own_script": ["--turns", "4"],
    "own_torch": ["--turns", "2"],
}


TORCH = pytest.param("own_torch", marks=pytest.mark.slow(reason="PyTorch trains each member in a process of its own"))


@pytest.fixture(scope="module", params=[TORCH if name == "own_torch" else name for name in NAMES])
def example(request, tmp_path_factory):
    """The name of an example, the folder it ran in, and what it printed."""
    folder = tmp_path_factory.mktemp(request.param)
    return request.param, folder, run(request.param, folder, *SHORT.get(request.param, []))


def run(name, folder, *arguments):
    command = [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py"), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_example_prints_a_result_and_leaves_its_runs_in_the_runs_folder(example):
    name, folder, printed = example
    assert printed
    assert list((folder / "runs").iterdir()), name
    assert {path.name for path in folder.iterdir()} <= {"runs", f"{name}.png"}


@pytest.mark.parametrize("name", NAMES)
def test_an_example_opens_with_what_it_shows_and_how_to_run_it(name):
    told = ast.get_docstring(ast.parse((EXAMPLES / f"{name}.py").read_text()))
    assert f"python examples/{name}.py" in told


def test_the_toy_shows_that_only_exploring_members_solve_it(tmp_path):
    printed = run("toy_paths", tmp_path, "--seed", "3", "--runs", "here", "--picture", "picture.png")
    found = dict(re.findall(r"^(Grid search|Exploit only|Explore only|PBT) +(\S+)", printed, re.M))
    assert float(found["Grid search"]) == float(found["Exploit only"]) == 0.39
    assert float(found["PBT"]) > 1.19
    assert float(found["Explore only"]) > 1.0
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert len(list((tmp_path / "here").iterdir())) == 4


def test_the_function_learns_and_its_schedule_leads_to_the_best_score(tmp_path):
    printed = run("own_function", tmp_path, "--turns", "12")
    best = float(re.search(r"best: .* score (\S+),", printed)[1])
    scores = [float(score) for score in re.findall(r"^  turn .* score +(\S+)$", printed, re.M)]
    assert len(scores) == 12
    assert scores[-1] == best > -0.2 > scores[0]


def test_the_class_learns_the_sine_and_its_best_network_is_loaded(tmp_path):
    printed = run("own_class", tmp_path, "--turns", "4")
    assert float(re.search(r"mean squared error (\S+),", printed)[1]) < 0.2
    pairs = re.findall(r"network\(.*\) = +(\S+) +the sine is +(\S+)", printed)
    assert len(pairs) == 3
    assert all(abs(float(one) - float(other)) < 0.8 for one, other in pairs)


def test_the_script_learns_to_pull_the_best_lever(tmp_path):
    printed = run("own_script", tmp_path, "--turns", "6")
    assert float(re.search(r"mean reward (\S+) of", printed)[1]) > 0.6
    values = ast.literal_eval(re.search(r"checkpoint: (.*)", printed)[1])
    assert values[9] == max(values)


@pytest.mark.slow(reason="the example's own training loop learns, in a program of its own")
def test_a_file_of_pytorch_learns_cartpole(tmp_path):
    printed = run("own_torch", tmp_path, "--turns", "3")
    assert float(re.search(r"return (\S+),", printed)[1]) > 60
