"""Games from one seat: who acts where, with whose weights, whose reward it is, and what is legal."""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evolute.envs.game import Tick, View
from evolute.learners.kit import networks, normalise
from evolute.learners.kit.acting import PolicySpec
from evolute.learners.kit.actions import actions_of, masked
from evolute.learners.kit.arena import LIVE, RANDOM, Arena, Opponents, Seating, has_legal, lineup_numbers
from evolute.learners.kit.evaluation import Player
from evolute.learners.kit.networks import Network


class Everybody:
    """A simultaneous game of one tick: each seat is rewarded with 100 x its own action + the actions of all by seat."""

    channels = ()
    zero_sum = False
    observation_space = gymnasium.spaces.Box(0, 10, (1,))
    action_space = gymnasium.spaces.Discrete(5)

    def __init__(self, teams):
        self.teams, self.actors = teams, len(teams)
        self.bots = {"four": lambda key, situation: jnp.int32(4), "seat": lambda key, situation: situation.seat}

    def _view(self):
        return View(jnp.ones((self.actors, 1)), jnp.arange(self.actors))

    def reset(self, key):
        return {"time": jnp.int32(0)}, self._view()

    def step(self, key, state, actions):
        digits = jnp.sum(actions * 10.0 ** jnp.arange(self.actors))
        return Tick(state, self._view(), jnp.full(self.actors, digits), jnp.bool_(True), jnp.bool_(False))


class Count(NamedTuple):
    moves: jax.Array


class Counting:
    """Seats move in turn: one of two actions, the number of moves so far modulo 3 being illegal. Whoever makes the last move
    loses one, and the other wins it; every move costs its own seat 0.1."""

    teams, actors, channels, zero_sum, bots = (0, 1), 1, (), False, {}
    observation_space = gymnasium.spaces.Box(0, 10, (1,))
    action_space = gymnasium.spaces.Discrete(3)

    def __init__(self, length):
        self.length = length

    def _view(self, moves):
        seat = (moves % 2)[None]
        return View(jnp.float32(moves)[None, None], seat, (jnp.arange(3) != moves % 3)[None])

    def reset(self, key):
        return Count(jnp.int32(0)), self._view(jnp.int32(0))

    def step(self, key, state, actions):
        moves, seat = state.moves + 1, state.moves % 2
        over = moves >= self.length
        cost = -0.1 * (jnp.arange(2) == seat)
        cheat = -100.0 * (actions[0] == state.moves % 3) * (jnp.arange(2) == seat)
        end = jnp.where(jnp.arange(2) == seat, -1.0, 1.0) * over
        return Tick(Count(moves), self._view(moves), cost + end + cheat, over, jnp.bool_(False))


def spec_of(game):
    actions = actions_of(game.action_space, std="constant", squash=False, legal=has_legal(game))
    return PolicySpec(Network((1,), actions.outputs, widths=(4,)), actions)


def player(spec, action):
    """A player that always takes this action, where it is legal."""
    weights = networks.initial(spec.network, np.random.default_rng(0))
    start = networks.starts(spec.network)["policy/b"]
    weights[start + action] = 50.0
    return Player(weights, normalise.fresh((1,)), np.float32(0))


def opponents_of(spec, frozen, lineups):
    players = jax.tree.map(lambda *leaves: np.stack(leaves), *[player(spec, action) for action in frozen])
    return Opponents(players, jnp.asarray(lineups, jnp.int32))


def arena_of(game, live, frozen, lineups, *, copies=2, paired=False):
    spec = spec_of(game)
    opponents = opponents_of(spec, frozen, lineups)
    return Arena.of(game, spec, player(spec, live), opponents, copies, paired=paired)


def test_everybody_acts_with_their_own_weights_in_their_own_seat():
    arena = arena_of(Everybody((0, 1, 2)), 0, [1, 2, 3], [[1, 2], [3, LIVE], [-2, -3]], copies=3)
    states, _ = arena.reset(jax.random.key(0))
    assert states.seat.tolist() == [0, 1, 2] * 3
    step = jax.jit(arena.step)(jax.random.key(1), states, jnp.full(9, 4))
    by_seat = [f"{round(float(value)):03d}"[::-1] for value in step.reward]
    assert by_seat[:3] == ["412", "142", "124"]  # players 1 and 2, in the seats that the member leaves
    assert by_seat[3:6] == ["430", "340", "304"]  # player 3, and the member itself, which would play 0
    assert by_seat[6:] == ["442", "442", "414"]  # the bot that plays 4, and the one that plays its seat


def test_team_mates_come_first_in_a_line_up():
    seating = Seating.of((0, 1, 0, 1))
    assert seating.others.tolist() == [[2, 1, 3], [3, 0, 2], [0, 1, 3], [1, 0, 2]]
    assert seating.place.tolist() == [[0, 2, 1, 3], [2, 0, 3, 1], [1, 2, 0, 3], [2, 1, 3, 0]]


def test_teams_of_unequal_size_fill_the_places_that_they_have():
    """One against two: alone, the member meets both opponents of the line-up; in the pair it has a mate and meets the first."""
    arena = arena_of(Everybody((0, 1, 1)), 0, [1, 2, 3], [[1, 2, 3], [LIVE, -2, -2]], copies=3)
    states, _ = arena.reset(jax.random.key(0))
    step = jax.jit(arena.step)(jax.random.key(1), states, jnp.full(6, 4))
    by_seat = [f"{round(float(value)):03d}"[::-1] for value in step.reward]
    assert by_seat == ["423", "241", "214", "444", "440", "404"]


