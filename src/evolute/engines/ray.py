"""The engine that trains in Ray actors: on a runtime that it starts here, or on a running cluster."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Ge, Gt

from evolute.core.worker import Worker
from evolute.engines.distributed import DistributedEngine
from evolute.engines.links.ray import RayLink
from evolute.engines.links.ray_runtime import connected, fitting
from evolute.engines.worker_service import ServiceSpec


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
) -> DistributedEngine:
    """Ray actors: on a local runtime of their own, or on the cluster at `address` (auto finds it). Each worker gets
    this many `cpus` and `gpus`; `placement` packs nodes one by one, or spreads workers over them. By default there are as many
    workers as fit. One that is silent for longer than `lease` seconds, or dies, is replaced."""
    disconnect = connected(address, workers, cpus)
    options = {"num_cpus": cpus, "num_gpus": gpus, "scheduling_strategy": "SPREAD" if placement == "spread" else "DEFAULT"}
    link = RayLink(ServiceSpec.of(worker, limit), workers or fitting(cpus, gpus), lease, options, disconnect)
    return DistributedEngine(link, worker)
