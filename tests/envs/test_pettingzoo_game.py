"""PettingZoo's environments as games: every agent is a seat, and a seat gets what its agent gets."""

from __future__ import annotations

import numpy as np
import pytest
from own_zoo import Counting

from evolute.envs.make import make_env, make_game
from evolute.envs.pettingzoo_game import PettingZooGame
from evolute.envs.spec import EnvSpec
from evolute.testing import check_host_game


@pytest.mark.parametrize(
    ("name", "shape", "teams", "zero_sum"),
    [
        ("pettingzoo:classic.tictactoe_v3", (3, 3, 2), (0, 1), True),
        ("pettingzoo:classic.connect_four_v3", (6, 7, 2), (0, 1), True),
        ("pettingzoo:classic.rps_v2", (4,), (0, 1), True),
        ("pettingzoo:butterfly.knights_archers_zombies_v11", (137,), (0, 0, 1, 1), False),
        ("own_zoo:Counting", (1,), (0, 1), None),
        ("own_zoo:Hunt", (5,), (0, 0, 1), False),
    ],
)
def test_it_keeps_the_laws_of_games(name, shape, teams, zero_sum):
    game = make_game(EnvSpec(name))
    assert (game.observation_space.shape, game.teams, game.zero_sum) == (shape, teams, zero_sum)
    check_host_game(game, games=3)


def test_the_loser_of_a_game_in_turns_gets_its_reward():
    """The one who made the last move has lost; both are paid when the game is over."""
    copy = PettingZooGame("counting", lambda: Counting(3)).copy()
    now, totals = copy.reset(0), np.zeros(2)
    while now.acting:
        (seat,) = now.acting
        now = copy.step({seat: int(np.flatnonzero(now.legal[seat])[0])})
        totals += now.reward
    np.testing.assert_allclose(totals, [-0.2 - 1, -0.1 + 1])
    assert now.terminated.all()


def test_agents_that_differ_see_padded_rows_with_their_role_and_have_their_own_actions():
    copy = make_game(EnvSpec("own_zoo:Hunt")).copy()
    now = copy.reset(0)
    assert now.obs.tolist() == [[0, 0, 0, 1, 0]] * 2 + [[0, 0, 0, 0, 1]]
    assert now.legal.tolist() == [[True, True, False]] * 2 + [[True, True, True]]
    now = copy.step({0: 1, 1: 0, 2: 1})
    assert now.obs.tolist() == [[1, 1, 0, 1, 0]] * 2 + [[1, 1, 1, 0, 1]]
    assert (list(now.acting), now.reward.tolist(), now.terminated.tolist()) == ([0, 2], [1, 1, 0], [False, True, False])
    for _ in range(4):
        now = copy.step({0: 0, 2: 2})
    assert (list(now.acting), now.reward.tolist(), now.terminated.tolist()) == ([], [0, 0, 1], [False, True, False])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (EnvSpec("pettingzoo:classic.conect_four_v3"), "PettingZoo has no environment"),
        (EnvSpec("pettingzoo:classic.rps_v2", {"teams": [0, 0, 1]}), "has 2 agents, and teams are numbered from 0 on"),
        (EnvSpec("pettingzoo:classic.rps_v2", {"rounds": 3}), "unexpected keyword argument 'rounds'"),
        (EnvSpec("pettingzoo:classic.rps_v2", time_limit=3), "set the length of the game by an option"),
        (EnvSpec("own_zoo:Counting", {"long": 3}), "it takes length, early, broken, paid"),
    ],
)
def test_what_cannot_be_a_game_is_said(spec, message):
    with pytest.raises(ValueError, match=message):
        make_game(spec)


@pytest.mark.parametrize("name", ["pettingzoo:classic.connect_four_v3", "own_zoo:Counting"])
def test_without_opponents_a_game_in_turns_asks_who_plays(name):
    with pytest.raises(ValueError, match="say who plays, as in opponents=history"):
        make_env(EnvSpec(name))


def test_without_opponents_a_parallel_environment_of_one_s_own_has_one_policy_for_all_agents():
    vector = make_env(EnvSpec("own_zoo:Alike", {"length": 2})).vector([[1, 2, 3, 4]])
    assert vector.reset().tolist() == [[0.0]] * 4
    _, rewards, terminated, _ = vector.step(np.array([0, 1, 1, 1]))
    assert (rewards.tolist(), terminated.any()) == ([0, 1, 1, 1], False)
    assert vector.step(np.array([1, 0, 0, 0]))[2].all()
    with pytest.raises(ValueError, match=r"its agents differ.*say who plays, as in opponents=history"):
        make_env(EnvSpec("own_zoo:Hunt"))


@pytest.mark.slow
def test_soccer_of_dm_control_keeps_the_laws_of_games():
    """MuJoCo is loaded, and compiles a pitch for every game."""
    pytest.importorskip("dm_control")
    game = make_game(EnvSpec("dm_soccer:1v1", {"time_limit": 0.25}))
    assert (game.teams, game.action_space.shape, game.has_legal) == ((0, 1), (3,), False)
    check_host_game(game, games=2)
    with pytest.raises(ValueError, match="did you mean '3v3'"):
        make_game(EnvSpec("dm_soccer:2v3"))
