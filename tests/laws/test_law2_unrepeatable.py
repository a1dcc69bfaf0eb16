"""A learner that cannot repeat itself goes back to its last durable turn when it is resumed, and the run says so."""

from __future__ import annotations

import json
import re
import signal

import pytest
from tests.laws.killed import Killer

from evolute.runs.result import Run

SETTINGS = {"space": {"h": "[0, 1]"}, "population": 4, "stop": {"turns": 6}, "seed": 3}
FUNCTION = {**SETTINGS, "learner": "restless:train", "durable": 2}
CLASS = {**SETTINGS, "learner": "restless:Diary"}


@pytest.fixture(scope="module")
def train():
    """Trains in a process of its own, and returns its exit code."""
    killer = Killer()
    yield killer.train
    killer.close()


def consistent(run: Run) -> bool:
    """Whether each member's state is the one that its reports tell of."""
    for member in run.population.members:
        agent = run.member(member.slot)
        told = [turn.report.metrics["luck"] for turn in agent.lineage]
        state = agent.state
        past = [float(x) for x in state["deep/diary.txt"].decode().split()] if "deep/diary.txt" in state else state["past"]
        if past != told:
            return False
    return True


@pytest.mark.parametrize(("settings", "rewinds"), [(FUNCTION, True), (CLASS, False)], ids=["function", "class"])
def test_what_cannot_be_made_again_is_rewound_or_was_saved_in_time(train, tmp_path, settings, rewinds):
    assert train(tmp_path / "whole", settings) == 0
    assert consistent(Run.open(tmp_path / "whole"))
    points = json.loads((tmp_path / "whole.points").read_text())
    went_back = 0
    for point in range(20, len(points), 9):
        folder = tmp_path / f"killed-{point}"
        if (code := train(folder, settings, point)) == 0:
            break  # chance decides how often the best changes, and so how many points there are
        assert code == -signal.SIGKILL
        assert train(folder, settings) == 0
        run = Run.open(folder)
        assert [member.turns for member in run.population.members] == [6, 6, 6, 6]
        assert consistent(run), f"killed at {point}, {points[point - 1]}"
        back = [int(found[1]) for _, _, body in run.notes if (found := re.search(r"went back by (\d+)", body.get("text", "")))]
        assert max(back, default=0) <= 12, "went back by more than one generation"
        went_back += len(back)
    if rewinds:
        assert went_back > 2
