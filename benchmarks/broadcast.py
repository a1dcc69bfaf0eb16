"""How long it takes until 8 actors have read 1 MB of weights: processes, Ray's, and ranks, beside the bare libraries.

Ray alone is a program that puts the arrays into Ray's store and calls 8 actors with them; MPI alone is a broadcast and a
barrier of mpi4py, which waits as MPI does, by looking all the time. Contenders are processes of their own that take turns.

    python benchmarks/actors.py --broadcast
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

ACTORS, WARM, TIMES = 8, 10, 100
LAYERS = {f"dense{place}/w": np.ones((256, 256), np.float32) for place in range(4)}
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
"""What Open MPI, if it is the one installed, wants before it starts more ranks than cores, and for root."""


class Holder:
    """Has the weights that it was given last, and has read them."""

    def use(self, weights: Any) -> None:
        self.weights, self.sum = weights, sum(float(array.sum()) for array in weights.values())


def timed(send: Callable[[], object]) -> list[float]:
    """Milliseconds of each call, after some to warm up."""
    took = []
    for _ in range(WARM + TIMES):
        begun = time.perf_counter()
        send()
        took.append(1e3 * (time.perf_counter() - begun))
    return took[WARM:]


def grouped(engine: Any) -> list[float]:
    """A group of processes or of Ray's actors."""
    from evolute.engines.group import open_group

    with open_group(Holder, engine=engine, workers=ACTORS) as group:
        assert group is not None
        return timed(lambda: group.all("use", LAYERS, aside=True))


def ranks() -> list[float] | None:
    """Ranks that act for the first one, as with `actors.where=ranks`."""
    from evolute.core.protocols import Followed
    from evolute.engines.crews import RankCrew
    from evolute.engines.group import MakeMethods
    from evolute.engines.links.mpi import leading
    from evolute.engines.links.ranks import world

    world().arrange(ACTORS)
    try:
        with leading(world(), lambda opening: MakeMethods(Holder)) as announce:
            announce({"broadcast": True})
            group = RankCrew().open(Holder, ACTORS)
            return timed(lambda: group.all("use", LAYERS, aside=True))
    except Followed:
        return None


def bare_ray() -> list[float]:
    import ray

    ray.init("local", num_cpus=ACTORS, include_dashboard=False, logging_level="ERROR", _node_ip_address="127.0.0.1")
    kind: Any = ray.remote(Holder)
    actors = [kind.remote() for _ in range(ACTORS)]

    def send() -> None:
        weights = ray.put(LAYERS)
        ray.get([actor.use.remote(weights) for actor in actors])

    took = timed(send)
    ray.shutdown()
    return took


def bare_mpi() -> list[float] | None:
    from mpi4py import MPI

    comm, holder, weights = MPI.COMM_WORLD, Holder(), np.stack(list(LAYERS.values()))

    def send() -> None:
        comm.Bcast(weights)
        holder.use({"all": weights})
        comm.Barrier()

    took = timed(send)
    return took if comm.Get_rank() == 0 else None


MEASURES: dict[str, Callable[[], list[float] | None]] = {
    "processes": lambda: grouped("processes"),
    "Ray": lambda: grouped("ray"),
    "Ray alone": bare_ray,
    "ranks": ranks,
    "MPI alone": bare_mpi,
}


def measured(name: str) -> list[float]:
    """What a contender took, in a process or in ranks of its own."""
    found = Path(sys.executable).with_name("mpiexec")
    mpiexec = str(found) if found.exists() else shutil.which("mpiexec") or "mpiexec"
    job = [mpiexec, "-n", str(1 + ACTORS)] if name in ("ranks", "MPI alone") else []
    command = [*job, sys.executable, __file__, name]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **OPEN_MPI}, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("[")]
    if not lines:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    took: list[float] = json.loads(lines[-1])
    return took


def compared(rounds: int) -> None:
    """Medians over the rounds of each round's median and 90th percentile."""
    found: dict[str, list[Any]] = {name: [] for name in MEASURES}
    for _ in range(rounds):
        for name, each in found.items():
            each.append(np.percentile(measured(name), (50, 90)))
            print(f"{name}: {each[-1][0]:.1f} ms (load {os.getloadavg()[0]:.1f})", flush=True)
    print(f"\n1 MB to {ACTORS} actors\n\n| | median | 90 % |\n|---|---|---|")
    for name, each in found.items():
        print(f"| {name} | {median(one[0] for one in each):.1f} ms | {median(one[1] for one in each):.1f} ms |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=list(MEASURES))
    took = MEASURES[parser.parse_args().name]()
    if took is not None:
        print(json.dumps(took))
