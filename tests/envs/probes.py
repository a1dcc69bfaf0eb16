"""Tiny JAX envs with a known answer, each of which a learner solves only if one part of it works.

Every probe is an episode of fixed length. Its docstring says what must be learned, in the order in which to try them.
By name: `probes:value_only` and so on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
from gymnasium.spaces import Box, Discrete, MultiDiscrete

from evolute.envs.interface import Step


class State(NamedTuple):
    """What the episode has to remember, and the steps since the reset."""

    memory: jax.Array
    time: jax.Array


@dataclass(frozen=True)
class Probe:
    """An episode of `length` steps: what is drawn at its start, seen, rewarded and remembered, by functions.

    `show(memory, time)` is an observation of one number, `reward(memory, time, action)` the reward of a step, and
    `remember(memory, time, action)` the memory after it.
    """

    length: int = 1
    draw: Callable[[jax.Array], Any] = lambda key: 0.0
    show: Callable[[Any, Any], Any] = lambda memory, time: 0.0
    reward: Callable[[Any, Any, Any], Any] = lambda memory, time, action: 1.0
    remember: Callable[[Any, Any, Any], Any] = lambda memory, time, action: memory
    truncates: bool = False
    action_space: gymnasium.Space[Any] = field(default_factory=lambda: Discrete(2))
    observation_space: gymnasium.Space[Any] = field(default_factory=lambda: Box(-1.0, 1.0, (1,)))
    channels: tuple[str, ...] = ()

    def reset(self, key):
        state = State(jnp.float32(self.draw(key)), jnp.int32(0))
        return state, self._obs(state)

    def step(self, key, state, action):
        reward = jnp.float32(self.reward(state.memory, state.time, action))
        after = State(jnp.float32(self.remember(state.memory, state.time, action)), state.time + 1)
        over = after.time >= self.length
        no = jnp.bool_(False)
        return Step(after, self._obs(after), reward, *((no, over) if self.truncates else (over, no)))

    def _obs(self, state):
        return jnp.float32(self.show(state.memory, state.time)).reshape(1)


def _sign(key):
    return jax.random.rademacher(key, (), jnp.float32)


def value_only() -> Probe:
    """The value of the only state is 1."""
    return Probe()


def value_of_obs() -> Probe:
    """The value of a state is what it shows, +1 or -1."""
    return Probe(draw=_sign, show=lambda memory, time: memory, reward=lambda memory, time, action: memory)


def discounting() -> Probe:
    """The value of the first state, which shows 0, is the discount; of the second, which shows 1, it is 1."""
    return Probe(length=2, show=lambda memory, time: time, reward=lambda memory, time, action: time == 1)


def action_choice() -> Probe:
    """Action 1 is worth 1, action 0 is worth -1."""
    return Probe(reward=lambda memory, time, action: 2.0 * action - 1.0)


def action_by_obs() -> Probe:
    """Action 1 is right when +1 is shown, action 0 when -1 is: 1 for the right one, -1 for the wrong one."""
    return Probe(
        draw=_sign,
        show=lambda memory, time: memory,
        reward=lambda memory, time, action: memory * (2.0 * action - 1.0),
    )


def credit() -> Probe:
    """The first action, which the observation remembers, is rewarded 5 steps later: 1 for action 1, else -1."""
    return Probe(
        length=6,
        show=lambda memory, time: memory,
        reward=lambda memory, time, action: jnp.where(time == 5, memory, 0.0),
        remember=lambda memory, time, action: jnp.where(time == 0, 2.0 * action - 1.0, memory),
    )


def memory() -> Probe:
    """A cue of +1 or -1 is shown at the first step only; at the fourth and last, the action must match it."""
    return Probe(
        length=4,
        draw=_sign,
        show=lambda memory, time: jnp.where(time == 0, memory, 0.0),
        reward=lambda memory, time, action: jnp.where(time == 3, memory * (2.0 * action - 1.0), 0.0),
    )


def time_limit() -> Probe:
    """1 a step, cut off after 10: the value is 1 / (1 - discount) at every time, for it goes on."""
    return Probe(length=10, truncates=True)


def true_end() -> Probe:
    """1 a step, over after 10. Time is shown, so the value is the discounted sum of what is left."""
    return Probe(length=10, show=lambda memory, time: time / 10)


def continuous() -> Probe:
    """The best action is 0.3, the reward the negative square of the distance to it."""
    return Probe(reward=lambda memory, time, action: -((action[0] - 0.3) ** 2), action_space=Box(-1.0, 1.0, (1,)))


def multi_discrete() -> Probe:
    """The best choices are 2 of 3 and 0 of 2: half a point each, else minus half a point."""
    return Probe(
        reward=lambda memory, time, action: jnp.where(action == jnp.array([2, 0]), 0.5, -0.5).sum(),
        action_space=MultiDiscrete([3, 2]),
    )


def change_action() -> Probe:
    """A point for another action than the last one, which is not shown: only a policy that samples its actions gets any."""
    return Probe(
        length=9,
        reward=lambda memory, time, action: (time > 0) & (action != memory),
        remember=lambda memory, time, action: action,
    )


def two_channels() -> Probe:
    """The action in the second and last step gives 1 in one of two channels of the reward; time is shown."""
    return Probe(
        length=2,
        show=lambda memory, time: time,
        reward=lambda memory, time, action: jnp.where(time == 1, jnp.stack([1.0 - action, 1.0 * action]), 0.0),
        channels=("left", "right"),
    )


ALL = (
    value_only,
    value_of_obs,
    discounting,
    action_choice,
    action_by_obs,
    credit,
    memory,
    time_limit,
    true_end,
    continuous,
    multi_discrete,
    change_action,
)
