"""The engine that trains in several processes on this machine."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Gt

from evolute.core.cores import cores
from evolute.core.worker import Worker
from evolute.engines.distributed import DistributedEngine
from evolute.engines.links.processes import ProcessLink
from evolute.engines.worker_service import ServiceSpec


def processes(
    worker: Worker, limit: float | None, *, workers: Annotated[int, Gt(0)] | None = None, lease: Annotated[float, Gt(0)] = 60.0
) -> DistributedEngine:
    """Worker processes on this machine, by default one for each core; one that is silent for longer than `lease` seconds,
    or dies, is replaced."""
    return DistributedEngine(ProcessLink(ServiceSpec.of(worker, limit), workers or len(cores()), lease), worker)
