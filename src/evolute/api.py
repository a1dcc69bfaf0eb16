"""Evolute from Python: the same names as in a config, where a value that is given as a range is evolved."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from evolute.config import layers as config_layers
from evolute.config.layers import Layer, file, python, stack
from evolute.config.resolve import Config, resolved
from evolute.core.interrupt import Interrupted
from evolute.core.protocols import Followed
from evolute.report.display import Display, display_for
from evolute.runs.assemble import assembled
from evolute.runs.result import Run
from evolute.runs.session import Launch, launch, proceed
from evolute.runs.states import choices_of, remembered
from evolute.runs.tournament import GAMES, Tournament
from evolute.runs.tournament import tournament as play_tournament


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
    objectives: Sequence[str] | None = None,
    init: Mapping[str, Any] | None = None,
    evaluation: Mapping[str, Any] | None = None,
    limit: float | str | None = None,
    durable: int | Literal["auto"] | None = None,
    keep: str | None = None,
    log: str | Sequence[str] | None = None,
    runs: str | Path | None = None,
    name: str | None = None,
    folder: str | Path | None = None,
    new: bool = False,
    edited: bool = False,
    display: Literal["auto", "none"] = "auto",
    **sections: Mapping[str, Any],
) -> Run:
    """Train a population and return its run. An unfinished run with the same config is resumed.

    Arguments have the names and defaults of config keys; `None` leaves a key as the preset or the config files have it.

    Args:
        learner: A name such as `"ppo"` or `"sb3:SAC"`, or your own: a function
            `train(state, hparams, steps, seed) -> (state, metrics)`, which is called by position, or a class with
            `train`, `save` and `load`.
        preset: Name of a preset, or path of a YAML file. Files in `config` and arguments override it.
        config: One or several YAML files; later ones win, arguments override them.
        space: Settings of the learner; those given as ranges (`Float`, `Int`, `Choice`, `Ordinal`, or a text such as
            `"log[1e-4, 1e-2]"`) are evolved.
        strategy: Decides who inherits from whom and which hyper-parameters come next, such as `"pbt"` or `"pb2"`.
        engine: Where members train: `"inline"`, `"processes"`, `"mpi"`, `"ray"` or `"simulated"`.
        workers: Number of workers, for engines with several.
        env: The environment, for learners that need one.
        population: Number of members.
        interval: Steps per member and turn, also as `"500k"`.
        steps: Stop after this many steps of each member; short for `stop={"steps": …}`.
        stop: When to stop, at the first of `turns`, `steps`, `time` and `score`.
        mode: `"sync"`: all members finish a turn before the next one starts; `"async"`: no member waits for a slower one.
        seed: Random seed of the whole run.
        score: The metric to maximise; `"-loss"` minimises the metric `loss`.
        objectives: Instead of one score, several metrics at once, such as `["return", "-energy"]`; `run.front` has the best.
        init: What the first members start with: `hparams`, or states of another run by `from` and `turn`.
        evaluation: The evaluation that ends the run: how many of the best `members`, and for how much `time`.
        limit: Time limit of one member's turn, in seconds or as `"10m"`; a turn that takes longer fails.
        durable: Save states every this many turns; `"auto"`: as often as 1 % of the training time allows.
        keep: Checkpoints to keep, such as `"last 2, best"`.
        log: Logs for other tools, such as `"tensorboard,csv"`.
        runs: The folder for new run folders.
        name: First part of a new run folder's name.
        folder: The run's folder itself; by default the next free one in `runs`.
        new: Start a new run even if one with the same config is unfinished.
        edited: Continue an unfinished run although your code (learner, environment or strategy) has changed since; by
            default edited code starts a new run.
        display: `"auto"` shows progress in a way that suits the terminal, `"none"` shows nothing.
        **sections: Settings of plug-ins by their name, as in `pbt={"quantile": 0.2}`.

    Returns:
        The run: `run.best` is the best member, with `score`, `hparams`, `schedule` and `policy`; `run.front` are several such.

    Raises:
        ConfigError: A key or value cannot be used; the message names it and says what is allowed.
        KeyboardInterrupt: Ctrl-C; the message says what was saved and how to resume.

    Example:
        ```python
        import evolute

        def train(state, hparams, steps, seed):
            total = (state or 0.0) + steps * hparams["rate"]
            return total, {"score": total}

        run = evolute.run(train, space={"rate": evolute.Float(0, 1)}, population=4, stop={"turns": 10})
        print(run.best.score, run.best.hparams)
        ```
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
        "objectives": None if objectives is None else list(objectives),
        "init": init,
        "evaluation": evaluation,
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
    how = Launch(folder=None if folder is None else Path(folder), new=new, edited=edited)
    resolution = resolved(stack(layers))
    with _display(display) as progress:
        return _led(resolution, lambda: launch(resolution, progress.watching(how)))


