"""Replay buffers: on the host between turns, in pieces that states share, and inside the program, as one flat window.

A row is an observation, and facts: the action, the reward, and a flag that says what followed. The next observation is that of
the next row, so each is kept once: after the last step of an episode, and of a turn, comes a void row that has nothing but
the observation. The rows of a turn lie environment by environment.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evolute.core.segment import Segment
from evolute.core.tree import Tree
from evolute.learners.kit.members import Held

GOES_ON, TERMINATED, TIME_LIMIT, VOID = 0.0, 1.0, 2.0, 3.0
"""What follows a row; a void row is no step."""
PIECE_BYTES = 1 << 20
SMALLEST = 1 << 12
"""Rows that the program has room for at least; more come in powers of two, so that growing buffers compile little."""
Array = np.ndarray[Any, Any]


class Piece(NamedTuple):
    """Rows that never change any more."""

    obs: Segment
    facts: Segment


@dataclass(frozen=True)
class Buffer:
    """A member's rows, the oldest first: full pieces of equal length, of which `skipped` rows are beyond the capacity, and a
    tail."""

    pieces: tuple[Piece, ...]
    obs: Array
    facts: Array
    skipped: int = 0

    @classmethod
    def empty(cls, obs: Array, width: int) -> Buffer:
        """A buffer for observations like this one [row, …], and facts of this width."""
        return cls((), np.zeros((0, *obs.shape[1:]), obs.dtype), np.zeros((0, width), np.float32))

    def __len__(self) -> int:
        return sum(len(piece.facts.array) for piece in self.pieces) + len(self.facts) - self.skipped

    def extended(self, obs: Array, facts: Array, capacity: int) -> Buffer:
        """The newest `capacity` rows after these have been appended."""
        obs, facts = np.concatenate([self.obs, obs]), np.concatenate([self.facts, facts])
        size, pieces, start = piece_rows(obs, facts), list(self.pieces), 0
        while len(facts) - start >= size:
            cut = slice(start, start + size)
            pieces.append(Piece(Segment.of(obs[cut].copy()), Segment.of(facts[cut].copy())))
            start += size
        skipped = max(0, len(pieces) * size + len(facts) - start - capacity)
        gone = min(skipped // size, len(pieces))
        rest = max(0, skipped - gone * size) if gone < len(pieces) else 0
        late = max(start, len(facts) - capacity)
        return Buffer(tuple(pieces[gone:]), obs[late:].copy(), facts[late:].copy(), rest)

    def arrays(self) -> tuple[Array, Array]:
        """All rows, the oldest first."""
        obs = np.concatenate([*(piece.obs.array for piece in self.pieces), self.obs])
        facts = np.concatenate([*(piece.facts.array for piece in self.pieces), self.facts])
        return obs[self.skipped :], facts[self.skipped :]

    def to_tree(self) -> Tree:
        pieces = [list(piece) for piece in self.pieces]
        return {"pieces": pieces, "obs": self.obs, "facts": self.facts, "skipped": self.skipped}

    @classmethod
    def from_tree(cls, tree: Tree) -> Buffer:
        return cls(tuple(Piece(*piece) for piece in tree["pieces"]), tree["obs"], tree["facts"], tree["skipped"])


def row_bytes(obs: Array, facts: Array) -> int:
    """The size of a row [row, …]."""
    return int(math.prod(obs.shape[1:]) * obs.itemsize + facts.shape[1] * facts.itemsize)


def piece_rows(obs: Array, facts: Array) -> int:
    """How many rows make a piece: the power of two that comes next to a megabyte."""
    return int(2 ** max(0, round(math.log2(PIECE_BYTES / row_bytes(obs, facts)))))


def held(buffers: Sequence[Buffer], capacity: int) -> tuple[Held, Held, Array]:
    """The rows of a cohort as [row of the cohort, row of its buffer, …], filled up with zeros; and how many there are."""
    counts = [len(buffer) for buffer in buffers]
    room = max(SMALLEST, 1 << (max(counts) - 1).bit_length()) if max(counts) else SMALLEST
    first = buffers[0]
    obs = np.zeros((capacity, room, *first.obs.shape[1:]), first.obs.dtype)
    facts = np.zeros((capacity, room, first.facts.shape[1]), np.float32)
    for row, (buffer, count) in enumerate(zip(buffers, counts, strict=True)):
        if count:
            obs[row, :count], facts[row, :count] = buffer.arrays()
    numbers = np.array([*counts, *[0] * (capacity - len(counts))], np.int32)
    return Held(obs), Held(facts), numbers


class New(NamedTuple):
    """The rows of this turn inside the program, [env, time, …], with one more for what is observed now."""

    obs: Any
    facts: Any


class Window(NamedTuple):
    """The rows to learn from: the newest of those from before this turn, and those of the turn so far."""

    obs: Held
    facts: Held
    count: Any
    new: New
    filled: Any
    """Steps of each environment in this turn so far."""
    capacity: int

    @property
    def size(self) -> jax.Array:
        """How many rows there are, void ones included."""
        size: jax.Array = self.count - self.dropped + self._fresh
        return size

    @property
    def dropped(self) -> jax.Array:
        """How many of the oldest rows are beyond the capacity."""
        return jnp.clip(self.count + self._fresh - self.capacity, 0, self.count)

    @property
    def _fresh(self) -> Any:
        return self.new.facts.shape[0] * (self.filled + 1)

    def look_up(self, held: Held, new: jax.Array, place: jax.Array) -> jax.Array:
        """The entries at these places of the window; the one after a step is at the next place."""
        place = place + self.dropped
        inside = jnp.maximum(place - self.count, 0)
        env, time = inside // (self.filled + 1), inside % (self.filled + 1)
        old = held.take(jnp.clip(place, 0, held.array.shape[1] - 1))
        fresh = new[jnp.minimum(env, new.shape[0] - 1), time]
        return jnp.where((place < self.count).reshape((-1, *(1,) * (old.ndim - 1))), old, fresh)


class Batch(NamedTuple):
    """What is learnt from: discounted rewards up to `after`, and the discount of its value, 0 after a termination."""

    obs: Any
    action: Any
    reward: Any
    discount: Any
    after: Any
    weight: Any


def drawn(window: Window, key: jax.Array, number: int, *, n_step: jax.Array, discount: jax.Array) -> Batch:
    """A minibatch of rows drawn uniformly; void ones have no weight."""
    place = jax.random.randint(key, (number,), 0, jnp.maximum(window.size, 1))
    return at(window, place, n_step=n_step, discount=discount)


def at(window: Window, place: jax.Array, *, n_step: jax.Array, discount: jax.Array) -> Batch:
    """What can be learnt from the rows at these places of the window."""
    facts = window.look_up(window.facts, window.new.facts, place)
    valid = facts[:, -1] != VOID

    def further(_: jax.Array, carried: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        steps, reward, factor, last = carried
        beyond = window.look_up(window.facts, window.new.facts, jnp.minimum(place + steps, window.size - 1))
        goes_on = (last == GOES_ON) & (beyond[:, -1] != VOID)
        reward = reward + jnp.where(goes_on, factor * discount * beyond[:, -2], 0.0)
        factor = jnp.where(goes_on, factor * discount, factor)
        return steps + goes_on, reward, factor, jnp.where(goes_on, beyond[:, -1], last)

    ones = jnp.ones(len(place))
    begin = (ones.astype(jnp.int32), facts[:, -2], ones, facts[:, -1])
    steps, reward, factor, last = jax.lax.fori_loop(0, n_step.astype(jnp.int32) - 1, further, begin)
    obs = window.look_up(window.obs, window.new.obs, place)
    after = window.look_up(window.obs, window.new.obs, jnp.minimum(place + steps, window.size - 1))
    return Batch(obs, facts[:, :-2], reward, factor * discount * (last != TERMINATED), after, valid.astype(jnp.float32))
