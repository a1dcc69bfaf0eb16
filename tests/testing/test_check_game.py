"""The check of games notices each thing that it is for."""

from __future__ import annotations

import itertools

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evolute.envs.game import Tick, View
from evolute.testing import check_game


class Dice:
    """Both choose one of two, the third is illegal; a die decides who gets what was chosen. The game lasts three ticks."""

    def __init__(self, **changes):
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (1,))
        self.action_space = gymnasium.spaces.Discrete(3)
        self.teams, self.actors, self.zero_sum, self.channels = (0, 1), 2, True, ()
        self.bots = {"one": lambda key, situation: jnp.int32(1)}
        vars(self).update(changes)

    def view(self, time):
        legal = jnp.tile(jnp.array([True, True, False]), (2, 1))
        return View(jnp.full((2, 1), 0.5), jnp.arange(2, dtype=jnp.int32), legal)

    def reset(self, key):
        return jnp.int32(0), self.view(jnp.int32(0))

    def gain(self, key, actions):
        gain = jnp.where(jax.random.bernoulli(key), 1.0, -1.0) * actions.sum()
        return jnp.stack([gain, -gain])

    def over(self, time):
        return time >= 3

    def step(self, key, state, actions):
        time = state + 1
        return Tick(time, self.view(time), self.gain(key, actions), self.over(time), jnp.bool_(False))


def check(game):
    check_game(game, games=16, limit=5, mirrored=True)


def test_a_game_that_keeps_the_laws_passes():
    check(Dice())


SAID = {
    "two seats or more": {"teams": (0,), "actors": 1},
    "teams are numbered from 0": {"teams": (1, 2)},
    "all 2 seats act": {"actors": 3},
    "a name of its own": {"channels": ("goal", "goal")},
    "no bot of one game": {"bots": {"random": lambda key, situation: jnp.int32(0)}},
    r"view\.obs is of shape": {"observation_space": gymnasium.spaces.Box(0.0, 1.0, (2,))},
    r"view\.obs is float32": {"observation_space": gymnasium.spaces.Box(0, 1, (1,), np.uint8)},
    "must be bools of shape": {"action_space": gymnasium.spaces.Discrete(4)},
    "only Discrete actions can be illegal": {"action_space": gymnasium.spaces.MultiDiscrete([3, 3])},
    "reward is of shape": {"channels": ("goal", "more")},
    "mirrored seats are checked in games of two teams": {"teams": (0, 0)},
}


@pytest.mark.parametrize("says", SAID)
def test_what_is_said_of_a_game_must_be_so(says):
    with pytest.raises(AssertionError, match=says):
        check(Dice(**SAID[says]))


class WholeReward(Dice):
    def gain(self, key, actions):
        return jnp.zeros(2, jnp.int32)


class GrowingState(Dice):
    def step(self, key, state, actions):
        return super().step(key, state, actions)._replace(state=jnp.float32(state))


class TwoFlags(Dice):
    def over(self, time):
        return jnp.array([time >= 3, True])


class LegalAtTimes(Dice):
    def reset(self, key):
        return jnp.int32(0), self.view(jnp.int32(0))._replace(legal=None)


class WrongSeats(Dice):
    def view(self, time):
        return super().view(time)._replace(seat=jnp.ones(3))


class Impure(Dice):
    traced = itertools.count()

    def reset(self, key):
        return jnp.int32(0), self.view(jnp.int32(0))._replace(obs=jnp.full((2, 1), 0.1 * (next(self.traced) % 7)))


class SeatTwice(Dice):
    def view(self, time):
        return super().view(time)._replace(seat=jnp.zeros(2, jnp.int32))


class NoSuchSeat(Dice):
    def view(self, time):
        return super().view(time)._replace(seat=jnp.arange(2) - 1)


class Stuck(Dice):
    def view(self, time):
        view = super().view(time)
        return view._replace(legal=view.legal & (time < 2))


class Outside(Dice):
    def view(self, time):
        return super().view(time)._replace(obs=jnp.full((2, 1), 0.6) * time)


class NotANumber(Dice):
    def gain(self, key, actions):
        return super().gain(key, actions) / 0


class Generous(Dice):
    def gain(self, key, actions):
        return jnp.ones(2)


class Endless(Dice):
    def over(self, time):
        return time < 0


class Unfair(Dice):
    def gain(self, key, actions):
        return jnp.array([1.0, -1.0])


BROKEN = {
    "reward is int32": WholeReward,
    "keeps its structure, shapes and types": GrowingState,
    "terminated is one bool": TwoFlags,
    "legal is None always or never": LegalAtTimes,
    r"view\.seat is of shape": WrongSeats,
    "follows from its key and nothing else": Impure,
    "random in all seats: view.seat names a seat twice": SeatTwice,
    "or one that the game does not have": NoSuchSeat,
    "no legal action": Stuck,
    "outside the observation space": Outside,
    "not finite": NotANumber,
    "do not add up to 0": Generous,
    "16 of 16 games run on": Endless,
    "gets 3 a game on one side and -3 on the other": Unfair,
    "cheat in all seats: an action is illegal": lambda: Dice(bots={"cheat": lambda key, situation: jnp.int32(2)}),
}


@pytest.mark.parametrize("says", BROKEN)
def test_a_broken_law_is_noticed(says):
    with pytest.raises(AssertionError, match=says):
        check(BROKEN[says]())
