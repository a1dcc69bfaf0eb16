"""Makes the page on the command line from the commands themselves, each time MkDocs builds the site (`hooks` in mkdocs.yml)."""

from __future__ import annotations

from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from evolute.cli.main import app

HEAD = """# Command line

`evolute COMMAND --help` prints the same. `RUN` is a run's folder, or its name in `runs/`. Options that take several values
(`-c`, `-m`) take everything up to the next option. Exit codes: 0 done; 1 an unexpected error; 2 a mistake in the
command or config, in one sentence; 75 an MPI job that ended early, so run the same command again.
"""


def page() -> str:
    """Every command with its usage, arguments and options."""
    group: Any = typer.main.get_command(app)
    return HEAD + "".join(_section(name, command) for name, command in group.commands.items())


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page to those that MkDocs found."""
    files.append(File.generated(config, "cli.md", content=page()))
    return files


def _section(name: str, command: Any) -> str:
    context = command.make_context(name, [], resilient_parsing=True)
    usage = " ".join(["evolute", name, *command.collect_usage_pieces(context)])
    records = [param.get_help_record(context) for param in command.params]
    rows = [f"| `{_cell(names)}` | {_cell(text)} |\n" for names, text in filter(None, records)]
    table = f"\n| argument or option | meaning |\n|---|---|\n{''.join(rows)}" if rows else ""
    return f"\n## evolute {name}\n\n{command.help}\n\n```text\n{usage}\n```\n{table}"


def _cell(text: str) -> str:
    """Text that may stand in a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")
