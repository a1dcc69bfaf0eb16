"""Soccer: who scores, what both sides see, and that the chaser can play."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evolute.envs.game import Situation
from evolute.envs.make import make_env, make_game
from evolute.envs.ours.soccer import FIELD, GOAL, MOVES, Soccer, State, chase
from evolute.envs.spec import EnvSpec
from evolute.testing import check_game

STAY, FORWARDS = 0, 1


@pytest.mark.parametrize("players", [1, 2])
def test_it_is_a_game(players):
    check_game(Soccer(players=players), limit=300, mirrored=True)


def state_of(soccer, *, ball, velocity=(0.0, 0.0), position=None):
    far = np.full((soccer.actors, 2), 0.5) * [[1, 1], [1, -1], [-1, 1], [-1, -1]][: soccer.actors]
    place = jnp.asarray(far if position is None else position, jnp.float32)
    return State(place, jnp.zeros_like(place), jnp.array(ball), jnp.array(velocity), jnp.int32(0))


@functools.cache
def stepped():
    return jax.jit(Soccer().step)


def step(state, *actions):
    return stepped()(jax.random.key(0), state, jnp.array(actions or (STAY,) * 4))


@pytest.mark.parametrize("side", [1, -1])
def test_a_goal_is_won_by_one_side_and_lost_by_the_other(side):
    tick = step(state_of(Soccer(), ball=(side * 0.98, 0.0), velocity=(side * 0.1, 0.0)))
    assert tick.terminated
    assert tick.reward[:, 0].tolist() == [side, side, -side, -side]
    assert (tick.reward[:2, 2] * side > 0).all()


def test_beside_the_goal_the_ball_bounces():
    tick = step(state_of(Soccer(), ball=(0.95, GOAL + 0.05), velocity=(0.1, 0.0)))
    assert not tick.terminated
    assert tick.state.ball_velocity[0] < 0
    assert abs(float(tick.state.ball[0])) <= FIELD[0]


def test_running_into_the_ball_moves_it_and_nearing_it_is_rewarded():
    state = state_of(Soccer(), ball=(0.0, 0.0), position=[[-0.12, 0], [-0.5, 0.5], [0.5, 0.5], [0.5, -0.5]])
    first = step(state, FORWARDS, STAY, STAY, STAY)
    assert first.reward[0, 1] == pytest.approx(0.012, abs=1e-5)
    moved = first
    for _ in range(5):
        moved = step(moved.state, FORWARDS, STAY, STAY, STAY)
    assert moved.state.ball[0] > 0.05
    assert moved.state.position[0, 0] < moved.state.ball[0]


def test_both_sides_see_themselves_play_from_left_to_right():
    """A position turned by 180 degrees, with the teams swapped, shows each what the other saw, and so does every step."""
    soccer = Soccer()
    state, view = soccer.reset(jax.random.key(3))
    swap = np.array([2, 3, 0, 1])
    turned = State(-state.position[swap], -state.velocity[swap], -state.ball, -state.ball_velocity, state.time)
    np.testing.assert_allclose(soccer._view(turned).obs, view.obs[swap], atol=1e-6)
    for time in range(40):
        actions = jax.random.randint(jax.random.key(time), (4,), 0, len(MOVES))
        one, other = step(state, *actions.tolist()), step(turned, *actions[swap].tolist())
        np.testing.assert_allclose(one.view.obs, other.view.obs[swap], atol=1e-4)
        np.testing.assert_allclose(one.reward, other.reward[swap], atol=1e-4)
        state, turned = one.state, other.state


def goals(soccer, left, right, games=128):
    """Mean goals of the left side a game; players are `(key, situation) -> action`."""

    def game(key):
        def tick(carry):
            state, view, time, _, total = carry
            keys = jax.random.split(jax.random.fold_in(key, time), soccer.actors)
            seen = [Situation(state, view.seat[seat], view.obs[seat], None) for seat in range(soccer.actors)]
            actions = [(left if team == 0 else right)(k, s) for team, k, s in zip(soccer.teams, keys, seen, strict=True)]
            after = soccer.step(key, state, jnp.stack(actions))
            return after.state, after.view, time + 1, after.terminated | after.truncated, total + after.reward[0, 0]

        state, view = soccer.reset(key)
        start = (state, view, jnp.int32(0), jnp.bool_(False), jnp.float32(0))
        return jax.lax.while_loop(lambda carry: ~carry[3], tick, start)[4]

    return np.asarray(jax.jit(jax.vmap(game))(jax.random.split(jax.random.key(0), games))).mean()


@pytest.mark.parametrize("players", [1, 2])
def test_the_chaser_beats_random_play(players):
    assert goals(Soccer(players=players), chase, lambda key, _: jax.random.randint(key, (), 0, 9)) > 0.5


def test_it_can_be_made_by_name_and_drawn():
    one = make_game(EnvSpec("soccer", {"players": 1}, time_limit=7))
    assert one.teams == (0, 1)
    picture = one.frame(one.reset(jax.random.key(0))[0])
    assert (picture.shape, picture.dtype) == ((150, 220, 3), np.uint8)
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) >= 6
    with pytest.raises(ValueError, match="players=3: must be 1 or 2 a side"):
        make_game(EnvSpec("soccer", {"players": 3}))
    with pytest.raises(ValueError, match="soccer is a game with 4 seats: say who plays, as in opponents=history"):
        make_env(EnvSpec("soccer"))