def resume(folder: str | Path, *, learner: Any = None, display: Literal["auto", "none"] = "auto", **changes: Any) -> Run:
    """Resume a run and train it to its end. A run that has finished is only trained further if its limits are raised.

    Args:
        folder: The run's folder.
        learner: The learner, if it cannot be imported by name, such as a function in a notebook.
        display: `"auto"` shows progress in a way that suits the terminal, `"none"` shows nothing.
        **changes: Settings to change, such as `stop={"turns": 200}` or `engine="processes"`. docs/config.md says which may.

    Returns:
        The run, trained to its end.

    Raises:
        ConfigError: A setting cannot change in a run that has begun.
        StoreError: The folder is not a run, or another process is training it.

    Example:
        ```python
        import evolute

        run = evolute.run(preset="toy", folder="runs/longer", stop={"turns": 10})
        run = evolute.resume("runs/longer", stop={"turns": 20})
        ```
    """
    resolution = remembered(Path(folder), [python({"learner": learner, **changes})])
    with _display(display) as progress:
        return _led(resolution, lambda: proceed(Path(folder), resolution, progress.watching(Launch())))


def _led(config: Config, train: Callable[[], Run]) -> Run:
    """The trained run, also in a process that another one leads; if the leader failed, this one exits.

    Ctrl-C is a KeyboardInterrupt that says what was saved, without the long way down to where it struck.
    """
    try:
        return train()
    except Interrupted as stopped:
        raise KeyboardInterrupt(f"{stopped}{_advice(stopped, config)}") from None
    except Followed as done:
        if done.opening is None:
            raise SystemExit(0) from None
        folder = Path(done.opening["folder"])
        return Run.open(folder, assembled(config, choices_of(folder)).learner)


def _advice(stopped: Interrupted, config: Config) -> str:
    """How to resume a run that was stopped; a learner that is no name has to be given again."""
    name = config.learner.name if config.learner.name.isidentifier() else "…"
    again = "" if isinstance(config.learner.target, str) else f", learner={name}"
    return "" if stopped.folder is None else f"; to resume: evolute.resume({str(stopped.folder)!r}{again})"


def load(folder: str | Path) -> Run:
    """Open a run with its learner, so that the policies of its members can be used. Nothing is trained.

    Args:
        folder: The run's folder.

    Returns:
        The run. `Run.open` is quicker if only its figures are needed, and works without the learner's libraries.

    Raises:
        StoreError: The folder is not a run, or it cannot be read.
        ConfigError: The learner cannot be built, such as a function of a notebook that is no longer there.

    Example:
        ```python
        import evolute

        evolute.run(preset="toy", folder="runs/example")
        run = evolute.load("runs/example")
        print(run.best.member, run.best.schedule[0])
        ```
    """
    folder = Path(folder)
    return Run.open(folder, assembled(remembered(folder), choices_of(folder), to_train=False).learner)


def tournament(
    runs: Run | str | Path | Sequence[Run | str | Path],
    *,
    past: int = 0,
    bots: Sequence[str] | Literal["all"] = (),
    games: int = GAMES,
    seed: int = 0,
) -> Tournament:
    """Let everybody play everybody: the members of one run, or the best members of several.

    Args:
        runs: One run or several of the same game, as runs or as their folders.
        past: Also this many earlier states of the best of each run.
        bots: Also these bots of the game, such as `["random"]`; `"all"` for all that it has.
        games: Games of each pair, or a few more, so that all sit in each seat equally often.
        seed: Random seed.

    Returns:
        The tournament: `standings`, the best first, `wins` and `games` of each pair, and `cycle` if three players beat each
        other in a circle.

    Raises:
        ConfigError: The members of a run train alone, or the runs are of different games.

    Example:
        ```python
        import evolute

        run = evolute.run(preset="rps", stop={"turns": 2}, display="none")
        played = evolute.tournament(run, bots=["random"], games=20)
        print(played.standings[0].name, run.ratings[0].member)
        ```
    """
    several = [runs] if isinstance(runs, (Run, str, Path)) else runs
    folders = [one.folder if isinstance(one, Run) else Path(one) for one in several]
    return play_tournament(folders, past=past, bots=bots, games=games, seed=seed)


def _preset(name: str | None) -> list[Layer]:
    return [] if name is None else [config_layers.preset(name)]


def _display(display: str) -> Display:
    return display_for(sys.stdout, quiet=display == "none")