def test_the_member_moves_on_to_the_next_seat_with_every_game():
    arena = arena_of(Everybody((0, 1)), 0, [1], [[1]], copies=3)
    states, _ = arena.reset(jax.random.key(0))
    again, _ = arena.restart(jax.random.key(1), states)
    assert (states.seat.tolist(), again.seat.tolist()) == ([0, 1, 0], [1, 0, 1])


def test_opponents_do_not_change_in_mid_game_nor_in_a_turn_while_the_member_learns():
    """Every update of a turn makes the member's world anew, as it plays then, while its games go on: frozen players and bots
    stay who they were at each table, in all of its games; only the member itself changes."""

    class Lasting(Everybody):
        """Seven ticks, in which each seat is rewarded with the other's action."""

        def step(self, key, state, actions):
            over = state["time"] == 6
            return Tick({"time": state["time"] + 1}, self._view(), 1.0 * actions[::-1], over, jnp.bool_(False))

    game = Lasting((0, 1))
    spec = spec_of(game)
    opponents = opponents_of(spec, [1, 2], [[1], [2], [-2], [LIVE]])
    states, seen = None, []
    for learnt in (0, 3):
        world = Arena.of(game, spec, player(spec, learnt), opponents, 2)
        states = world.reset(jax.random.key(0))[0] if states is None else states
        for number in range(10):
            step = jax.jit(world.step)(jax.random.key(number), states, jnp.zeros(8, jnp.int32))
            seen.append(step.reward.reshape(4, 2).T.tolist())
            states = world.restart(jax.random.key(number), step.state)[0] if step.terminated.all() else step.state
    assert seen == [[[1, 2, 4, 0]] * 2] * 10 + [[[1, 2, 4, 3]] * 2] * 10


@pytest.mark.parametrize("length", [2, 3, 6, 7])
def test_a_step_lasts_until_the_member_is_to_act_again(length):
    """What the other's moves bring belongs to the member's own step, also the end of the game."""
    arena = arena_of(Counting(length), 0, [1], [[1]], copies=2)
    states, obs = arena.reset(jax.random.key(0))
    assert obs[:, 0].tolist() == [0, 1]  # in the second seat, the other has moved first
    total, over = np.zeros(2), np.zeros(2, bool)
    for number in range(length):
        legal = np.asarray(arena.legal(states))
        assert (states.view.seat[:, 0] == states.seat)[~over].all()
        step = jax.jit(arena.step)(jax.random.key(number), states, jnp.asarray(legal.argmax(axis=1)))
        total += np.where(over, 0, step.reward)
        over |= np.asarray(step.terminated)
        states = step.state
        if over.all():
            break
    moves = np.array([(length + 1) // 2, length // 2])
    last = (length - 1) % 2  # the seat of the last move
    expected = -0.1 * moves + np.where(np.arange(2) == last, -1, 1)
    np.testing.assert_allclose(total, expected, atol=1e-5)


def test_a_game_that_ends_before_the_member_could_act_begins_again():
    class Coin(Counting):
        """Ends with its first move in half of the games."""

        def reset(self, key):
            late = jax.random.bernoulli(key).astype(jnp.int32)
            return Count(jnp.int32(0)), self._view(jnp.int32(0))._replace(obs=jnp.float32(late)[None, None])

        def step(self, key, state, actions):
            tick = super().step(key, state, actions)
            early = (state.moves == 0) & jax.random.bernoulli(key)
            return tick._replace(terminated=tick.terminated | early)

    arena = arena_of(Coin(6), 0, [1], [[1]], copies=64)
    states, _ = jax.jit(arena.reset)(jax.random.key(3))
    assert (states.view.seat[:, 0] == states.seat).all()
    assert states.state.moves[1::2].tolist() == [1] * 32


def test_nobody_plays_what_is_illegal():
    for lineup in ([[1]], [[RANDOM]], [[LIVE]]):
        arena = arena_of(Counting(9), 2, [2], lineup, copies=32)
        states, _ = arena.reset(jax.random.key(0))
        step = jax.jit(arena.step)
        for number in range(3):
            outputs = masked(jnp.zeros((32, 3)), arena.legal(states))
            assert ((np.asarray(outputs) > -1e8).sum(axis=1) == 2).all()
            moved = step(jax.random.key(number), states, jnp.argmax(outputs, axis=1))
            assert (np.asarray(moved.reward) > -50).all()
            states = moved.state


def test_paired_games_of_all_seats_and_tables_begin_alike():
    class Dealt(Everybody):
        def reset(self, key):
            return {"cards": jax.random.uniform(key)}, self._view()

    arena = arena_of(Dealt((0, 1)), 0, [1], [[1], [RANDOM]], copies=4, paired=True)
    cards = arena.reset(jax.random.key(0))[0].state["cards"].reshape(2, 2, 2)  # [table, pair, seat]
    assert (cards == cards[:1, :, :1]).all()
    assert cards[0, 0, 0] != cards[0, 1, 0]


def test_line_ups_become_numbers():
    game = SimpleNamespace(bots={"rule": None, "search": None})
    assert lineup_numbers(game, [("a", None), ("search", "random"), ("rule", "b")], ["a", "b"]).tolist() == [
        [1, LIVE],
        [-3, RANDOM],
        [-2, 2],
    ]
    with pytest.raises(ValueError, match="no bot 'chess'; there are random, rule, search"):
        lineup_numbers(game, [("chess",)], [])
