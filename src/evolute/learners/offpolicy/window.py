"""The rows that a member learns from inside the program: those from before the turn, and those of the turn so far."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from evolute.learners.kit.jax_envs import where
from evolute.learners.kit.members import Held
from evolute.learners.offpolicy.buffer import GOES_ON, LEADING, TERMINATED, VOID, Rows
from evolute.learners.offpolicy.frames import WHOLE, Frames


class Window(NamedTuple):
    """The newest rows, at most `capacity`: of `old` [row, …] and of `new` [env, time, …], which are held.

    `count` is how many old ones there are, `filled` how many steps each environment has made in this turn. Of each
    environment there is one row more, for what is observed now. Where observations are stacked `frames` there are leading rows,
    which are not counted; `places` [row] are those of all others among the old ones.
    """

    old: Rows
    count: Any
    new: Rows
    filled: Any
    capacity: int
    frames: Frames = WHOLE
    places: Held | tuple[()] = ()

    @property
    def size(self) -> jax.Array:
        """How many rows there are, void ones included."""
        size: jax.Array = self.count - self.dropped + self._envs * self._each
        return size

    @property
    def dropped(self) -> jax.Array:
        """How many of the oldest rows are beyond the capacity."""
        return jnp.clip(self.count + self._envs * self._each - self.capacity, 0, self.count)

    @property
    def _envs(self) -> int:
        return int(self.new.facts.array.shape[1])

    @property
    def _each(self) -> jax.Array:
        """How many of the turn's rows there are of each environment."""
        return jnp.minimum(self.filled + 1, newest(self.capacity, self._envs))

    def facts(self, place: jax.Array) -> jax.Array:
        """The facts at these places of the window; what follows a step is at the next place."""
        return self._look_up(1, place)

    def obs(self, place: jax.Array) -> jax.Array:
        """The observations at these places, [place, …]: older frames are those of the rows before, back to the episode's
        first."""
        found, back = [self._look_up(0, place)], jnp.zeros_like(place)
        for _ in range(self.frames.leading):
            before = self._look_up(1, place, back + 1)[:, -1]
            back = back + (before % LEADING != VOID)
            found.append(self._look_up(0, place, back))
        return jnp.concatenate(found[::-1], axis=-1) if self.frames.leading else found[0]

    def _look_up(self, which: int, place: jax.Array, back: jax.Array | int = 0) -> jax.Array:
        """The frames (0) or the facts (1) so many rows before these places."""
        old, new = self.old[which], self.new[which]
        place = place + self.dropped
        inside = jnp.clip(place - self.count, 0, self._envs * self._each - 1)
        time = self.filled + 1 - self._each + inside % self._each
        row = jnp.minimum(place, old.array.shape[1] - 1)
        before = old.take((self.places.take(row) if isinstance(self.places, Held) else row) - back)
        return where(place < self.count, before, new.take(inside // self._each, self.frames.leading + time - back))


def newest(capacity: int, envs: int) -> int:
    """How many rows of each environment are kept of a turn that has more than there is room for."""
    return capacity // envs


def held(rows: Rows) -> Rows:
    """One member's arrays in the form of a cohort's."""
    return Rows(*(Held(array[None], 0) for array in rows))


class Batch(NamedTuple):
    """What is learnt from: discounted rewards up to `after`, and the discount of its value, 0 after a termination.

    Whoever is taught has the outputs of its teacher, [row, output].
    """

    obs: Any
    action: Any
    reward: Any
    discount: Any
    after: Any
    weight: Any
    teacher: Any = ()


def drawn(window: Window, key: jax.Array, number: int, *, n_step: jax.Array, discount: jax.Array) -> Batch:
    """A minibatch of rows drawn uniformly; void ones have no weight."""
    place = jax.random.randint(key, (number,), 0, window.size)
    return at(window, place, n_step=n_step, discount=discount)


def at(window: Window, place: jax.Array, *, n_step: jax.Array, discount: jax.Array) -> Batch:
    """What can be learnt from the rows at these places of the window: n-step returns, which end with an episode or at the
    newest row."""
    facts = window.facts(place)

    def further(_: jax.Array, carried: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        steps, reward, factor, last = carried
        beyond = window.facts(place + steps)
        goes_on = (last == GOES_ON) & (beyond[:, -1] != VOID)
        reward = reward + jnp.where(goes_on, factor * discount * beyond[:, -2], 0.0)
        factor = jnp.where(goes_on, factor * discount, factor)
        return steps + goes_on, reward, factor, jnp.where(goes_on, beyond[:, -1], last)

    ones = jnp.ones(len(place))
    begin = (ones.astype(jnp.int32), facts[:, -2], ones, facts[:, -1])
    steps, reward, factor, last = jax.lax.fori_loop(0, n_step.astype(jnp.int32) - 1, further, begin)
    weight = (facts[:, -1] != VOID).astype(jnp.float32)
    ahead = factor * discount * (last != TERMINATED)
    return Batch(window.obs(place), facts[:, :-2], reward, ahead, window.obs(place + steps), weight)
