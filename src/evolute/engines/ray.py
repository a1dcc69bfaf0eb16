"""The engine that trains in Ray actors: on a runtime that it starts here, or on a cluster that is there already."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt

from evolute.core.order import Order, Ref, Report
from evolute.core.worker import Worker
from evolute.engines.actors import Actors
from evolute.engines.fleet import Fleet
from evolute.engines.runtime import connected, fitting
from evolute.engines.station import Recipe


def ray(
    worker: Worker,
    limit: float | None,
    *,
    address: str | None = None,
    workers: Annotated[int, Gt(0)] | None = None,
    cpus: Annotated[float, Ge(0)] = 1.0,
    gpus: Annotated[float, Ge(0)] = 0.0,
    placement: Literal["pack", "spread"] = "pack",
    lease: Annotated[float, Gt(0)] = 60.0,
) -> Ray:
    """Ray actors: on a local runtime of their own, or on the cluster at `address` (auto finds it). Each worker gets so many
    `cpus` and `gpus`; `placement` fills node after node, or spreads workers over them. By default there are as many workers
    as fit. One that is silent for longer than `lease` seconds, or dies, is replaced."""
    disconnect = connected(address, workers, cpus)
    options = {"num_cpus": cpus, "num_gpus": gpus, "scheduling_strategy": "SPREAD" if placement == "spread" else "DEFAULT"}
    actors = Actors(Recipe.of(worker, limit), workers or fitting(cpus, gpus), lease, options)
    return Ray(Fleet(actors, worker), disconnect)


@dataclass(frozen=True)
class Ray:
    """A fleet of actors; when it is closed the connection to Ray ends, and a runtime that was started for it."""

    fleet: Fleet
    disconnect: Callable[[], None]

    def submit(self, orders: Sequence[Order]) -> None:
        self.fleet.submit(orders)

    def wait(self) -> list[Report]:
        return self.fleet.wait()

    def keep(self, refs: set[Ref]) -> None:
        self.fleet.keep(refs)

    def save(self, refs: Iterable[Ref]) -> dict[Ref, int]:
        return self.fleet.save(refs)

    def now(self) -> float:
        return self.fleet.now()

    def close(self) -> None:
        self.fleet.close()
        self.disconnect()
