"""The live table in real pseudo-terminals: whole numbers at any width, and what is left on the screen after Ctrl-C."""

from __future__ import annotations

import re
import time

import pexpect
import pytest
from tests.cli.terminal import Terminal, evolute_in

import evolute
from evolute.report import formats, lines
from evolute.report.columns import Column, fitted
from evolute.runs.result import Run

NAMES = ("lr", "entropy", "discount", "gae_lambda", "clip", "vf_coef", "weight_decay")
RANGES = ["train.discount=1-log[0.9,0.9999]", *(f"train.{name}=log[1e-6,1e-3]" for name in NAMES if name != "discount")]
LEARNER = """
import pathlib, time
def train(state, hparams, steps, seed):
    while state is not None and not pathlib.Path("go").exists():
        time.sleep(0.02)
    return {"w": 1.0}, {"score": 100 * hparams["lr"]}
"""


class Session:
    """`evolute run` in a terminal of this size, watched until the screen shows what is waited for."""

    def __init__(self, place, rows: int, columns: int, *settings: str) -> None:
        (place / "own.py").write_text(LEARNER)
        self.terminal = Terminal(rows, columns)
        command = ["run", "-m", "learner=own:train", "stop.turns=3", "name=own", *settings]
        self.child = evolute_in(place, rows, columns, *command)

    def until(self, shown) -> list[str]:
        deadline = time.monotonic() + 60
        while not shown(self.terminal.screen):
            assert time.monotonic() < deadline, "\n".join(self.terminal.screen)
            try:
                self.terminal.feed(self.child.read_nonblocking(100_000, 0.5))
            except pexpect.TIMEOUT:
                continue
        return self.terminal.screen

    def interrupted(self) -> list[str]:
        self.child.sendintr()
        while True:
            try:
                self.terminal.feed(self.child.read_nonblocking(100_000, 30))
            except pexpect.EOF:
                self.child.close()
                return self.terminal.screen


def member_rows(screen: list[str]) -> list[list[str]]:
    return [line.split() for line in screen if re.match(r" +\d+ ", line)]


def all_scored(count: int):
    return lambda screen: len([row for row in member_rows(screen) if row[1] != "–" and row[-1] == "1"]) >= count


@pytest.mark.parametrize(("columns", "hidden"), [(60, 4), (80, 2), (120, 0)])
def test_numbers_are_whole_at_any_width_and_what_is_hidden_is_named(tmp_path, columns, hidden):
    session = Session(tmp_path, 24, columns, "population=5", *RANGES)
    screen = session.until(all_scored(5))
    population = Run.open(tmp_path / "runs" / "own-1").population
    header = next(line.split() for line in screen if line.lstrip().startswith("member"))
    shown = [name for name in header if name in NAMES]
    assert header == ["member", "score", *shown, "weights", "turn"]
    missing = [name for name in NAMES if name not in shown]
    assert len(missing) == hidden
    assert any(f"no room for {', '.join(missing)}" in line for line in screen) == bool(missing)
    rows = member_rows(screen)
    assert [int(row[0]) for row in rows] == list(range(5))
    for row, member in zip(rows, population.members, strict=True):
        assert float(row[1]) == pytest.approx(member.latest.score, rel=1e-3)
        hparams = member.running.hparams
        assert [float(cell) for cell in row[2 : 2 + len(shown)]] == pytest.approx([hparams[name] for name in shown], rel=0.05)
    assert "turns/s" in screen[0]
    session.interrupted()


def test_forty_members_fold_into_the_best_and_a_line_on_the_others(tmp_path):
    session = Session(tmp_path, 24, 80, "population=40", *RANGES[:3])
    screen = session.until(all_scored(16))
    rows = member_rows(screen)
    others = re.search(r"… (\d+) more members, scores (\S+) to (\S+)", "\n".join(screen))
    assert len(rows) + int(others[1]) == 40
    assert "turns/s" in screen[0]
    scores = [float(row[1]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert float(others[2]) <= float(others[3]) <= scores[-1]
    session.interrupted()


@pytest.mark.parametrize("columns", [60, 80])
def test_after_ctrl_c_the_best_score_stays_on_the_screen_and_nothing_else_does(tmp_path, columns):
    session = Session(tmp_path, 24, columns, "population=5", *RANGES)
    session.until(all_scored(5))
    left = "".join(session.interrupted())
    best = Run.open(tmp_path / "runs" / "own-1").best.score
    assert left.lstrip("^C").startswith("stopped by SIGINT: finished turns are saved")
    assert f"best score so far {best:.4g}" in left
    assert left.endswith("to resume: evolute resume runs/own-1")
    assert session.child.exitstatus == 130


def test_without_a_terminal_the_best_never_falls_within_a_turn(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(lines, "EVERY", 0.0)

    def falling(state, hparams, steps, seed):
        turn = 0 if state is None else state + 1
        return turn, {"score": 10 * hparams["h"] - 5 * turn}

    where = {"engine": "simulated", "workers": 1, "strategy": "random_search", "runs": tmp_path}
    evolute.run(falling, space={"h": [0, 1]}, population=6, stop={"turns": 5}, **where)
    told = re.findall(r"turn (\d+): best (\S+)", capsys.readouterr().out)
    best = {turn: [float(score) for other, score in told if other == turn] for turn, _ in told}
    assert len(best) == 6
    assert max(map(len, best.values())) >= 5
    for turn, scores in best.items():
        assert scores == sorted(scores), f"turn {turn}"
    assert best["2"][0] < best["1"][0]


@pytest.mark.parametrize(
    ("value", "text"),
    [(8.362e-5, "8.4e-5"), (0.99984, "0.9998"), (0.8123, "0.812"), (0.0, "0"), (123456.0, "1.23e5"), (64, "64"), (None, "–")],
)
def test_short_numbers_keep_their_size(value, text):
    assert formats.short(value) == text


def test_a_wide_column_gives_way_to_those_after_it():
    columns = [Column("member", ["0"], needed=True), Column("widths", ["x" * 50]), Column("lr", ["0.1"])]
    shown, hidden = fitted(columns, 40)
    assert ([column.name for column in shown], hidden) == (["member", "lr"], ["widths"])
