"""A run as its user sees it afterwards: who won, with which hyper-parameters, and how they came about."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evolute.core.order import Hparams, Json
from evolute.core.population import Population, Turn, best, descent
from evolute.core.protocols import Learner, Progress, silently
from evolute.core.resume import replay
from evolute.core.solo import Solo
from evolute.runs import folders
from evolute.store.checkpoints import Checkpoints
from evolute.store.error import StoreError
from evolute.store.journal import Journal
from evolute.store.meta import RunMeta

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Agent:
    """One member's latest state and how it came about."""

    folder: Path
    turn: Turn
    learner: Learner[Any] | None = field(default=None, repr=False)

    @property
    def member(self) -> int:
        return self.turn.ref.member

    @property
    def score(self) -> float | None:
        return self.turn.score

    @property
    def hparams(self) -> Hparams:
        return self.turn.order.hparams

    @property
    def lineage(self) -> list[Turn]:
        """The line of descent, from fresh weights to this state."""
        return list(descent(self.turn))[::-1]

    @property
    def schedule(self) -> list[Hparams]:
        """The hyper-parameters of each turn along the line of descent."""
        return [turn.order.hparams for turn in self.lineage]

    @property
    def state(self) -> Any:
        """What was learnt: the state as the learner left it."""
        tree = Checkpoints(self.folder / folders.CHECKPOINTS).read(self.turn.ref)
        return self.learner.thaw(tree) if isinstance(self.learner, Solo) else tree

    @cached_property
    def policy(self) -> Callable[..., Any]:
        """What the member has learnt, to be called with an observation, for learners that have a policy."""
        return self._learner.policy(Checkpoints(self.folder / folders.CHECKPOINTS).read(self.turn.ref))

    def evaluate(self, *, seed: int, episodes: int | None = None, progress: Progress = silently) -> Sequence[float] | None:
        """The member's returns in fresh episodes, for learners that can play."""
        tree = Checkpoints(self.folder / folders.CHECKPOINTS).read(self.turn.ref)
        return self._learner.evaluate(tree, self.hparams, seed=seed, episodes=episodes, progress=progress)

    @property
    def _learner(self) -> Learner[Any]:
        if self.learner is None:
            raise StoreError(f"open the run with its learner to use a policy: evolute.load({str(self.folder)!r})")
        return self.learner


@dataclass(frozen=True)
class Run:
    """A run folder, read once. It may still be running; open it again to see more."""

    folder: Path
    meta: RunMeta = field(repr=False)
    population: Population = field(repr=False)
    notes: list[tuple[float, str, Json]] = field(repr=False)
    elapsed: float
    learner: Learner[Any] | None = field(default=None, repr=False)

    @classmethod
    def open(cls, folder: Path | str, learner: Learner[Any] | None = None) -> Run:
        """Read a run; this disturbs nobody, and works while it is written and after it crashed."""
        folder = Path(folder)
        with contextlib.closing(Journal.read(folder)) as journal, journal.snapshot():
            try:
                meta = journal.meta
                population = meta.rated(replay(meta.population, journal.decisions()))
                return cls(folder, meta, population, journal.notes(), journal.elapsed, learner)
            except (KeyError, IndexError, TypeError, ValueError) as error:
                raise StoreError(f"the journal of {folder} does not fit together: {error!r}") from error

    @cached_property
    def best(self) -> Agent:
        """The member whose latest score is highest."""
        top = best(self.population)
        if top is None:
            raise StoreError(f"no member of {self.folder} has a score yet")
        return Agent(self.folder, top, self.learner)

    def member(self, slot: int) -> Agent:
        """One member by its slot."""
        if not 0 <= slot < len(self.population):
            raise StoreError(f"there is no member {slot}: {self.folder} has members 0 to {len(self.population) - 1}")
        turn = self.population[slot].latest
        if turn is None:
            raise StoreError(f"member {slot} of {self.folder} has not finished a turn yet")
        return Agent(self.folder, turn, self.learner)

    def frame(self) -> pandas.DataFrame:
        """Every finished turn as a row of a pandas DataFrame, read from the journal as it is now."""
        from evolute.runs.frame import frame
        from evolute.runs.turns import TurnTable

        return frame(TurnTable.read(self.folder))

    @property
    def status(self) -> str:
        """finished, running or unfinished."""
        return folders.status(self.folder, self.meta)
