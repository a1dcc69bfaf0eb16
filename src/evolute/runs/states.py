"""What an existing run can give to others: its config, and any state it ever had, which is made again if it is gone."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

from evolute.config.error import ConfigError
from evolute.config.layers import Layer, Setting, stack
from evolute.config.resolve import Config, resolved
from evolute.core.events import Notify, silent
from evolute.core.order import Json, Ref
from evolute.core.population import Population
from evolute.core.protocols import LostError
from evolute.core.resume import UnrepeatableError, lost, remake, replay
from evolute.core.tree import Tree
from evolute.core.worker import Worker
from evolute.engines.inline import inline
from evolute.runs import folders
from evolute.runs.assemble import assembled
from evolute.store.checkpoints import Checkpoints
from evolute.store.error import StoreError
from evolute.store.journal import Journal


def remembered(folder: Path, layers: Sequence[Layer] = ()) -> Config:
    """The config of an existing run, with further layers on top."""
    with contextlib.closing(Journal.read(folder)) as journal:
        kept: Layer = {key: Setting(value, source) for key, (value, source) in journal.meta.config.items()}
    layer = stack([kept, *layers])
    learner = layer["learner"].value
    if isinstance(learner, str) and learner.startswith("__main__:"):
        raise ConfigError(
            f"the learner of {folder} is {learner.partition(':')[2]!r} of a script or notebook, which cannot be found by "
            "name: run that script again, which continues the run, or put the learner into a module"
        )
    return resolved(layer)


def choices_of(folder: Path, layers: Sequence[Layer] = ()) -> dict[str, Json]:
    """What the learner of an existing run once chose where the config left it open, but for what these layers say anew."""
    with contextlib.closing(Journal.read(folder)) as journal:
        choices = dict(journal.meta.choices)
    said = {key.rpartition(".")[2] for layer in layers for key in layer}
    gone = choices.keys() if "learner" in said else said | ({"rating"} if "env" in said else set())
    return {name: value for name, value in choices.items() if name not in gone}


def states(folder: Path, refs: Sequence[Ref], notify: Notify = silent) -> dict[Ref, Tree]:
    """These states of a run; what is not durable any more is made again by running its orders, here and for this use only."""
    durable = Checkpoints(folder / folders.CHECKPOINTS)
    with contextlib.closing(Journal.read(folder)) as journal, journal.snapshot():
        size, decisions = journal.meta.population, journal.decisions()
    population = replay(size, decisions)
    whole = {ref for ref in durable.refs() if _sound(durable, population, ref)}
    if set(refs) <= whole:
        return {ref: durable.read(ref) for ref in refs}
    config = remembered(folder)
    learner = assembled(config, choices_of(folder)).learner
    with tempfile.TemporaryDirectory(prefix="evolute-") as scratch:
        worker = Worker(learner, _Overlay(durable, Checkpoints(Path(scratch))), config.learner.settings, config.settings.goal)
        engine = inline(worker, config.settings.limit)
        with contextlib.closing(engine):
            try:
                remake(population, lost(population, decisions, set(refs), whole), set(refs), engine, lambda made: None, notify)
            except UnrepeatableError as error:
                raise StoreError(f"{error}; it is not kept either: `keep: every 1` keeps all states") from error
            engine.save(set(refs) - whole)
        return {ref: durable.read(ref) if ref in whole else Checkpoints(Path(scratch)).read(ref) for ref in refs}


class _Overlay:
    """Reads a run's states without ever writing to it."""

    def __init__(self, run: Checkpoints, scratch: Checkpoints) -> None:
        self._run, self._scratch = run, scratch

    def read(self, ref: Ref) -> Tree:
        try:
            return self._scratch.read(ref)
        except LostError:
            return self._run.read(ref)

    def guest(self, name: str) -> Tree:
        return self._run.guest(name)

    def write(self, ref: Ref, tree: Tree) -> int:
        return self._scratch.write(ref, tree)


def _sound(durable: Checkpoints, population: Population, ref: Ref) -> bool:
    try:
        turn = population.find(ref)
    except (KeyError, IndexError):
        return False
    return durable.verify(ref, turn.report.digest) is None
