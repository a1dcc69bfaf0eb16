"""What `throughput.py offpolicy` measures of ours: updates a second of a population of SAC, and the cost of replay buffers."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

MEMBERS = 8
SIZES = {"Pendulum": (3, 1), "HalfCheetah": (17, 6)}
"""Numbers of an observation and of an action."""


def replay(options: dict[str, Any]) -> dict[str, float]:
    """Updates per second of a whole run after its first turns, which compile, or are random."""
    import evolute

    turns, interval, warm = options["turns"], options["interval"], options.get("warm", 2)
    with tempfile.TemporaryDirectory() as folder:
        run = evolute.run(
            "sac",
            env=options["env"],
            population=MEMBERS,
            interval=interval,
            stop={"turns": turns},
            folder=Path(folder) / "run",
            display="none",
            evaluation={"members": 0},
            sac={"lr": "log[1e-4, 1e-3]", "warmup": 100, **options["sac"]},
        )
        done = [turn for slot in range(MEMBERS) for turn in run.population[slot].history()]
        first = sum(turn.report.seconds for turn in done if turn.ref.member == 0 and turn.ref.turn < warm)
        updates = sum(turn.report.metrics["updates"] or 0.0 for turn in done if turn.ref.turn >= warm)
    return {"steps_per_second": updates / (run.elapsed - first)}


def waiting() -> Any:
    """Pendulum, which waits in every step."""
    import gymnasium  # not before, as it loads numpy

    def waited(action: Any) -> Any:
        time.sleep(0.001)
        return action

    return gymnasium.wrappers.TransformAction(gymnasium.make("Pendulum-v1"), waited, None)


def work(task: str, width: int, batch: int) -> int:
    """Operations of one update: two target critics and the actor forwards, the critics and the actor there and back, and the
    actor's way through the critics."""
    obs, action = SIZES[task]
    critic = (obs + action) * width + width * width + width
    actor = obs * width + width * width + 2 * action * width
    return 2 * batch * (2 * critic + actor + 3 * 2 * critic + 3 * actor + 2 * 2 * critic)


def buffers(options: dict[str, Any]) -> dict[str, float]:
    """Seconds that the buffers of a whole population take in a turn that adds some rows to many: to load them, to hash and to
    save what is new."""
    import numpy as np  # not before: products of one thread need a numpy that has not been loaded yet

    from evolute.core.order import Ref
    from evolute.core.tree import digest
    from evolute.learners.kit.layout import layout
    from evolute.learners.offpolicy.buffer import Buffer, Rows
    from evolute.learners.offpolicy.loading import loaded
    from evolute.store.checkpoints import Checkpoints

    obs, action = SIZES["HalfCheetah"]
    rng, capacity, found = np.random.default_rng(0), 1_000_000, []

    def rows(count: int) -> Rows:
        return Rows(rng.normal(size=(count, obs)).astype(np.float32), rng.normal(size=(count, action + 2)).astype(np.float32))

    with tempfile.TemporaryDirectory() as folder:
        checkpoints = Checkpoints(Path(folder))
        (Path(folder) / "segments").mkdir()
        old = [Buffer.empty((obs,), np.float32, action).extended(rows(options["rows"]), capacity) for _ in range(MEMBERS)]
        for turn in range(options["turns"]):
            added = [rows(options["interval"]) for _ in range(MEMBERS)]
            started = time.perf_counter()
            loaded(old, layout(MEMBERS), capacity)
            old = [buffer.extended(new, capacity) for buffer, new in zip(old, added, strict=True)]
            for member, buffer in enumerate(old):
                digest(buffer.to_tree())
                checkpoints.write(Ref(member, turn), buffer.to_tree())
            found.append(time.perf_counter() - started)
    return {"seconds": min(found[1:])}  # the first saves all rows
