"""Tournaments and matches: how many games there are, who may take part, and what is said of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import typer
from tests.opponents import duels
from tests.runs.conftest import SMALL

import evolute
from evolute.cli.games import by_seat, play_against, ratings
from evolute.cli.games import tournament as command
from evolute.cli.main import tournament as tournament_command
from evolute.cli.policy import play
from evolute.config.error import ConfigError
from evolute.core.order import PlayedGames
from evolute.report.data.standings import ratings as ratings_of
from evolute.report.tournament import tournament_page
from evolute.runs.tournament import Tournament, against, for_all_seats, tournament


@pytest.mark.parametrize("seats", [2, 3])
def test_the_higher_return_wins_where_both_sides_gain(tmp_path, seats):
    """Each seat gets 1, and 1 more for action 1: a member that plays at random wins as often as it loses."""
    joint = np.indices((2,) * seats)
    settings = {f"ppo.{name}": value for name, value in SMALL.items()} | {"ppo.lr": 0.0}
    more = {"population": 2, "interval": 64, "stop": {"turns": 1}, "display": "none", "opponents": "history"}
    env = {"env": "matrix:own", "matrix.payoff": (1 + joint).tolist(), "matrix.rounds": 1}
    run = evolute.run("ppo", folder=tmp_path / "own", space={}, **env, **more, **settings)
    match = against(run.folder, None, "random", games=600).match
    assert match.score == pytest.approx(0.5, abs=0.1)
    assert match.gain == pytest.approx(1.5, abs=0.1)


def test_every_pair_plays_as_many_games_bots_too(rps):
    played = tournament([rps], bots=["random"], games=10)
    np.testing.assert_array_equal(played.games, 12 * (1 - np.eye(3)))  # 6 as the host, 6 as the guest: 3 in each seat


@pytest.mark.parametrize(
    ("seats", "games", "number"), [(2, 1, 2), (2, 6, 6), (2, 7, 8), (3, 4, 6), (3, 5, 6), (4, 5, 8), (4, 7, 8), (4, 8, 8)]
)
def test_all_seats_are_taken_equally_often(seats, games, number):
    assert for_all_seats(range(seats), games) == number


def test_a_match_has_all_seats_too(rps):
    assert against(rps, None, "random", games=5).seats == (0, 1) * 3


@pytest.fixture(scope="module")
def circular() -> Tournament:
    """Rock, paper and scissors, and one who loses to all of them."""
    shares = np.array([[0.5, 0.1, 0.9, 0.8], [0.9, 0.5, 0.1, 0.8], [0.1, 0.9, 0.5, 0.8], [0.2, 0.2, 0.2, 0.5]])
    return Tournament(("rock", "paper", "scissors", "<b>fool</b>"), 100 * shares * (1 - np.eye(4)))


def test_a_tournament_says_who_is_good_in_several_ways(circular):
    played = circular
    assert played.standings[-1].name == "<b>fool</b>"
    assert {one.name: round(one.mixture, 3) for one in played.standings} == pytest.approx(
        {"rock": 1 / 3, "paper": 1 / 3, "scissors": 1 / 3, "<b>fool</b>": 0}, abs=1e-3
    )
    assert played.cycle in {("rock", "scissors", "paper"), ("scissors", "paper", "rock"), ("paper", "rock", "scissors")}
    low, high = played.mixture_interval
    assert all(low[:3] < 1 / 3)
    assert all(high[:3] > 1 / 3)
    assert high[3] < 0.01
    text = repr(played)
    assert text.splitlines()[0] == "tournament of 4, 100 games a pair"
    assert text.splitlines()[2].split()[-2:] == ["33%", "33%"]
    assert "they go round in a circle: " in text
    assert played.sentence in text
    assert played.sentence.startswith(f"{played.standings[0].name} is best with probability 0.3")


def test_few_games_leave_the_first_place_open():
    """Three of four games: how far apart they are is uncertain, and not by as much as where fresh players may be."""
    played = Tournament(("one", "other"), np.array([[0, 3.0], [1.0, 0]]))
    first, second = played.standings
    assert first.rating == pytest.approx(-second.rating)
    assert first.deviation == pytest.approx(second.deviation)
    assert first.deviation < 100
    assert played.sentence == f"one is better than other with probability {played.lead:.2f}"
    assert 0.75 < played.lead < 0.9


def test_with_random_ratings_are_relative_to_it():
    wins = np.array([[0, 3.0, 4.0], [1.0, 0, 4.0], [0, 0, 0]])
    last = Tournament(("one", "other", "random"), wins).standings[-1]
    assert (last.rating, last.deviation) == (0, 0)


def test_bots_that_never_meet_are_compared_by_their_ratings():
    """A member beats `random` and loses to `rule`: nobody needs `random`, although it has lost no game to `rule`."""
    played = Tournament(("member", "random", "rule"), np.array([[0, 60.0, 10.0], [40.0, 0, 0], [90.0, 0, 0]]))
    assert [one.name for one in played.standings] == ["rule", "member", "random"]
    assert [round(one.mixture, 3) for one in played.standings] == [1, 0, 0]
    assert played.standings[0].alpha_rank > 0.99
    _, high = played.mixture_interval
    assert high[1] < 0.01
    assert played.games[1, 2] == 0
    assert played.shares[1, 2] == 0.5


def test_names_after_bots_are_explained(rps):
    with pytest.raises(typer.BadParameter, match="foo is not a run, and --bots takes no names"):
        tournament_command([rps, Path("foo")], bots=True)


def test_its_page_holds_all_of_it_and_loads_nothing(circular):
    text = tournament_page(circular, ["a", "b"])
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    assert "<b>fool" not in text
    assert [chart["key"] for chart in data["charts"]] == ["payoff", "ratings", "mixture", "alpha-rank"]
    cells = data["charts"][0]["series"][0]
    assert "rock won 90% of 100 games against scissors" in cells["texts"]
    assert len(cells["texts"]) == 12
    assert [row[1] for row in data["rows"]][-1] == "<b>fool</b>"
    assert data["circle"].startswith("they go round in a circle: ")
    assert data["circle"].endswith("(certainty more than 99%)")


def test_the_command_writes_the_page(rps, tmp_path, capsys):
    command([rps], past=1, bots="all", games=4, seed=0, path=tmp_path / "table.html", as_json=False)
    assert (tmp_path / "table.html").read_text().startswith("<!doctype html>")
    out = capsys.readouterr().out
    assert "wrote " in out
    assert " is best with probability 0." in out
    assert "90% interval" in out.splitlines()[0]
    assert {"member 0", "member 1", "random"} <= {re.split("  +", line)[1] for line in out.splitlines()[1:4]}
    with pytest.raises(ConfigError, match=r"call it \.html$"):
        command([rps], past=0, bots=[], games=4, seed=0, path=tmp_path / "table.png", as_json=False)


def test_python_takes_runs_or_folders(rps):
    played = evolute.tournament([evolute.Run.open(rps), str(rps)], games=4)
    assert len(played.names) == 2
    assert played.games.tolist() == [[0, 4], [4, 0]]


def test_ratings_are_listed_by_run_and_by_line_of_descent(tmp_path, capsys):
    runs = [duels.run(tmp_path / name, turns=4, seed=seed) for seed, name in enumerate(("one", "two"))]
    ratings([run.folder for run in runs], turns=False, as_json=False)
    out = capsys.readouterr().out
    assert all(str(run.folder) in out for run in runs)
    assert "ratings of different runs cannot be compared" in out
    ratings([runs[0].folder], turns=True, as_json=False)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[0][1:3] == ["member", str(runs[0].best.member)]
    assert [row[0] for row in rows[1:4]] == ["1", "2", "3"]
    assert rows[3][1:4] == str(runs[0].ratings[0]).split()
    ratings([runs[0].folder], turns=True, as_json=True)
    line = json.loads(capsys.readouterr().out)["lines"][str(runs[0].best.member)]
    assert line == [[*turn.ref, turn.score, turn.deviation] for turn in runs[0].best.lineage if turn.deviation is not None]


def test_a_run_has_its_ratings(tmp_path):
    run = duels.run(tmp_path / "run", turns=4)
    assert [one.member for one in run.ratings] == [row["member"] for row in ratings_of(run)["members"]]
    assert run.ratings[0].member == run.best.member
    assert run.ratings[0].rating == run.best.score
    assert len(run.ratings) == 4
    assert repr(run.ratings).splitlines()[-1] == run.ratings.sentence
    alone = evolute.run(preset="toy", population=2, stop={"turns": 1}, folder=tmp_path / "alone", display="none")
    assert len(alone.ratings) == 0
    assert repr(alone.ratings).startswith("no ratings: ")


def test_a_bot_that_is_not_there_is_named(rps):
    with pytest.raises(ConfigError, match=r"^this game has no bot 'rock'; there are random$"):
        tournament([rps], bots=["rock"], games=2)


def test_what_is_printed_fits_a_terminal(rps, capsys):
    command([rps], past=0, bots=["random"], games=10, seed=0, path=None, as_json=False)
    play_against(rps, None, "random", games=10, seed=0, greedy=True, as_json=False)
    out = capsys.readouterr().out
    assert "% of 12 games that the row won against the column" in out
    assert "10 games against random with the likeliest actions" in out
    assert "draws count as half a win; mean return " in out
    assert max(len(line.removeprefix(str(rps.parent))) for line in out.splitlines() if str(rps) not in line) <= 80


def test_games_are_counted_by_seat():
    rows = by_seat(PlayedGames(("random",), (0, 1, 0, 1), (1.0, 0.5, 1.0, 0.0), (2.0, 0.0, 2.0, -2.0)))
    assert [[row[key] for key in ("seat", "won", "drawn", "lost", "score")] for row in rows] == [
        [0, 2, 0, 0, 1.0],
        [1, 0, 1, 1, 0.25],
        [None, 2, 1, 1, 0.625],
    ]
    assert all(row["low"] < row["score"] <= 1 for row in rows)
    assert all(row["high"] > row["score"] or row["score"] == 1 for row in rows)


def test_code_that_plays_its_games_itself_is_not_told_to_name_a_bot(tmp_path):
    folder = duels.run(tmp_path / "duel", turns=2).folder
    with pytest.raises(ConfigError, match=r"^the learner duel cannot be played$"):
        play(folder, None, episodes=None, seed=0, video=None, sample=None, as_json=False)
    with pytest.raises(ConfigError, match=r"^code of your own plays its games itself"):
        tournament([folder], games=2)
