"""Matrix games: payoffs, what is seen, and exact values against known equilibria."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evolute.envs.adapters.matrix import PAYOFF
from evolute.envs.make import make_env, make_game
from evolute.envs.matrix_value import best_response, exploitability, values
from evolute.envs.spec import EnvSpec
from evolute.testing import check_game

ROCK, PAPER, SCISSORS = 0, 1, 2
COOPERATE, DEFECT = 0, 1
# Three seats with 2, 3 and 2 actions.
UNEVEN = np.arange(36.0).reshape(3, 2, 3, 2).tolist()


def game(name="rps", **options):
    return make_game(EnvSpec(f"matrix:{name}", options))


@pytest.mark.parametrize(
    ("made", "zero_sum", "mirrored"),
    [
        (lambda: game("rps"), True, True),
        (lambda: game("rps", rounds=1), True, True),
        (lambda: game("matching_pennies"), True, False),
        (lambda: game("prisoners_dilemma"), False, True),
        (lambda: game("own", payoff=UNEVEN, rounds=3), False, False),
    ],
)
def test_it_is_a_game(made, zero_sum, mirrored):
    assert made().zero_sum == zero_sum
    check_game(made(), limit=10, mirrored=mirrored)


def test_paper_beats_rock_and_both_seats_see_what_was_played():
    rps = game(rounds=2)
    state, first = rps.reset(jax.random.key(0))
    tick = rps.step(jax.random.key(0), state, jnp.array([ROCK, PAPER]))
    assert tick.reward.tolist() == [-1, 1]
    assert not first.obs.any()
    assert tick.view.obs.tolist() == [[1, 0, 0, 0, 1, 0], [0, 1, 0, 1, 0, 0]]
    assert not tick.terminated
    assert rps.step(jax.random.key(0), tick.state, jnp.array([ROCK, PAPER])).terminated


def test_one_round_shows_a_constant_and_unlike_seats_are_told_apart():
    assert game(rounds=1).reset(jax.random.key(0))[1].obs.tolist() == [[1], [1]]
    assert game("matching_pennies", rounds=1).reset(jax.random.key(0))[1].obs.tolist() == [[1, 0], [0, 1]]


def test_seats_with_fewer_actions_have_illegal_ones():
    view = game("own", payoff=UNEVEN).reset(jax.random.key(0))[1]
    assert view.legal.tolist() == [[True, True, False], [True, True, True], [True, True, False]]


def test_situations_are_what_the_seats_see():
    rps = game(rounds=2)
    seen = rps.situations()
    state, first = rps.reset(jax.random.key(0))
    tick = rps.step(jax.random.key(0), state, jnp.array([PAPER, SCISSORS]))
    assert seen.shape == (2, 10, 6)
    np.testing.assert_array_equal(seen[:, 0], first.obs)
    np.testing.assert_array_equal(seen[:, 1 + 3 * PAPER + SCISSORS], tick.view.obs)
    assert game(rounds=1).situations().shape == (2, 1, 1)


def table(*rows, situations=1):
    """A policy of both seats that plays alike in every situation."""
    return np.repeat(np.array(rows, float)[:, None], situations, axis=1)


UNIFORM = [1 / 3, 1 / 3, 1 / 3]


def test_exploitability_of_known_policies():
    rps, dilemma = PAYOFF["rps"], PAYOFF["prisoners_dilemma"]
    assert exploitability(rps, table(UNIFORM, UNIFORM)) == pytest.approx(0)
    assert exploitability(rps, table([1, 0, 0], [1, 0, 0])) == pytest.approx(1)
    assert exploitability(rps, table([0.5, 0.5, 0], [0.5, 0.5, 0])) == pytest.approx(0.5)  # paper wins half of the games
    assert exploitability(PAYOFF["matching_pennies"], table([0.5, 0.5], [0.5, 0.5])) == pytest.approx(0)
    assert exploitability(dilemma, table([0, 1], [0, 1])) == pytest.approx(0)
    assert exploitability(dilemma, table([1, 0], [1, 0])) == pytest.approx(2)
    three = game("own", payoff=UNEVEN).payoff
    assert exploitability(three, np.full((3, 1, 3), 0.5)[:, :, :] * [1, 1, 0]) > 0


def test_a_mixture_of_pure_players_is_worth_what_it_plays_on_average():
    pure = [table(move, move) for move in np.eye(3)]
    assert all(exploitability(PAYOFF["rps"], player) == pytest.approx(1) for player in pure)
    assert exploitability(PAYOFF["rps"], np.mean(pure, axis=0)) == pytest.approx(0)


def test_what_can_be_seen_can_be_exploited():
    """Who repeats the other's last move is even on average, and loses every round but the first to one who knows."""
    situations, rounds = 10, 5
    copying = np.zeros((2, situations, 3))
    copying[:, 0] = UNIFORM
    for mine in range(3):
        for others in range(3):
            copying[0, 1 + 3 * mine + others, others] = copying[1, 1 + 3 * others + mine, others] = 1
    assert best_response(PAYOFF["rps"], copying, 0, rounds=rounds) == pytest.approx((rounds - 1) / rounds)
    assert exploitability(PAYOFF["rps"], copying, rounds=rounds) == pytest.approx((rounds - 1) / rounds)


