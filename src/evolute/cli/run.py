"""The commands `run` and `resume`, with the display, summary and exit codes that all training commands share."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

import typer

from evolute.cli.dry_run import print_dry_run
from evolute.config.layers import Setting, file, override, preset, stack
from evolute.config.resolve import resolved
from evolute.core.interrupt import Interrupted
from evolute.core.protocols import Followed
from evolute.report.data.details import run_details
from evolute.report.display import Display, display_for
from evolute.report.summary import printed, summary
from evolute.runs.commands import typed
from evolute.runs.result import Run
from evolute.runs.session import Launch, choose, launch, proceed
from evolute.runs.states import remembered


def run(
    presets: Sequence[str],
    files: Sequence[str],
    overrides: Sequence[str],
    *,
    folder: Path | None,
    new: bool,
    edited: bool,
    dry_run: bool,
    as_json: bool,
    take_over: bool,
) -> None:
    """Train the population that presets, files and overrides describe, or print what would be trained."""
    layers = [preset(name) for name in presets]
    if presets:
        layers.insert(0, {"name": Setting(Path(presets[0]).stem, "preset")})
    config = resolved(stack([*layers, *(file(Path(path)) for path in files), *map(override, overrides)]))
    how = Launch(folder=folder, new=new, edited=edited, take_over=take_over, confirm=_agreed)
    if dry_run:
        print_dry_run(config, *choose(config, how), sys.stdout)
        return
    train_and_conclude(lambda display: launch(config, display.watching(how)), as_json=as_json)


def _agreed(question: str) -> bool:
    """Whether a person agrees, if there is one: nobody is asked in scripts and batch jobs."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return True
    return typer.confirm(question, default=True, err=True)


def resume(folder: Path, overrides: Sequence[str], *, as_json: bool, take_over: bool) -> None:
    """Continue an existing run."""
    config = remembered(folder, list(map(override, overrides)))
    how = Launch(take_over=take_over)
    train_and_conclude(lambda display: proceed(folder, config, display.watching(how)), as_json=as_json)


def train_and_conclude(train: Callable[[Display], Run], *, as_json: bool) -> None:
    """Train with a display that suits the terminal, and print the summary; after Ctrl-C print how to resume."""
    with _output(as_json) as out:
        try:
            with display_for(out, json=as_json) as display:
                trained = train(display)
        except Followed:
            return
        except Interrupted as stopped:
            resume = "" if stopped.folder is None else f"; to resume: {typed('resume', stopped.folder)}"
            print(f"{stopped}{resume}", file=sys.stderr)
            sys.exit(stopped.code)
        _conclude(trained, out, as_json=as_json)


def _conclude(run: Run, out: IO[str], *, as_json: bool) -> None:
    data = run_details(run)
    if as_json:
        print(json.dumps({"event": "end", **data}), file=out, flush=True)
    else:
        printed(summary(data))


@contextlib.contextmanager
def _output(as_json: bool) -> Iterator[IO[str]]:
    """Where to print. With JSON, what learners print goes to stderr, so that every line of stdout is an object."""
    if not as_json:
        yield sys.stdout
        return
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with os.fdopen(kept, "w", closefd=False) as out:
            yield out
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
