"""The commands as a person types them, in a terminal and without one."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pexpect
import pytest
from tests.cli.terminal import Terminal, evolute_in

from evolute.cli.main import spread
from evolute.runs.result import Run
from evolute.runs.turns import TurnTable

EVOLUTE = [sys.executable, "-m", "evolute"]


def evolute(place, *arguments: str, code: int = 0) -> subprocess.CompletedProcess:
    done = subprocess.run([*EVOLUTE, *arguments], cwd=place, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    return done


def test_a_run_without_a_terminal_prints_plain_lines_and_a_summary(tmp_path):
    out = evolute(tmp_path, "run", "toy").stdout
    assert "training 2 members in runs/toy-1" in out
    assert re.search(r"best: member \d, score 1\.2", out)
    assert "schedule along its line of descent" in out
    assert "line of descent, by member: 0 (turns" in out
    assert "evolute show runs/toy-1" in out
    assert "evolute resume runs/toy-1 -m stop.turns=100" in out
    assert "\x1b" not in out


def test_one_take_over_is_one_time(tmp_path):
    (tmp_path / "own.py").write_text("def train(state, hparams, steps, seed): return None, {'score': hparams['h']}\n")
    out = evolute(tmp_path, "run", "-m", "learner=own:train", "train.h=[0,1]", "population=2", "stop.turns=2").stdout
    assert "inherited 1 time\n" in out


def test_json_gives_one_object_per_turn_and_a_final_one(tmp_path):
    (tmp_path / "own.py").write_text(
        "import os\n"
        "def train(state, hparams, steps, seed):\n"
        "    print('chatter'); os.write(1, b'more chatter\\n')\n"
        "    return None, {'score': hparams['h']}\n"
    )
    arguments = ["run", "--json", "-m", "learner=own:train", "train.h=[0,1]", "population=3", "stop.turns=4"]
    lines = [json.loads(line) for line in evolute(tmp_path, *arguments).stdout.splitlines()]
    turns = [line for line in lines if line["event"] == "turn"]
    assert sorted((line["member"], line["turn"]) for line in turns) == [(m, t) for m in range(3) for t in range(4)]
    assert lines[-1]["event"] == "end"
    assert lines[-1]["best"]["score"] == max(line["score"] for line in turns if line["turn"] == 3)


def test_a_terminal_shows_a_live_table_and_then_the_summary(tmp_path):
    (tmp_path / "own.py").write_text(
        "import time\n"
        "def train(state, hparams, steps, seed):\n"
        "    time.sleep(0.05)\n"
        "    if seed % 9 == 0: raise ValueError('unlucky')\n"
        "    return {'w': 1.0}, {'score': hparams['lr']}\n"
    )
    arguments = ["run", "-m", "learner=own:train", "train.lr=log[1e-3,1]", "population=5", "interval=100", "stop.turns=12"]
    child = pexpect.spawn(EVOLUTE[0], [*EVOLUTE[1:], *arguments], cwd=str(tmp_path), dimensions=(30, 120), encoding="utf-8")
    child.expect("weights.*turn", timeout=20)
    child.expect(r"turns/s, [\d,]+ steps/s, \d+%, .* left", timeout=20)
    child.expect("best: member", timeout=30)
    child.expect(pexpect.EOF, timeout=10)
    child.close()
    assert child.exitstatus == 0


@pytest.mark.slow(reason="a real terminal that is watched while it trains")
def test_more_members_than_lines_show_the_best_and_say_how_many_more(tmp_path):
    (tmp_path / "own.py").write_text(
        "import time\ndef train(state, hparams, steps, seed):\n    time.sleep(0.01)\n    return None, {'score': hparams['h']}\n"
    )
    arguments = ["run", "-m", "learner=own:train", "train.h=[0,1]", "population=100", "stop.turns=4"]
    child = pexpect.spawn(EVOLUTE[0], [*EVOLUTE[1:], *arguments], cwd=str(tmp_path), dimensions=(20, 100), encoding="utf-8")
    child.expect(r"\d+ more", timeout=20)
    child.expect("best: member", timeout=30)
    child.expect(pexpect.EOF, timeout=10)
    child.close()


def test_the_same_command_again_starts_a_new_run_once_the_first_has_finished(tmp_path):
    for _ in range(2):
        evolute(tmp_path, "run", "toy")
    listed = json.loads(evolute(tmp_path, "ls", "--json").stdout)
    assert sorted(row["run"] for row in listed) == ["runs/toy-1", "runs/toy-2"]
    assert {row["status"] for row in listed} == {"finished"}


def test_the_same_command_on_the_same_folder_finds_the_run_finished(tmp_path):
    first = evolute(tmp_path, "run", "toy", "--folder", "here").stdout
    again = evolute(tmp_path, "run", "toy", "--folder", "here").stdout
    assert "training" not in again
    assert again.splitlines()[1:4] == first.splitlines()[-len(again.splitlines()) :][1:4]


def test_another_config_on_the_same_folder_is_refused(tmp_path):
    evolute(tmp_path, "run", "toy", "--folder", "here")
    refused = evolute(tmp_path, "run", "toy", "--folder", "here", "-m", "seed=5", code=2)
    assert "here already holds a run, which differs in seed" in refused.stderr


def test_a_finished_run_is_resumed_when_its_limit_is_raised(tmp_path):
    evolute(tmp_path, "run", "toy", "-m", "stop.turns=5")
    evolute(tmp_path, "resume", "toy-1", "-m", "stop.turns=9")
    shown = json.loads(evolute(tmp_path, "show", "toy-1", "--json").stdout)
    assert [row["turns"] for row in shown["members"]] == [9, 9]
    assert shown["ended"] == "finished its 9 turns"


def test_show_tells_the_story_of_the_best_and_of_any_member(tmp_path):
    evolute(tmp_path, "run", "toy")
    out = evolute(tmp_path, "show", "toy-1").stdout
    assert "member" in out
    assert "weights" in out
    assert len(re.findall(r"^ +\d+(?:–\d+)? +h0=", out, re.MULTILINE)) > 10
    shown = json.loads(evolute(tmp_path, "show", "toy-1", "--json", "--member", "1").stdout)
    assert shown["member"]["member"] == 1
    lineage = shown["member"]["lineage"]
    assert sum(part["to"] - part["from"] + 1 for part in lineage) == 50
    assert evolute(tmp_path, "show", "toy-1", "--member", "7", code=2).stderr.startswith("error: there is no member 7")


def test_show_cuts_no_numbers_when_its_table_is_wider_than_the_terminal(tmp_path):
    (tmp_path / "own.py").write_text("def train(state, hparams, steps, seed):\n    return None, {'score': 1.0}\n")
    ranges = [f"train.a_long_name_{letter}=log[1e-7,1e-5]" for letter in "abcdefg"]
    evolute(tmp_path, "run", "-m", "learner=own:train", *ranges, "population=3", "stop.turns=2")
    header, first, *_ = evolute(tmp_path, "show", "train-1").stdout.splitlines()[1:]
    assert header.split()[-7:] == [f"a_long_name_{letter}" for letter in "abcdefg"]
    hparams = Run.open(tmp_path / "runs" / "train-1").population[0].last.order.hparams
    assert first.split()[-7:] == [f"{value:.4g}" for value in hparams.values()]


def test_a_dry_run_prints_values_with_their_sources_and_what_to_expect_and_makes_nothing(tmp_path):
    (tmp_path / "more.yaml").write_text("population: 6\npbt:\n  quantile: 0.5\n")
    out = evolute(tmp_path, "run", "toy", "-c", "more.yaml", "-m", "seed=3", "--dry-run").stdout
    assert re.search(r"population +6 +\(more.yaml:1\)", out)
    assert re.search(r"pbt.quantile +0.5 +\(more.yaml:3\)", out)
    assert re.search(r"seed +3 +\(-m\)", out)
    assert re.search(r"toy.h0 +\[0, 1\] +\(preset toy:\d+\) +evolved", out)
    assert re.search(r"mode +sync +\(default\)", out)
    assert "members:   6, in 1 cohort" in out
    assert "1,200 of the whole population" in out
    assert "checkpoints of at most 39 states" in out
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "tyo"], "no preset 'tyo'; did you mean 'toy'?"),
        (["run", "-m", "a=b", "--dry-run", "env=cartpole"], "env=cartpole is no preset but a setting: settings come last"),
        (["run", "-m", "learner=ppo", "env=connect:"], "something is missing behind the colon, such as the port"),
        (["run", "toy", "-m", "populaton=3"], "unknown key 'populaton' (-m); did you mean 'population'?"),
        (["run", "toy", "-m", "pbt.quantile=0.7"], "quantile=0.7: must lie in (0, 0.5]"),
        (["run", "toy", "-m", "toy.h0=log[1e-2, 1e-5]"], "the lower bound must lie below the upper one"),
        (["run", "toy", "-m", "strategy=pbtt"], "no strategy 'pbtt'; did you mean 'pbt'?"),
        (["run", "toy", "-m", "learner=nowhere:train"], "there is no module 'nowhere' to import"),
        (["run"], "no learner is set"),
        (["run", "toy", "-m", "name=a/b"], "without a slash"),
        (["run", "toy", "-m", "log=paper"], "no log 'paper'; there are csv, mlflow, tensorboard, wandb"),
        (["run", "toy", "-m", "log=nowhere:sink"], "there is no module 'nowhere' to import"),
        (["run", "toy", "-m", "name=.hidden"], "leading dot"),
        (["run", "toy", "-c", "missing.yaml"], "cannot read the config file missing.yaml: No such file or directory"),
        (["resume", "nothing"], "nothing is not a run"),
        (["show", "nothing"], "nothing is not a run"),
    ],
)
def test_mistakes_give_one_sentence(tmp_path, arguments, message):
    done = evolute(tmp_path, *arguments, code=2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists()


def test_ls_lists_unreadable_runs_without_failing(tmp_path):
    evolute(tmp_path, "run", "toy")
    (tmp_path / "runs" / "broken").mkdir()
    (tmp_path / "runs" / "broken" / "journal.sqlite").write_bytes(b"garbage" * 1000)
    out = evolute(tmp_path, "ls").stdout
    assert re.search(r"runs/broken +unreadable", out)
    assert re.search(r"runs/toy-1 +finished +1\.2", out)
    assert "no runs in" in evolute(tmp_path, "ls", "elsewhere").stdout


@pytest.mark.slow(reason="several runs, each a program of its own")
def test_ls_is_ordered_by_age_and_shows_what_was_trained_and_whether_all_failed(tmp_path):
    (tmp_path / "own.py").write_text(
        "def train(state, hparams, steps, seed):\n    return None, {'score': 1 // hparams['h'] ** 0.5}\n"
    )
    own = ["-m", "learner=own:train", "population=3", "name=own"]
    evolute(tmp_path, "run", "toy", "-m", "stop.turns=3", "strategy=random_search")
    for mode in ("sync", "async"):
        settings = ["train.h=[-2,-1]", "stop.turns=5", f"mode={mode}"]
        assert "all 3 members failed" in evolute(tmp_path, "run", *own, *settings, code=2).stderr
    evolute(tmp_path, "run", *own, "train.h=[1,2]", "stop.turns=2", "name=last")
    evolute(tmp_path, "resume", "toy-1", "-m", "stop.turns=6")
    header, *lines = evolute(tmp_path, "ls").stdout.splitlines()
    assert header.split() == ["run", "state", "best", "env", "learner", "strategy", "turns", "age", "size"]
    assert [line.split()[:6] for line in lines] == [
        ["runs/last-1", "finished", "0", "–", "train", "pbt"],
        ["runs/own-2", "failed", "–", "–", "train", "pbt"],
        ["runs/own-1", "failed", "–", "–", "train", "pbt"],
        ["runs/toy-1", "finished", lines[3].split()[2], "–", "toy", "random_search"],
    ]
    rows = json.loads(evolute(tmp_path, "ls", "--json").stdout)
    assert [row["age"] for row in rows] == sorted(row["age"] for row in rows)
    assert {Run.open(tmp_path / "runs" / name).status for name in ("own-1", "own-2")} == {"failed"}
    assert {TurnTable.read(tmp_path / "runs" / name).status for name in ("own-1", "own-2")} == {"failed"}
    assert "failed" in evolute(tmp_path, "show", "own-1").stdout.splitlines()[0]


def test_ls_leaves_out_columns_that_a_narrow_terminal_has_no_room_for(tmp_path):
    evolute(tmp_path, "run", "toy", "-m", "stop.turns=3", "name=a-long-name-of-a-run")
    child = evolute_in(tmp_path, 24, 70, "ls")
    child.expect(pexpect.EOF, timeout=30)
    terminal = Terminal(24, 70)
    terminal.feed(child.before)
    header, row, hidden, *rest = [line for line in terminal.screen if line]
    assert header.split()[:3] == ["run", "state", "best"]
    assert row.startswith("runs/a-long-name-of-a-run-1  finished")
    assert hidden.startswith("no room for ")
    assert not rest


def test_comparing_a_run_with_its_equal_says_that_it_is_one_sample(tmp_path):
    for seed in (0, 0, 1):
        evolute(tmp_path, "run", "toy", "-m", "stop.turns=5", f"seed={seed}", "--new")
    refused = evolute(tmp_path, "compare", "toy-1", "toy-2", code=2).stderr
    assert "runs/toy-2, runs/toy-1 have the same config and seed, so they are one sample" in refused
    out = evolute(tmp_path, "compare", "toy-1", "toy-2", "toy-3", "-o", "").stdout
    assert "runs/toy-2 is left out: it has the config and seed of runs/toy-1" in out
    assert re.search(r"^pbt +2 ", out, re.MULTILINE)


def test_options_take_several_values():
    assert spread(["run", "-c", "a", "b", "--new", "-m", "x=1", "y=-2"]) == [
        *["run", "-c", "a", "-c", "b", "--new", "-m", "x=1", "-m", "y=-2"]
    ]


def test_presets_are_listed_with_what_they_are(tmp_path):
    out = evolute(tmp_path, "presets").stdout
    assert re.search(r"^toy +The two-parameter problem", out, re.MULTILINE)


def test_values_and_names_that_look_like_markup_are_shown_as_they_are(tmp_path):
    (tmp_path / "own.py").write_text("def train(state, hparams, steps, seed): return None, {'score': 1.0}\n")
    arguments = ["-m", "learner=own:train", 'train.word=choice["[/b]", "[red]x"]', "population=3", "stop.turns=2"]
    evolute(tmp_path, "run", *arguments, "name=mk[bold]")
    assert "runs/mk[bold]-1" in evolute(tmp_path, "ls").stdout
    out = evolute(tmp_path, "show", "mk[bold]-1").stdout
    assert "[/b]" in out or "[red]x" in out


def test_a_learner_that_cannot_be_sent_to_a_child_process_gives_a_sentence(tmp_path):
    (tmp_path / "own.py").write_text(
        "import threading\n"
        "class Trainer:\n"
        "    def __init__(self): self.lock = threading.Lock()\n"
        "    def train(self, state, hparams, steps, seed): return 1, {'score': 1.0}\n"
        "    def save(self, state, folder): (folder / 'x').touch()\n"
        "    def load(self, folder): return 1\n"
    )
    done = evolute(tmp_path, "run", "-m", "learner=own:Trainer", "Trainer.h=[0,1]", "stop.turns=2", "limit=5", code=2)
    assert "cannot be sent to one" in done.stderr
    assert "Traceback" not in done.stderr


def test_show_gives_hints_where_they_help(tmp_path):
    (tmp_path / "own.py").write_text(
        "def train(state, hparams, steps, seed):\n"
        "    total = (state or 0.0) + hparams['x']\n"
        "    return total, {'score': total}\n"
    )
    evolute(tmp_path, "run", "-m", "learner=own:train", "train.x=[1,4]", "population=8", "stop.turns=20")
    assert "hint: x: the winners sit at its upper bound 4" in evolute(tmp_path, "show", "train-1").stdout


@pytest.mark.slow(reason="a dozen commands, each a program of its own")
def test_pictures_schedules_replays_forks_and_comparisons_as_a_person_types_them(tmp_path):
    evolute(tmp_path, "run", "toy", "-m", "stop.turns=8")
    assert "wrote toy-1.png" in evolute(tmp_path, "plot", "toy-1", "--only", "family").stdout
    assert "wrote toy-1.html" in evolute(tmp_path, "report", "toy-1").stdout
    assert "strategy: schedule" in evolute(tmp_path, "schedule", "toy-1").stdout
    assert "bit-identical: all 8 states" in evolute(tmp_path, "replay", "toy-1", "--exact").stdout
    assert "finished its 12 turns" in evolute(tmp_path, "fork", "toy-1", "--turn", "3", "-m", "stop.turns=12").stdout
    assert "wrote comparison.png" in evolute(tmp_path, "compare", "toy-1", "toy-1-fork-1").stdout
    assert "is not a run" in evolute(tmp_path, "report", "absent", code=2).stderr
    assert "there is no folder nowhere" in evolute(tmp_path, "dashboard", "nowhere", code=2).stderr


@pytest.mark.parametrize("library", ["uvicorn", "starlette"])
def test_a_dashboard_without_its_libraries_says_what_to_install(tmp_path, library):
    code = f"import sys; sys.modules[{library!r}] = None; from evolute.cli.main import main; main(['dashboard'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert re.fullmatch(r"error: the dashboard needs \S+: pip install 'evolute\[dashboard\]'\n", done.stderr)
