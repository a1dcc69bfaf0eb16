"""The commands that train: `run` and `resume`, with their display, summary and exit codes."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from evolute.cli.dry import dry
from evolute.config.layers import Setting, file, override, preset, stack
from evolute.config.resolve import Config, resolved
from evolute.core.interrupt import Interrupted
from evolute.core.protocols import Followed
from evolute.report.data.details import run_details
from evolute.report.display import Display, display_for
from evolute.report.summary import printed, summary
from evolute.runs.result import Run
from evolute.runs.session import Launch, choose, launch, proceed
from evolute.runs.states import remembered


def start(
    presets: Sequence[str],
    files: Sequence[str],
    overrides: Sequence[str],
    *,
    folder: Path | None,
    new: bool,
    dry_run: bool,
    as_json: bool,
    take_over: bool,
) -> None:
    """The command `run`."""
    layers = [preset(name) for name in presets]
    if presets:
        layers.insert(0, {"name": Setting(Path(presets[0]).stem, "preset")})
    config = resolved(stack([*layers, *(file(Path(path)) for path in files), *map(override, overrides)]))
    how = Launch(folder=folder, new=new, take_over=take_over)
    if dry_run:
        dry(config, choose(config, how), sys.stdout)
        return
    _train(config, how, folder=None, as_json=as_json)


def carry_on(folder: Path, overrides: Sequence[str], *, as_json: bool, take_over: bool) -> None:
    """The command `resume`."""
    config = remembered(folder, list(map(override, overrides)))
    _train(config, Launch(take_over=take_over), folder=folder, as_json=as_json)


def _train(config: Config, how: Launch, *, folder: Path | None, as_json: bool) -> None:
    def train(shown: Display) -> Run:
        watched = shown.watching(how)
        return launch(config, watched) if folder is None else proceed(folder, config, watched)

    trained(train, as_json=as_json)


def trained(train: Callable[[Display], Run], *, as_json: bool) -> None:
    """Train with a display that suits the place, and tell what came of it; Ctrl-C says how to go on."""
    with _output(as_json) as out:
        try:
            with display_for(out, json=as_json) as shown:
                run = train(shown)
        except Followed:
            return
        except Interrupted as stopped:
            print(f"stopped by {stopped}: {stopped.saved}", file=sys.stderr)
            sys.exit(stopped.code)
        _conclude(run, out, as_json=as_json)


def _conclude(run: Run, out: IO[str], *, as_json: bool) -> None:
    told = run_details(run)
    if as_json:
        print(json.dumps({"event": "end", **told}), file=out, flush=True)
    else:
        printed(summary(told))


@contextlib.contextmanager
def _output(as_json: bool) -> Iterator[IO[str]]:
    """Where to print; with JSON, what learners print goes to the error stream, so that every line is an object."""
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
