"""A player of Connect Four that looks two moves ahead: it wins if it can and, if it can help it, lets nobody win next.

It counts stones on the 69 lines of four instead of trying moves: a cell wins if it is the last empty one of a line that has
three stones of one colour.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from evolute.envs.game import Situation

ROWS, COLUMNS, FOUR = 6, 7, 4


def search(key: jax.Array, situation: Situation) -> jax.Array:
    """A column; observations are [row from the top, column, own or other's stones]. Among equal moves it draws one."""
    own, other = situation.obs.reshape(-1, 2).T
    wins, loses = _completes(own, other), _completes(other, own)
    height = (own + other).reshape(ROWS, COLUMNS).sum(axis=0).astype(jnp.int32)
    columns = jnp.arange(COLUMNS)
    lands = (ROWS - 1 - height) * COLUMNS + columns  # negative in a full column, which is illegal
    above = lands - COLUMNS
    threats = loses[lands] & (height < ROWS)
    elsewhere = threats.sum() > threats  # the other wins in another column than this one
    on_top = loses[above] & (height < ROWS - 1)
    worth = jnp.where(wins[lands], 2, jnp.where(elsewhere | on_top, 0, 1))
    legal = height < ROWS
    return jnp.argmax(jnp.where(legal, worth + jax.random.uniform(key, (COLUMNS,)), -1.0)).astype(jnp.int32)


def _completes(mine: jax.Array, theirs: jax.Array) -> jax.Array:
    """Whether a stone of mine in a cell would make four in a line, [cell]; of empty cells only."""
    lines = jnp.asarray(_lines())
    nearly = (lines @ mine == FOUR - 1) & (lines @ theirs == 0)
    return (nearly.astype(jnp.float32) @ lines > 0) & (mine + theirs == 0)


def _lines() -> np.ndarray[Any, np.dtype[np.float32]]:
    """The cells of every line of four, [line, cell]."""
    lines = []
    for row, column in np.ndindex(ROWS, COLUMNS):
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            cells = [(row + step * down, column + step * right) for step in range(FOUR)]
            if all(r < ROWS and 0 <= c < COLUMNS for r, c in cells):
                lines.append(np.zeros((ROWS, COLUMNS), np.float32))
                lines[-1][tuple(np.transpose(cells))] = 1
    return np.stack(lines).reshape(-1, ROWS * COLUMNS)
