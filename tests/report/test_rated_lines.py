"""What a run of rated members says while it trains and when it ends: the ratings of now, and how sure the first place is."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console
from tests.opponents.duels import SETTINGS, duel

from evolute.config.layers import python, stack
from evolute.config.resolve import resolved
from evolute.core.order import Ref
from evolute.report import lines
from evolute.report.data.standings import ratings
from evolute.report.display import Display
from evolute.report.summary import ratings_table
from evolute.report.watched import Watched
from evolute.runs.result import Run
from evolute.runs.session import Launch, launch


class Both:
    """Plain lines, and what a live table knows."""

    def __init__(self) -> None:
        self.out = io.StringIO()
        self.lines = lines.Lines(self.out)
        self.table: Watched | None = None

    def begin(self, folder, config, population) -> None:
        self.lines.begin(folder, config, population)
        self.table = Watched(folder, config, population)

    def watch(self, event) -> None:
        self.lines.watch(event)
        if self.table is not None:
            self.table.take(event)

    def end(self) -> None:
        return


def trained(folder, **more) -> tuple[Run, Both]:
    given = {key: value for key, value in SETTINGS.items() if key != "display"}
    config = resolved(stack([python({"learner": duel, **given, "stop": {"turns": 6}, **more})]))
    screen = Both()
    return launch(config, Display(screen).watching(Launch(folder=folder))), screen


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_every_line_has_the_ratings_of_its_turn(tmp_path, monkeypatch, mode):
    monkeypatch.setattr(lines, "EVERY", 0.0)
    run, screen = trained(tmp_path / "run", mode=mode)
    told = re.findall(r"^turn (\d+): best (\S+) \(member (\d+)\)", screen.out.getvalue(), re.MULTILINE)
    turn, score, member = told[-1]
    assert (int(turn), int(member)) == (6, run.best.member)
    assert float(score) == pytest.approx(run.best.score, rel=1e-3)
    assert screen.table is not None
    assert screen.table.best_members == {run.best.member}
    assert screen.table.population[run.best.member].latest.score == run.best.score
    if mode == "sync":
        assert [int(turn) for turn, _, _ in told] == [2, 3, 4, 5, 6]  # in the first turn there is nobody to play yet
        for turn, score, _ in told[:-1]:
            scores = [run.population.find(Ref(slot, int(turn) - 1)).score for slot in range(len(run.population))]
            assert float(score) == pytest.approx(max(scores), rel=1e-3)


def shown(data) -> str:
    out = io.StringIO()
    Console(file=out, width=200).print(ratings_table(data))
    return out.getvalue()


def test_the_table_ends_with_who_is_best_and_how_sure_that_is(tmp_path):
    run, _ = trained(tmp_path / "run")
    data = ratings(run)
    first, second = (row["member"] for row in data["members"][:2])
    assert 0 < data["certainty"] <= data["lead"] <= 1
    assert shown(data).splitlines()[-1] == (
        f"member {first} is best with probability {data['certainty']:.2f} "
        f"(better than member {second} with probability {data['lead']:.2f})"
    )


def test_elo_does_not_pretend_to_be_sure(tmp_path):
    run, _ = trained(tmp_path / "run", **{"opponents.rating": "elo"})
    text = shown(ratings(run))
    assert text.splitlines()[-1] == f"member {run.best.member} has the highest rating; Elo ratings do not tell how sure that is"
    assert "±" not in text
