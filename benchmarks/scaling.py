"""Where the time of a turn goes with 10,000 members on 1,000 workers: members, leader, exchange, and waiting for others.

Turns run under a virtual clock (`engine=simulated`): 3 seconds of a worker each, now and then half of that or twice, and one
in a hundred ten times. What the leader does (strategy, journal, folding reports) is real and measured here. The exchange is
computed from the orders that were given: states of 1 MB, links of 10 Gbit/s with 20 microseconds of latency, home of a
member as in the real engines; from rank to rank a worker sends one state after the other, a broadcast doubles those who
have it with every step, and a call of all to all also costs a microsecond for each other rank.

    python benchmarks/scaling.py [--members 10000 --workers 1000] [--plot scaling.png]
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evolute.config.layers import python, stack
from evolute.config.resolve import resolved
from evolute.core.events import Decided, Event, Reported
from evolute.core.order import Order
from evolute.core.rng import stream
from evolute.core.worker import Worker
from evolute.engines.simulated import Simulated
from evolute.runs.session import Launch, launch

TURN, STATE, BANDWIDTH, LATENCY, PER_RANK = 3.0, 1e6, 1.25e9, 20e-6, 1e-6


def noop(state: Any, hparams: dict[str, Any], steps: int, seed: int) -> tuple[Any, dict[str, float]]:
    """A score that depends on the hyper-parameter and the seed."""
    return None, {"score": hparams["h"] + (seed % 1000) / 2000}


def duration(order: Order) -> float:
    """How long a turn takes, by its name alone."""
    rng = stream(0, "duration", order.member, order.turn)
    return float(TURN * rng.choice([0.5, 1.0, 2.0], p=[0.25, 0.5, 0.25]) * (10.0 if rng.random() < 0.01 else 1.0))


@dataclass(frozen=True)
class Figures:
    """Of one simulated run: virtual seconds, seconds that the leader worked, member-turns, and the orders of each decision."""

    virtual: float
    real: float
    turns: int
    decided: list[list[Order]]


def simulate(members: int, workers: int, strategy: str, mode: str, seconds: float) -> Figures:
    """A run for this many virtual seconds."""
    decided: list[list[Order]] = []
    arrived: list[int] = []

    def watch(event: Event) -> None:
        if isinstance(event, Decided):
            decided.append(event.orders)
        elif isinstance(event, Reported) and (mode == "sync" or event.elapsed <= seconds):
            arrived.append(len(event.reports))

    def engine(worker: Worker, limit: float | None) -> Simulated:
        return Simulated(worker, duration, workers=workers)

    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "learner": noop, "space": {"h": [0, 1]}, "population": members, "strategy": strategy, "mode": mode,
            "engine": engine, "stop": {"time": seconds}, "runs": folder, "durable": 1000,
        }  # fmt: skip
        started = time.process_time()
        run = launch(resolved(stack([python(settings)])), Launch(notify=watch))
        real = time.process_time() - started
    virtual = run.elapsed if mode == "sync" else seconds
    return Figures(virtual, real, sum(arrived), decided)


def exchange(orders: list[Order], workers: int) -> tuple[float, float]:
    """Seconds that the states of one decision take from rank to rank, and by collective calls."""
    targets: dict[Any, set[int]] = defaultdict(set)
    for order in orders:
        if order.start is not None and order.start.member % workers != order.member % workers:
            targets[order.start].add(order.member % workers)
    one = LATENCY + STATE / BANDWIDTH
    sent = Counter[int]()
    for ref, ranks in targets.items():
        sent[ref.member % workers] += len(ranks)
    many = [ref for ref, ranks in targets.items() if 2 * len(ranks) >= workers]
    few, got = Counter[int](), Counter[int]()
    for ref, ranks in targets.items():
        if ref not in many:
            few[ref.member % workers] += len(ranks)
            got.update(ranks)
    busiest = max([*few.values(), *got.values()], default=0)
    together = len(many) * math.ceil(math.log2(workers)) * one + busiest * one + (workers * PER_RANK if few else 0.0)
    return max(sent.values(), default=0) * one, together


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=1_000)
    parser.add_argument("--plot", type=Path, default=None)
    arguments = parser.parse_args()
    members, workers = arguments.members, arguments.workers
    work = np.mean([duration(Order(member, 0, {})) for member in range(min(members, 2000))]) * members / workers
    bars: dict[str, dict[str, float]] = {}
    for strategy in ("pbt", "winner_takes_all"):
        sync = simulate(members, workers, strategy, "sync", 3 * work)
        rounds = sync.turns / members
        costs = [exchange(orders, workers) for orders in sync.decided[1:]]
        waiting = sync.virtual / rounds - work
        for name, each in zip(("p2p", "collective"), np.mean(costs, axis=0), strict=True):
            bars[f"{strategy}\nsync, {name}"] = {
                "training": work, "waiting": waiting, "leader": sync.real / rounds, "exchange": float(each)
            }  # fmt: skip
    free = simulate(members, workers, "pbt", "async", work / 4)
    rounds = free.turns / members
    bars["pbt\nasync, p2p"] = {
        "training": work,
        "waiting": max(0.0, free.virtual / rounds - work),
        "leader": free.real / rounds,
        "exchange": LATENCY + STATE / BANDWIDTH,
    }
    for name, parts in bars.items():
        shown = "  ".join(f"{part} {seconds:.3g} s" for part, seconds in parts.items())
        print(f"{name.replace(chr(10), ', '):36} {sum(parts.values()):6.1f} s per round: {shown}", flush=True)
    if arguments.plot is not None:
        draw(bars, arguments.plot, f"{members:,} members on {workers:,} workers")


def draw(bars: dict[str, dict[str, float]], path: Path, title: str) -> None:
    """Stacked bars, one for each way to run."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 4.5))
    bottoms = np.zeros(len(bars))
    for part, colour in zip(("training", "waiting", "leader", "exchange"), ("C0", "C7", "C1", "C3"), strict=True):
        heights = np.array([parts[part] for parts in bars.values()])
        axes.bar(list(bars), heights, bottom=bottoms, label=part, color=colour)
        bottoms += heights
    axes.set(ylabel="seconds for a turn of everyone", title=title)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
