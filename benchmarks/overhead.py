"""What Evolute itself costs per member-turn: strategy, journal and states around a learner that does nothing.

Also: whether that cost stays flat over 10,000 turns, what making states durable costs when turns take a second, what looking
for requests costs, how long imports take, and the same no-op population under Ray Tune's PBT, in a virtual environment of its
own, in the same run. Run it with `python benchmarks/overhead.py`; `--without-ray` leaves the peer out.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from peer import answer, program_of, python_of

from evolute.config.layers import python, stack
from evolute.config.resolve import resolved
from evolute.core.events import Event, Reported, Saved
from evolute.runs.session import Launch, launch
from evolute.store.requests import RequestFolder

PEER = "ray_tune_noop"
REPEATS = 3
SPACE = {"lr": "log[1e-5, 1e-1]", "entropy": "[0, 0.1]", "clip": "[0.05, 0.5]", "epochs": "int[1, 16]"}


def noop(state: Any, hparams: dict[str, Any], steps: int, seed: int) -> tuple[Any, dict[str, float]]:
    """Does nothing, with a score that differs between members."""
    return {"weights": np.zeros(8)}, {"score": hparams["lr"]}


def second(state: Any, hparams: dict[str, Any], steps: int, seed: int) -> tuple[Any, dict[str, float]]:
    """One second of work, then a state of a megabyte."""
    time.sleep(1.0)
    return {"weights": np.random.default_rng(seed).normal(size=131_072)}, {"score": hparams["lr"]}


@dataclass
class Figures:
    """When reports came in and how many, and the seconds that were spent on saving."""

    reports: list[tuple[float, int]] = field(default_factory=list)
    saving: float = 0.0

    def watch(self, event: Event) -> None:
        if isinstance(event, Reported):
            self.reports.append((time.perf_counter(), len(event.reports)))
        elif isinstance(event, Saved):
            self.saving += event.seconds


def train(learner: Any, members: int, turns: int) -> Figures:
    """A whole run in a temporary folder."""
    figures = Figures()
    with tempfile.TemporaryDirectory() as folder:
        settings = {"learner": learner, "space": SPACE, "population": members, "stop": {"turns": turns}, "runs": folder}
        launch(resolved(stack([python(settings)])), Launch(notify=figures.watch))
    return figures


def cost(reports: list[tuple[float, int]]) -> float:
    """Milliseconds per member-turn from the first of these reports to the last."""
    return (reports[-1][0] - reports[0][0]) / sum(count for _, count in reports[1:]) * 1e3


def per_turn(members: int, turns: int) -> float:
    """Milliseconds per member-turn, the least of several runs."""
    return min(cost(train(noop, members, turns).reports) for _ in range(REPEATS))


def flatness(members: int, turns: int) -> tuple[float, float]:
    """Milliseconds per member-turn in the second and in the last tenth of one long run."""
    reports = train(noop, members, turns).reports
    tenth = len(reports) // 10
    return cost(reports[tenth : 2 * tenth]), cost(reports[-tenth:])


def saving() -> float:
    """The share of a run's time that durable states cost, with turns of one second."""
    started = time.perf_counter()
    figures = train(second, 4, 5)
    return figures.saving / (time.perf_counter() - started)


def looking(*, steered: bool) -> float:
    """Microseconds that a decision takes to look for requests, in a run that nobody has steered, or somebody has."""
    with tempfile.TemporaryDirectory() as folder:
        requests = RequestFolder(Path(folder))
        if steered:
            requests.remove([requests.put({"kind": "pin", "member": 0})])

        def once(looks: int) -> float:
            started = time.perf_counter()
            for _ in range(looks):
                requests.waiting()
            return (time.perf_counter() - started) / looks * 1e6

        return min(once(1000) for _ in range(7))


def fastest(code: list[str]) -> float:
    """Seconds that a Python process with these arguments takes, the least of several."""

    def once() -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, *code], check=True, capture_output=True)
        return time.perf_counter() - started

    return min(once() for _ in range(7))


def peer(members: int, turns: int) -> float:
    """Milliseconds per member-turn of Ray Tune's PBT with a trainable that does nothing."""
    command = [python_of(PEER), program_of(PEER), "--members", str(members), "--turns", str(turns)]
    return float(answer(command)["ms_per_member_turn"])


def say(label: str, figure: str) -> None:
    print(f"{label:58} {figure}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without-ray", action="store_true", help="leave Ray Tune out")
    arguments = parser.parse_args()
    costs: dict[int, float] = {}
    for members, turns in ((8, 400), (64, 100), (1000, 20)):
        costs[members] = per_turn(members, turns)
        say(f"ms per member-turn, {members} members", f"{costs[members]:.3f}")
    if not arguments.without_ray:
        for members, turns in ((8, 20), (64, 10)):
            ray = peer(members, turns)
            say(f"Ray Tune PBT, ms per member-turn, {members} members", f"{ray:.1f}  ({ray / costs[members]:.0f}x ours)")
    early, late = flatness(64, 10_000)
    say("late over early cost in 10,000 turns of 64 members", f"{late / early:.2f}  ({early:.3f} to {late:.3f} ms)")
    say("share of time spent on durable states, turns of 1 s", f"{saving():.2%}")
    say("µs per decision to look for requests, never steered", f"{looking(steered=False):.1f}")
    say("µs per decision to look for requests, steered before", f"{looking(steered=True):.1f}")
    bare, typer = fastest(["-c", "import numpy"]), fastest(["-c", "import typer, rich"])
    say("import evolute, seconds over import numpy", f"{fastest(['-c', 'import numpy, evolute']) - bare:+.3f}")
    say("evolute --help over import typer, rich", f"{fastest(['-m', 'evolute', '--help']) / typer:.2f}")


if __name__ == "__main__":
    main()
