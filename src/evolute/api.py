"""Evolute from Python: the same names as in a config, and a value given as a range is evolved."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from evolute.config import layers as config_layers
from evolute.config.layers import Layer, file, python, stack
from evolute.config.resolve import Config, resolved
from evolute.core.protocols import Followed
from evolute.report.display import Display, display_for
from evolute.runs.assemble import assembled
from evolute.runs.result import Run
from evolute.runs.session import Launch, launch, proceed
from evolute.runs.states import choices_of, remembered


def run(
    learner: Any = None,
    *,
    preset: str | None = None,
    config: str | Path | Sequence[str | Path] = (),
    space: Mapping[str, Any] | None = None,
    strategy: Any = None,
    engine: str | None = None,
    workers: int | None = None,
    env: str | None = None,
    population: int | None = None,
    interval: int | str | None = None,
    steps: int | str | None = None,
    stop: Mapping[str, Any] | None = None,
    mode: Literal["sync", "async"] | None = None,
    seed: int | None = None,
    score: str | None = None,
    init: Mapping[str, Any] | None = None,
    limit: float | str | None = None,
    durable: int | Literal["auto"] | None = None,
    keep: str | None = None,
    log: str | Sequence[str] | None = None,
    runs: str | Path | None = None,
    name: str | None = None,
    folder: str | Path | None = None,
    new: bool = False,
    display: Literal["auto", "none"] = "auto",
    **sections: Mapping[str, Any],
) -> Run:
    """Train a population and return its run.

    The learner is a name, or your own: a function `train(state, hparams, steps, seed) -> state, metrics`, or a class
    with train, save and load. `sections` are the settings of plug-ins, as in `pbt={"quantile": 0.2}`. An unfinished run
    with the same settings is continued; `new` forbids that. `preset` and `config` files come first, arguments override.
    """
    arguments = {
        "learner": learner,
        "space": space,
        "strategy": strategy,
        "engine": engine,
        "workers": workers,
        "env": env,
        "population": population,
        "interval": interval,
        "steps": steps,
        "stop": stop,
        "mode": mode,
        "seed": seed,
        "score": score,
        "init": init,
        "limit": limit,
        "durable": durable,
        "keep": keep,
        "log": log,
        "runs": None if runs is None else str(runs),
        "name": name,
        **sections,
    }
    files = [config] if isinstance(config, (str, Path)) else config
    layers = [*_preset(preset), *(file(Path(path)) for path in files), python(arguments)]
    how = Launch(folder=None if folder is None else Path(folder), new=new)
    resolution = resolved(stack(layers))
    with _display(display) as shown:
        return _led(resolution, lambda: launch(resolution, shown.watching(how)))


def resume(folder: str | Path, *, learner: Any = None, display: Literal["auto", "none"] = "auto", **changes: Any) -> Run:
    """Continue a run to its end. `changes` override its config, such as `stop={"turns": 200}`.

    A learner that cannot be imported by name, such as a function in a notebook, has to be given again.
    """
    resolution = remembered(Path(folder), [python({"learner": learner, **changes})])
    with _display(display) as shown:
        return _led(resolution, lambda: proceed(Path(folder), resolution, shown.watching(Launch())))


def _led(config: Config, train: Callable[[], Run]) -> Run:
    """The run, also in a process that another one led; if that one failed, this one ends."""
    try:
        return train()
    except Followed as done:
        if done.opening is None:
            raise SystemExit(0) from None
        folder = Path(done.opening["folder"])
        return Run.open(folder, assembled(config, choices_of(folder)).learner)


def load(folder: str | Path) -> Run:
    """A run with its learner, so that the policies of its members can be used. It is not trained any further."""
    folder = Path(folder)
    return Run.open(folder, assembled(remembered(folder), choices_of(folder), to_train=False).learner)


def _preset(name: str | None) -> list[Layer]:
    return [] if name is None else [config_layers.preset(name)]


def _display(display: str) -> Display:
    return display_for(sys.stdout, quiet=display == "none")
