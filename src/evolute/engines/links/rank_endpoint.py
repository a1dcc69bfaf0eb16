"""A rank of an MPI job as a worker: its object answers the leader, and other ranks that ask for states."""

from __future__ import annotations

import queue
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

from evolute.core.order import Ref
from evolute.core.tree import Tree
from evolute.engines.links.call_server import CallServer
from evolute.engines.links.collective import Move, exchange
from evolute.engines.links.link import Make
from evolute.engines.links.ranks import Ranks


@dataclass(eq=False)
class RankEndpoint:
    """Serves a rank's object. `other` gets the messages that are not between workers."""

    ranks: Ranks
    server: CallServer
    other: Callable[[int, Tree], None]
    _asks: dict[int, queue.SimpleQueue[Tree]] = field(default_factory=dict)
    _numbers: count[int] = field(default_factory=count)

    def open(self, make: Make) -> None:
        """Build the object, and answer from now on."""
        self.server.target = make(self)
        self.ranks.deliver = self.deliver

    def send_update(self, value: Tree) -> None:
        self.server.send_update(value)

    def ask(self, address: str, method: str, argument: Tree) -> Tree:
        number = next(self._numbers)
        self._asks[number] = queue.SimpleQueue()
        self.ranks.send(int(address), {"ask": number, "method": method, "argument": argument})
        answer = self._asks[number].get()
        del self._asks[number]
        if "error" in answer:
            raise ConnectionError(f"rank {address} answered with an error:\n{answer['error']}")
        return answer["value"]

    def deliver(self, source: int, message: Tree) -> None:
        match message:
            case {"ask": number, "method": method, "argument": argument}:
                self.ranks.send(source, {"answer": number, **self.server.answer_peer(method, argument)})
            case {"answer": number}:
                self._asks[number].put(message)
            case {"exchange": moves}:
                self.exchange([Move.from_json(move) for move in moves])
            case _:
                self.other(source, message)

    def exchange(self, moves: Sequence[Move]) -> None:
        """Make moves together with all other ranks, in the thread that makes the MPI calls."""

        def take(ref: Ref, tree: Tree) -> None:
            self.server.target.take([list(ref), tree])

        exchange(self.ranks.of_workers, moves, lambda ref: self.server.target.give([list(ref), []]), take)
