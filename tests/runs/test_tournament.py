"""Tournaments and matches: how many games there are, who may take part, and what is said of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.opponents import duels

import evolute
from evolute.cli.games import play_against
from evolute.cli.games import tournament as command
from evolute.cli.main import app
from evolute.cli.policy import play
from evolute.config.error import ConfigError
from evolute.runs.tournament import against, for_all_seats, tournament

SMALL = {"envs": 8, "unroll": 8, "widths": [4], "minibatches": 1, "epochs": 1}


@pytest.fixture(scope="module")
def rps(tmp_path_factory) -> Path:
    settings = {f"ppo.{name}": value for name, value in SMALL.items()} | {"opponents.anchors": "random"}
    space = {"lr": evolute.Float(1e-4, 1e-2, log=True)}
    stop = {"turns": 1}
    folder = tmp_path_factory.mktemp("games") / "rps"
    more = {"population": 2, "interval": 64, "stop": stop, "display": "none", "opponents": "history"}
    return evolute.run("ppo", env="matrix:rps", space=space, folder=folder, **more, **settings).folder


@pytest.mark.parametrize("seats", [2, 3])
def test_the_higher_return_wins_where_both_sides_gain(tmp_path, seats):
    """Each seat gets 1, and 1 more for action 1: a member that plays at random wins as often as it loses."""
    joint = np.indices((2,) * seats)
    settings = {f"ppo.{name}": value for name, value in SMALL.items()} | {"ppo.lr": 0.0}
    more = {"population": 2, "interval": 64, "stop": {"turns": 1}, "display": "none", "opponents": "history"}
    env = {"env": "matrix:own", "matrix.payoff": (1 + joint).tolist(), "matrix.rounds": 1}
    run = evolute.run("ppo", folder=tmp_path / "own", space={}, **env, **more, **settings)
    match = against(run.folder, None, "random", games=600)
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
    assert against(rps, None, "random", games=5).games == 6


def test_a_bot_that_is_not_there_is_named(rps):
    with pytest.raises(ConfigError, match=r"^this game has no bot 'rock'; there are random$"):
        tournament([rps], bots=["rock"], games=2)


def test_what_is_printed_fits_a_terminal(rps, capsys):
    command([rps], past=0, bots=["random"], games=10, seed=0, as_json=False)
    play_against(rps, None, "random", games=10, seed=0, as_json=False)
    out = capsys.readouterr().out
    assert "% of 12 games that the row won against the column" in out
    assert "10 games against random" in out
    assert "%, draws counting half (90% interval " in out
    assert max(len(line.removeprefix(str(rps.parent))) for line in out.splitlines() if str(rps) not in line) <= 80


def test_code_that_plays_its_games_itself_is_not_told_to_name_a_bot(tmp_path):
    folder = duels.run(tmp_path / "duel", turns=2).folder
    with pytest.raises(ConfigError, match=r"^the learner duel cannot be played$"):
        play(folder, None, episodes=None, seed=0, video=None, sample=None, as_json=False)
    with pytest.raises(ConfigError, match=r"^code of your own plays its games itself"):
        tournament([folder], games=2)


@pytest.mark.parametrize("option", [["--greedy"], ["--video", "game.gif"]])
def test_what_play_against_cannot_do_is_refused(tmp_path, option):
    with pytest.raises(ConfigError, match="leave out --greedy and --video"):
        app(["play", str(tmp_path), "--against", "random", *option], standalone_mode=False)
