"""Exchange of states by collective calls: all ranks move all states of a turn at the same time.

A state that at least half of the ranks need, as when the winner takes all, is one broadcast; the others travel in one call
of all to all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evolute.core.order import Ref
from evolute.core.tree import Tree
from evolute.engines.links.wire import Array, decoded, encoded


@dataclass(frozen=True)
class Move:
    """A state that goes from one rank to others."""

    ref: Ref
    source: int
    targets: tuple[int, ...]

    def to_json(self) -> Tree:
        return [list(self.ref), self.source, list(self.targets)]

    @classmethod
    def from_json(cls, body: Tree) -> Move:
        return cls(Ref(*body[0]), body[1], tuple(body[2]))


def exchange(comm: Any, moves: Sequence[Move], give: Callable[[Ref], Tree], take: Callable[[Ref, Tree], None]) -> None:
    """Make these moves, which every rank of the communicator must do at the same time."""
    many = [move for move in moves if 2 * len(move.targets) >= comm.Get_size()]
    for move in many:
        tree = _broadcast(comm, move, give)
        if comm.Get_rank() in move.targets:
            take(move.ref, tree)
    few = [move for move in moves if move not in many]
    if few:
        _all_to_all(comm, few, give, take)


def _broadcast(comm: Any, move: Move, give: Callable[[Ref], Tree]) -> Tree:
    sends = comm.Get_rank() == move.source
    message = encoded(give(move.ref)) if sends else np.empty(0, np.uint8)
    size = np.array([message.size], np.int64)
    comm.Bcast(size, move.source)
    if not sends:
        message = np.empty(size[0], np.uint8)
    comm.Bcast(message, move.source)
    return None if sends else decoded(message.data)


def _all_to_all(comm: Any, moves: Sequence[Move], give: Callable[[Ref], Tree], take: Callable[[Ref, Tree], None]) -> None:
    """Each pair of ranks has one part in it: the messages of its moves, one after the other."""
    here = comm.Get_rank()
    messages = {move.ref: encoded(give(move.ref)) for move in moves if move.source == here}
    sizes = np.zeros(len(moves), np.int64)
    for place, move in enumerate(moves):
        if move.source == here:
            sizes[place] = messages[move.ref].size
    comm.Allreduce(sizes.copy(), sizes)
    out = [move for rank in range(comm.Get_size()) for move in moves if move.source == here and rank in move.targets]
    sent = _counts(
        comm,
        [
            (rank, size)
            for move, size in zip(moves, sizes.tolist(), strict=True)
            if move.source == here
            for rank in move.targets
        ],
    )
    got = _counts(comm, [(move.source, size) for move, size in zip(moves, sizes.tolist(), strict=True) if here in move.targets])
    sending = np.concatenate([messages[move.ref] for move in out]) if out else np.empty(0, np.uint8)
    received = np.empty(int(got.sum()), np.uint8)
    comm.Alltoallv([sending, sent], [received, got])
    start = 0
    for source in range(comm.Get_size()):
        for move, size in zip(moves, sizes.tolist(), strict=True):
            if move.source == source and here in move.targets:
                take(move.ref, decoded(received[start : start + size].copy().data))
                start += size


def _counts(comm: Any, parts: Sequence[tuple[int, int]]) -> Array:
    counts = np.zeros(comm.Get_size(), np.int64)
    for rank, size in parts:
        counts[rank] += size
    return counts
