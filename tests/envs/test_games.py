"""How games are found by name, and what is refused."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from own_games import Duel

from evolute.envs.make import make_env, make_game
from evolute.envs.ours.pong import STOP, UP, PongGame
from evolute.envs.spec import EnvSpec
from evolute.testing import check_game


def test_games_are_found_by_name():
    assert isinstance(make_game(EnvSpec("pong")), PongGame)
    assert isinstance(make_game(EnvSpec("own_games:Duel")), Duel)
    assert make_game(EnvSpec("own_games:Duel", {"rounds": 3})).rounds == 3
    check_game(make_game(EnvSpec("own_games:Duel")), limit=10)
    check_game(make_game(EnvSpec("own_games:Hiding")), limit=10)


@pytest.mark.parametrize("name", ["cartpole", "gymnax:Acrobot-v1", "CartPole-v1", "own_games:alone"])
def test_an_env_that_is_no_game_is_told_which_are(name):
    with pytest.raises(ValueError, match=r"has one seat, so it has no opponents; games are pong, .*matrix:rps.*package"):
        make_game(EnvSpec(name))


@pytest.mark.parametrize("wrapper", [{"frame_stack": 4}, {"action_repeat": 2}, {"obs_scale": 0.1}, {"reward_scale": 0.1}])
def test_wrappers_that_do_not_apply_are_refused(wrapper):
    (name,) = wrapper
    with pytest.raises(ValueError, match=rf"wrap\.{name}=.*: games are played as they are"):
        make_game(EnvSpec("pong", **wrapper))


@pytest.mark.parametrize("name", ["pong", "matrix:rps", "own_games:Duel"])
def test_a_time_limit_is_refused_where_the_rules_have_one(name):
    with pytest.raises(ValueError, match=r"wrap\.time_limit=5: "):
        make_game(EnvSpec(name, time_limit=5))


def test_a_game_of_a_user_is_no_env_with_one_seat():
    with pytest.raises(ValueError, match=r"^own_games:Duel is a game with 2 seats: say who plays, as in opponents=history$"):
        make_env(EnvSpec("own_games:Duel"))


def test_a_source_that_was_probably_meant_is_told():
    with pytest.raises(ValueError, match="did you mean matrix:rps"):
        make_game(EnvSpec("matrx:rps"))


def test_pong_is_a_game_that_is_the_same_from_both_seats():
    check_game(make_game(EnvSpec("pong")), mirrored=True)


def test_pong_may_reward_the_distance_from_the_ball_beside_the_points():
    game, plain = make_game(EnvSpec("pong", {"distance": True})), make_game(EnvSpec("pong"))
    assert (game.channels, plain.channels) == (("point", "distance"), ())
    state, _ = game.reset(jax.random.key(0))
    for _ in range(5):  # the left bat moves up to the edge, the right one stays
        tick = game.step(jax.random.key(0), state, jnp.array([UP, STOP]))
        assert tick.reward[:, 0].tolist() == plain.step(jax.random.key(0), state, jnp.array([UP, STOP])).reward.tolist()
        state = tick.state
    expected = [abs(float(bat - state.ball[0, 1])) / 80 for bat in state.bats]
    assert tick.reward[:, 1].tolist() == pytest.approx(expected)
    assert expected[0] != expected[1]
