"""The command `schedule`."""

from __future__ import annotations

from pathlib import Path

from evolute.cli.agents import chosen
from evolute.cli.files import write
from evolute.config.error import ConfigError
from evolute.report.data.schedule import schedule_text
from evolute.report.formats import who
from evolute.runs.result import Run


def schedule(folder: Path, member: int | None, path: Path | None, kind: str | None) -> None:
    """Print or write the hyper-parameter schedule along an agent's lineage."""
    kind = kind or (path.suffix.removeprefix(".").replace("yml", "yaml") if path else "yaml")
    if kind not in ("yaml", "csv"):
        raise ConfigError(f"{path}: a schedule is a .yaml or .csv file")
    run = Run.open(folder)
    agent = chosen(run, member)
    text = schedule_text(agent, run, kind)
    if path is None:
        print(text, end="")
        return
    write(path, text)
    print(f"wrote {path}: {len(agent.lineage):,} turns of {who(agent)}")