def test_tit_for_tat_is_left_only_in_the_last_round():
    """Axelrod's strategy against itself always cooperates; the best one can do is to defect at the end."""
    copying = np.zeros((2, 5, 2))
    copying[:, 0, COOPERATE] = 1
    for mine in range(2):
        for others in range(2):
            copying[0, 1 + 2 * mine + others, others] = copying[1, 1 + 2 * others + mine, others] = 1
    dilemma = PAYOFF["prisoners_dilemma"]
    np.testing.assert_allclose(values(dilemma, copying, rounds=10), 3)
    assert best_response(dilemma, copying, 1, rounds=10) == pytest.approx((9 * 3 + 5) / 10)


def test_values_are_what_is_played():
    """Dynamic programming against 40,000 played rounds of a random policy that looks at the last joint action."""
    rounds = 4
    rps = game(rounds=rounds)
    policy = np.random.default_rng(0).dirichlet(np.ones(3), (2, 10))

    def play(key):
        def tick(carry, key):
            state, situation = carry
            actions = jax.random.categorical(key, jnp.log(policy)[jnp.arange(2), situation])
            after = rps.step(key, state, actions)
            return (after.state, 1 + 3 * actions[0] + actions[1]), after.reward

        return jax.lax.scan(tick, (rps.reset(key)[0], jnp.int32(0)), jax.random.split(key, rounds))[1]

    rewards = np.asarray(jax.jit(jax.vmap(play))(jax.random.split(jax.random.key(1), 10_000))).mean(axis=1)
    np.testing.assert_allclose(values(PAYOFF["rps"], policy, rounds=rounds), rewards.mean(axis=0), atol=4 * rewards.std() / 100)


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("rsp", {}, "did you mean 'rps'"),
        ("rps", {"payoff": UNEVEN}, r"matrix:rps takes no matrix\.payoff; matrix:own does"),
        ("rps", {"round": 3}, "did you mean 'rounds'"),
        ("rps", {"rounds": 0}, r"matrix\.rounds=0"),
        ("own", {}, r"needs matrix\.payoff"),
        ("own", {"payoff": [[1, 2], [3, 4]]}, r"matrix\.payoff of shape \[2, 2\]"),
        ("own", {"payoff": [[1, 2], [3]]}, r"matrix\.payoff=.*one axis of actions"),
        ("own", {"payoff": [[[1, 2], [3, 4]]]}, r"matrix\.payoff of shape \[1, 2, 2\]"),
    ],
)
def test_what_is_wrong_is_told(name, options, says):
    with pytest.raises(ValueError, match=says) as caught:
        make_game(EnvSpec(f"matrix:{name}", options))
    assert "\n" not in str(caught.value)


def test_a_game_is_no_env_with_one_seat():
    with pytest.raises(ValueError, match=r"^matrix:rps is a game with 2 seats: say who plays, as in opponents=history$"):
        make_env(EnvSpec("matrix:rps"))
