"""pgx's games: turns, legal moves and rewards, and the search that plays Connect Four."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evolute.envs.connect_four_search import search
from evolute.envs.game import Situation
from evolute.envs.make import make_env, make_game
from evolute.envs.spec import EnvSpec
from evolute.testing import check_game

pytest.importorskip("pgx")
WIN, SAFE, LOSING = 2, 1, 0


def game(name):
    return make_game(EnvSpec(f"pgx:{name}"))


@pytest.mark.parametrize("name", ["connect_four", "tic_tac_toe", "kuhn_poker", "leduc_holdem"])
def test_it_is_a_game(name):
    check_game(game(name), limit=100)


@pytest.mark.slow("compiles bigger games")
@pytest.mark.parametrize("name", ["othello", "backgammon", "hex"])
def test_bigger_ones_are_games(name):
    check_game(game(name), limit=2000, games=4)


def positions(connect_four, count):
    """States and views of Connect Four after a number of random moves each, before the end."""

    def until(key, moves):
        def move(time, carry):
            state, view = carry
            draw = jax.random.fold_in(key, time)
            action = jax.random.categorical(draw, jnp.where(view.legal[0], 0.0, -jnp.inf))
            after = connect_four.step(draw, state, action[None])
            running = (time < moves) & ~after.terminated
            return jax.tree.map(lambda new, old: jnp.where(running, new, old), (after.state, after.view), carry)

        return jax.lax.fori_loop(0, 30, move, connect_four.reset(key))

    return jax.jit(jax.vmap(until))(jax.random.split(jax.random.key(0), count), jnp.arange(count) % 30)


def worth(connect_four, state, seat):
    """What each column is worth by trying it and every answer to it."""

    def tried(action):
        after = connect_four.step(jax.random.key(0), state, action[None])
        answers = jax.vmap(lambda answer: connect_four.step(jax.random.key(0), after.state, answer[None]).reward)(jnp.arange(7))
        loses = (answers[:, seat] < 0) & after.view.legal[0] & ~after.terminated
        return jnp.where(after.reward[seat] > 0, WIN, jnp.where(loses.any(), LOSING, SAFE))

    return jax.vmap(tried)(jnp.arange(7))


def test_search_plays_what_trying_all_moves_and_answers_finds():
    connect_four = game("connect_four")
    states, views = positions(connect_four, 256)

    def chosen_and_best(key, state, view):
        action = search(key, Situation(state, view.seat[0], view.obs[0], view.legal[0]))
        values = jnp.where(view.legal[0], worth(connect_four, state, view.seat[0]), -1)
        return values[action], values.max(), values

    chosen, best, values = jax.jit(jax.vmap(chosen_and_best))(jax.random.split(jax.random.key(1), 256), states, views)
    np.testing.assert_array_equal(chosen, best)
    assert {(int(row.min()), int(row.max())) for row in np.asarray(values)} >= {(SAFE, WIN), (LOSING, SAFE)}


def test_turns_pass_and_the_seat_that_begins_is_drawn():
    tic_tac_toe = game("tic_tac_toe")
    state, view = jax.jit(jax.vmap(tic_tac_toe.reset))(jax.random.split(jax.random.key(0), 20))
    assert set(np.asarray(view.seat).ravel().tolist()) == {0, 1}
    tick = jax.jit(jax.vmap(lambda state: tic_tac_toe.step(jax.random.key(0), state, jnp.array([4]))))(state)
    np.testing.assert_array_equal(tick.view.seat, 1 - view.seat)
    assert not tick.view.legal[:, 0, 4].any()


def test_what_is_wrong_is_told():
    with pytest.raises(ValueError, match="did you mean 'connect_four'"):
        make_game(EnvSpec("pgx:connect4"))
    with pytest.raises(ValueError, match=r"takes no settings, and pgx\.size is set"):
        make_game(EnvSpec("pgx:hex", {"size": 5}))
    with pytest.raises(ValueError, match=r"pgx:kuhn_poker is a game with 2 seats"):
        make_env(EnvSpec("pgx:kuhn_poker"))
