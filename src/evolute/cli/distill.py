"""The command `distill`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evolute.cli.agents import chosen
from evolute.cli.run import train_and_conclude
from evolute.config.layers import override
from evolute.report import formats
from evolute.report.display import Display
from evolute.runs.distill import Distilled, Evaluated
from evolute.runs.distill import distill as distilled
from evolute.runs.result import Run
from evolute.runs.session import Launch


def distill(folder: Path, member: int | None, *, target: Path | None, overrides: Sequence[str]) -> None:
    """Train one student of a member, and print how good both are."""
    agent = chosen(Run.open(folder), member)
    results: list[Distilled] = []

    def train(display: Display) -> Run:
        results.append(distilled(agent, display.watching(Launch(folder=target)), list(map(override, overrides))))
        return results[0].run

    train_and_conclude(train, as_json=False)
    print(f"teacher: member {agent.member} of {folder}, {_told(results[0].teacher)}")
    print(f"student: {_told(results[0].student)}")


def _told(found: Evaluated | None) -> str:
    if found is None:
        return "no score yet"
    if not found.episodes:
        return f"score {formats.number(found.mean)}"
    return f"mean return {formats.number(found.mean)} ± {formats.number(found.error)} in {found.episodes} fresh episodes"
