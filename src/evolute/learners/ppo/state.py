"""A member on the host, between turns: what it has learnt, where its environments stand, and what it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from evolute.core.tree import Tree
from evolute.learners.kit.normal import Moments
from evolute.learners.ppo.model import Learnt, Optimiser
from evolute.learners.ppo.rollout import Tally, Worlds
from evolute.learners.ppo.settings import Traced


@dataclass(frozen=True)
class State:
    """One row of a cohort. `about` tells what its policy is made of; without `worlds`, environments start afresh."""

    learnt: Learnt
    worlds: Worlds | None
    about: Mapping[str, Any]


@dataclass(frozen=True)
class Assignment:
    """What a turn asks of one member: its settings as values, how many updates, and the seed of all its chance."""

    hparams: Traced
    updates: int
    seed: int


class Trained(NamedTuple):
    """What a turn made of one member; an error voids it."""

    learnt: Learnt
    worlds: Worlds | None
    tally: Tally
    error: str | None = None


def to_tree(state: State) -> Tree:
    """The state as dicts and lists of arrays."""
    return {"learnt": _plain(state.learnt), "worlds": _plain(state.worlds), "about": dict(state.about)}


def from_tree(tree: Tree) -> State:
    """The state that `to_tree` gave."""
    learnt, worlds = dict(tree["learnt"]), tree["worlds"]
    moments = {name: Moments(**learnt.pop(name)) for name in ("obs", "returns")}
    made = Learnt(optimiser=Optimiser(**learnt.pop("optimiser")), **moments, **learnt)
    return State(made, None if worlds is None else Worlds(**worlds), tree["about"])


def stacked(rows: Sequence[Any], capacity: int) -> Any:
    """Pytrees of arrays as one with a leading member axis, filled up to a capacity by repeating the first."""
    filled = [*rows, *[rows[0]] * (capacity - len(rows))]
    return jax.tree.map(lambda *leaves: np.stack(leaves), *filled)


def unstacked(tree: Any, count: int) -> list[Any]:
    """The first rows of arrays [row, …], each a copy of its own that does not hold on to the others."""
    leaves, structure = jax.tree.flatten(tree)
    arrays = [np.asarray(leaf) for leaf in leaves]
    return [jax.tree.unflatten(structure, [np.array(array[row]) for array in arrays]) for row in range(count)]


def key_data(seed: int) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """The data of JAX's random key for a seed, made without JAX."""
    return np.array([seed >> 32, seed & 0xFFFFFFFF], np.uint32)


def _plain(node: Any) -> Any:
    if isinstance(node, tuple):
        fields: tuple[str, ...] = node._fields  # type: ignore[attr-defined]
        return {name: _plain(value) for name, value in zip(fields, node, strict=True)}
    return [_plain(item) for item in node] if isinstance(node, list) else node
