"""The commands that make something new of a run that was: `replay`, `schedule` and `fork`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from evolute.cli.pictures import write
from evolute.cli.train import trained
from evolute.config.error import ConfigError
from evolute.config.layers import Setting, override
from evolute.report import formats
from evolute.report.data.schedule import schedule_text
from evolute.report.display import Display
from evolute.report.formats import who
from evolute.runs.replay import Replayed
from evolute.runs.replay import replay as replayed
from evolute.runs.result import Agent, Run
from evolute.runs.session import Launch, launch
from evolute.runs.states import choices_of, remembered


def replay(
    folder: Path, member: int | None, *, exact: bool, seed: int | None, target: Path | None, overrides: Sequence[str]
) -> None:
    """The command `replay`."""
    agent = _agent(folder, member)
    made: list[Replayed] = []

    def train(shown: Display) -> Run:
        how = shown.watching(Launch(folder=target))
        made.append(replayed(agent, how, exact=exact, seed=seed, layers=list(map(override, overrides))))
        return made[0].run

    trained(train, as_json=False)
    found = made[0]
    print(f"the line that was replayed ended at score {formats.number(agent.score)} after {len(found.line):,} turns")
    if found.same is None:
        return
    if found.same < len(found.line):
        print(f"not the same: turn {found.same} of the line ended in another state than in {folder}", file=sys.stderr)
        sys.exit(1)
    print(f"bit-identical: all {len(found.line):,} states have the digests of {folder}")


def schedule(folder: Path, member: int | None, path: Path | None, kind: str | None) -> None:
    """The command `schedule`."""
    kind = kind or (path.suffix.removeprefix(".").replace("yml", "yaml") if path else "yaml")
    if kind not in ("yaml", "csv"):
        raise ConfigError(f"{path}: a schedule is a .yaml or .csv file")
    agent = _agent(folder, member)
    text = schedule_text(agent, Run.open(folder), kind)
    if path is None:
        print(text, end="")
        return
    write(path, text)
    print(f"wrote {path}: {len(agent.lineage):,} turns of {who(agent)}")


def fork(folder: Path, turn: int, *, target: Path | None, overrides: Sequence[str]) -> None:
    """The command `fork`."""
    chosen = {"init.from": str(folder), "init.turn": turn, "name": f"{folder.resolve().name}-fork"}
    layers = [{key: Setting(value, "fork") for key, value in chosen.items()}, *map(override, overrides)]
    config = remembered(folder, layers)
    how = Launch(folder=target, new=target is None, choices=choices_of(folder))
    trained(lambda shown: launch(config, shown.watching(how)), as_json=False)


def _agent(folder: Path, member: int | None) -> Agent:
    run = Run.open(folder)
    return run.best if member is None else run.member(member)
