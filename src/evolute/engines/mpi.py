"""The engine that trains on the ranks of an MPI job: `mpiexec -n 4 evolute run … -m engine=mpi`. Rank 0 leads and trains too.

States move from rank to rank when an heir needs them, or all at once by collective calls. If a rank dies MPI ends the job;
run the same command again to resume, on any number of ranks. With `actors.where=ranks` some ranks act for those that train.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Literal

from annotated_types import Gt

from evolute.core.order import Json, Order, Ref
from evolute.core.protocols import EngineError, HasActors
from evolute.core.worker import Worker
from evolute.engines.distributed import DistributedEngine
from evolute.engines.group import MakeMethods
from evolute.engines.links.collective import Move
from evolute.engines.links.link import Make
from evolute.engines.links.mpi import MpiLink, leading
from evolute.engines.links.ranks import world
from evolute.engines.worker_service import ServiceSpec


class mpi(DistributedEngine):  # noqa: N801 - a plug-in is named as users write it
    """The ranks of an MPI job. `exchange` of states is from rank to rank (few nodes) or by collective calls (many); a rank
    that is silent for longer than `lease` seconds ends the job, with an exit code that means that it can be resumed."""

    def __init__(
        self,
        worker: Worker,
        limit: float | None,
        *,
        exchange: Literal["p2p", "collective"] = "p2p",
        lease: Annotated[float, Gt(0)] = 60.0,
    ) -> None:
        self._ranks = MpiLink(world(), ServiceSpec.of(worker, limit), lease)
        self._collective = exchange == "collective"
        super().__init__(self._ranks, worker)

    @staticmethod
    @contextmanager
    def joined(build: Callable[[Json], tuple[Worker, float | None]], actors: int = 0) -> Iterator[Callable[[Json], None]]:
        """On rank 0, a way to tell the others what to build; on those, work for it until it is done, then raise Followed.

        The first of 1 + `actors` ranks, or of as many more as there are, train; the others act for them.
        """
        ranks = world()
        ranks.arrange(actors)

        def make(opening: Json) -> Make:
            worker, limit = build(opening)
            if ranks.trains:
                return ServiceSpec.of(worker, limit)
            assert isinstance(worker.learner, HasActors)
            return MakeMethods(worker.learner.actor)

        try:
            with leading(ranks, make) as announce:
                _check_enough(actors, ranks.size)
                yield announce
        finally:
            ranks.arrange(0)

    def submit(self, orders: Sequence[Order]) -> None:
        """Take orders on. By collective calls, states are exchanged first if all ranks are idle; else heirs ask for them."""
        if self._collective and self.idle and (moves := self._moves(orders)):
            self._ranks.exchange(moves)
            for move in moves:
                self.states.held[move.ref] += move.targets
        super().submit(orders)

    def _moves(self, orders: Sequence[Order]) -> list[Move]:
        """Which states have to go where."""
        targets: dict[Ref, set[int]] = {}
        for order in orders:
            for ref in order.links:
                if self.states.holder(ref) is not None and self.home(order) not in self.states.held[ref]:
                    targets.setdefault(ref, set()).add(self.home(order))
        return [Move(ref, self.states.held[ref][0], tuple(sorted(ranks))) for ref, ranks in sorted(targets.items())]


def _check_enough(actors: int, ranks: int) -> None:
    if actors >= ranks:
        there = "is 1" if ranks == 1 else f"are {ranks}"
        raise EngineError(
            f"actors.count = {actors} with actors.where=ranks takes {1 + actors} ranks or more, one to train and {actors} to "
            f"act, and there {there}: start the run by mpiexec -n {1 + actors}"
        )
