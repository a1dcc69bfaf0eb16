"""The plots of a game: ratings, who beats whom, the Nash mixture and the pool, from the journal alone."""

from __future__ import annotations

import numpy as np
import pytest
from tests.opponents import duels
from tests.report import synthetic
from tests.report.synthetic_games import GAMES, POINTS, POOL, league

from evolute.core.order import Ref
from evolute.report.data.page import page_data
from evolute.report.draw import drawn
from evolute.report.figures import games
from evolute.runs.games import BOT, GameTable
from evolute.runs.result import Run
from evolute.runs.turns import TurnTable

MEMBERS, TURNS = 6, 50


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return league(tmp_path_factory.mktemp("league") / "run", MEMBERS, TURNS)


@pytest.fixture(scope="module")
def table(folder):
    return TurnTable.read(folder)


@pytest.fixture(scope="module")
def charts(table):
    return {chart.key: chart for chart in games.charts(table)}


def test_a_run_without_games_has_none(tmp_path):
    table = TurnTable.read(synthetic.synthetic(tmp_path / "run", members=4, turns=5))
    assert games.charts(table) == []
    assert "Games" not in {chart["section"] for chart in page_data(table)["charts"]}


def test_a_page_has_them_in_a_section(table):
    keys = [chart["key"] for chart in page_data(table)["charts"] if chart["section"] == "Games"]
    assert keys == ["ratings", "payoff", "mixture", "pool"]


def test_ratings_have_their_intervals_and_the_best_is_in_front(charts):
    best = charts["ratings"].series[-1]
    assert (best.name, best.role) == (f"best (member {MEMBERS - 1})", "winner")
    assert best.x == list(range(TURNS))
    assert best.y[-1] == POINTS * (MEMBERS - 1) + TURNS  # the one that was written when the run ended
    assert best.y[0] == POINTS * (MEMBERS - 1) + 1  # the first order that could rate turn 0 is that of turn 1
    assert best.spread == pytest.approx([1.645 * 30] * TURNS)


def test_the_heat_map_counts_every_game_of_the_last_turns(folder, charts):
    won, played = np.zeros((MEMBERS, MEMBERS)), np.zeros((MEMBERS, MEMBERS))
    for member in Run.open(folder).population.members:
        for turn in list(member.history())[: games.WINDOW]:
            for match in turn.report.matches:
                other = match.against[0]
                if isinstance(other, Ref) and other.turn >= TURNS - games.WINDOW and other.member != member.slot:
                    for one, two, share in (
                        (member.slot, other.member, match.score),
                        (other.member, member.slot, 1 - match.score),
                    ):
                        won[one, two] += share * match.games
                        played[one, two] += match.games
    chart = charts["payoff"]
    (cells,) = chart.series
    told = {
        (chart.y.categories[y], chart.x.categories[x]): text for x, y, text in zip(cells.x, cells.y, cells.texts, strict=True)
    }
    assert chart.x.categories == ["5", "4", "3", "2", "1", "0", "random", "past"]
    assert chart.y.categories == ["0", "1", "2", "3", "4", "5"]  # from below: the best is on top
    for one, two in zip(*np.nonzero(played), strict=True):
        share, count = won[one, two] / played[one, two], played[one, two]
        assert told[str(one), str(two)] == f"member {one} won {share:.0%} of {count:.0f} games against member {two}"
    assert len([pair for pair in told if pair[1].isdigit()]) == (played > 0).sum()
    assert told["0", "random"].endswith(f" of {GAMES * games.WINDOW} games against random")
    assert told["5", "past"].endswith(" games against past states")


def test_the_mixture_is_all_of_the_strongest_where_there_is_one(charts):
    (cells,) = charts["mixture"].series
    columns: dict[float, dict[float, float]] = {}
    for x, y, value in zip(cells.x, cells.y, cells.values, strict=True):
        columns.setdefault(x, {})[y] = value
    assert len(columns) == games.TIMES
    assert all(sum(column.values()) == pytest.approx(1) for column in columns.values())
    last = columns[max(columns)]
    assert max(last, key=last.__getitem__) == MEMBERS - 1
    assert last[MEMBERS - 1] > 0.9


def test_the_pool_shows_who_is_in_it_and_who_was_forgotten(charts):
    series = {part.name: part for part in charts["pool"].series}
    assert len(series["in the pool now"].x) == 2 * POOL
    assert len(series["forgotten"].x) == 2 * (TURNS - 1 - POOL)
    assert set(series["in the pool now"].x[1::2]) == {TURNS - 1}
    assert all(int(made) < joined for made, joined in zip(series["forgotten"].y, series["forgotten"].x, strict=True))


def test_matplotlib_draws_them_all(charts):
    figure = drawn(list(charts.values()), "games")
    figure.draw_without_rendering()
    heat = next(axes for axes in figure.axes if axes.get_title() == "Who beats whom")
    assert len(heat.patches) == len(charts["payoff"].series[0].x)
    assert [label.get_text() for label in heat.get_xticklabels()] == list(charts["payoff"].x.categories)


def test_mates_are_not_opponents_and_a_shared_side_is_shared(tmp_path):
    table = TurnTable.read(league(tmp_path / "run", 3, 2))
    rows = [(0, 1, f'[[[null, [1, 0], [2, 0]], 0.75, 32, 0.0], [[null, "chase", "chase"], 0.5, {GAMES}, 0.0]]')]
    found = GameTable.of(TurnTable(**{**vars(table), "matches": rows}))
    assert found.other.tolist() == [1, 2, BOT, BOT]
    assert found.count.tolist() == [16, 16, 16, 16]
    assert found.wins.tolist() == [12, 12, 8, 8]
    assert found.bots == ("chase",)


def test_only_the_best_are_shown_of_many(tmp_path):
    table = TurnTable.read(league(tmp_path / "run", 40, 3))
    charts = {chart.key: chart for chart in games.charts(table)}
    assert charts["payoff"].y.categories[-1] == "39"
    assert len(charts["payoff"].y.categories) == games.SHOWN
    assert "The best 32 of 40 members are shown." in charts["payoff"].note


def test_a_real_run_has_them_while_it_trains_and_when_it_has_ended(tmp_path):
    folder = duels.run(tmp_path / "duel", turns=4).folder
    charts = games.charts(TurnTable.read(folder))
    assert [chart.key for chart in charts] == ["ratings", "payoff", "mixture", "pool"]
    assert max(charts[0].series[-1].x) == 3
