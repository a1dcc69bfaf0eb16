"""A pool of rows stepped all together, for learners that wait for every row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evolute.envs.interface import Array, Moved, Pool

PATIENCE = 60.0
"""Seconds without a move after which seats are thought to wait for each other."""


class Lockstep:
    """A Vector over a Pool: a step is over when every row has moved. Of several reward channels it gives the first."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._everyone = np.arange(pool.rows)

    @property
    def failures(self) -> Mapping[int, Exception]:
        return self._pool.failures

    def reset(self) -> Array:
        return self._moved()[0]

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array]:
        self._pool.send(self._everyone, actions)
        return self._moved()

    def close(self) -> None:
        self._pool.close()

    def _moved(self) -> tuple[Array, Array, Array, Array]:
        moved = self._received()
        if moved.legal is not None:
            raise ValueError("this game says which actions are legal: that needs a learner whose rows move at their own pace")
        reward = moved.reward if moved.reward.ndim == 1 else moved.reward[:, 0]
        return moved.obs, reward, moved.terminated, moved.truncated

    def _received(self) -> Moved:
        """All rows; some may never come if seats of a game act in turn, and wait for those that have come."""
        parts, missing = list[Moved](), self._pool.rows
        while missing:
            parts.append(self._pool.recv(missing, PATIENCE))
            missing -= len(parts[-1].rows)
            if missing < self._pool.rows and not parts[-1].rows.size:
                raise ValueError(
                    f"after {PATIENCE:g} s {missing} of {self._pool.rows} seats have not moved: do they wait for others? Games "
                    "whose seats act in turn need a learner whose rows move at their own pace, or a single seat that is played"
                )
        return parts[0] if len(parts) == 1 else joined(parts)


def joined(parts: Sequence[Moved]) -> Moved:
    """Moves of several calls as one, in the order of their rows."""
    order = np.argsort(np.concatenate([part.rows for part in parts]))
    results = {row: told for part in parts for row, told in part.results.items()}
    facts = zip(*(part[:6] for part in parts), strict=True)
    rows, obs, reward, elapsed, terminated, truncated = (np.concatenate(fact)[order] for fact in facts)
    shown = next((part.legal for part in parts if part.legal is not None), None)
    if shown is None:
        return Moved(rows, obs, reward, elapsed, terminated, truncated, results)
    everything = np.ones(shown.shape[1:], shown.dtype)
    legal = [np.tile(everything, (len(part.rows), 1)) if part.legal is None else part.legal for part in parts]
    return Moved(rows, obs, reward, elapsed, terminated, truncated, results, np.concatenate(legal)[order])
