"""The command `replay`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from evolute.cli.agents import chosen
from evolute.cli.run import train_and_conclude
from evolute.config.layers import override
from evolute.report import formats
from evolute.report.display import Display
from evolute.runs.replay import Replayed
from evolute.runs.replay import replay as replayed
from evolute.runs.result import Run
from evolute.runs.session import Launch


def replay(
    folder: Path, member: int | None, *, exact: bool, seed: int | None, target: Path | None, overrides: Sequence[str]
) -> None:
    """Train one fresh agent with the schedule of another, and with `exact` compare their states."""
    agent = chosen(Run.open(folder), member)
    results: list[Replayed] = []

    def train(display: Display) -> Run:
        how = display.watching(Launch(folder=target))
        results.append(replayed(agent, how, exact=exact, seed=seed, layers=list(map(override, overrides))))
        return results[0].run

    train_and_conclude(train, as_json=False)
    result = results[0]
    print(f"the original lineage ended at score {formats.number(agent.score)} after {len(result.line):,} turns")
    if result.same is None:
        return
    if result.same < len(result.line):
        print(f"not identical: turn {result.same} of the lineage ended in another state than in {folder}", file=sys.stderr)
        sys.exit(1)
    print(f"bit-identical: all {len(result.line):,} states have the digests of {folder}")
