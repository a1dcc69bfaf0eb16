"""A run as its user sees it afterwards: who won, with which hyper-parameters, and how they came about."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evolute.core.order import Hparams, Json
from evolute.core.population import Population, Turn, best, descent, front
from evolute.core.protocols import ActsEitherWay, Learner, PlaysEitherWay, Progress, silently
from evolute.core.request import Answer
from evolute.core.resume import replay
from evolute.core.solo import Solo
from evolute.core.tree import Tree
from evolute.runs import folders, shown
from evolute.runs.rated import RunRatings
from evolute.store.checkpoints import Checkpoints
from evolute.store.error import StoreError
from evolute.store.journal import Journal
from evolute.store.meta import RunMeta

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Agent:
    """One member's latest state, or another that the run kept, and how it came about."""

    folder: Path
    turn: Turn
    learner: Learner[Any] | None = field(default=None, repr=False)
    greedy: bool = field(default=True, repr=False)
    """Whether its policy takes the likeliest actions or samples them: what did better after the run; in games it samples."""

    @property
    def member(self) -> int:
        return self.turn.ref.member

    @property
    def score(self) -> float | None:
        return self.turn.score

    @property
    def objectives(self) -> tuple[float, ...]:
        """What it reached of each of the run's objectives, in a run that has several."""
        return self.turn.objectives

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
        return self.learner.thaw(self._tree) if isinstance(self.learner, Solo) else self._tree

    @cached_property
    def policy(self) -> Callable[..., Any]:
        """What the member has learnt, to be called with an observation, for learners that have a policy."""
        made = self._learner.policy(self._tree)
        acts: object = made
        if isinstance(acts, ActsEitherWay):
            acts.greedy = self.greedy
        return made

    def evaluate(
        self, *, seed: int, episodes: int | None = None, greedy: bool | None = None, progress: Progress = silently
    ) -> Sequence[float] | None:
        """The member's returns in fresh episodes, for learners that can play.

        `greedy` says whether it takes the likeliest actions or samples them; by default it acts as its policy does.
        """
        learner = self._learner
        if not isinstance(learner, PlaysEitherWay):
            if greedy is not None:
                from evolute.config.error import ConfigError  # `show` reads runs without any of the config's packages

                raise ConfigError("this learner evaluates its members in its own way: it cannot be told how they act")
            return learner.evaluate(self._tree, self.hparams, seed=seed, episodes=episodes, progress=progress)
        number, way = episodes or sum(learner.rounds), self.greedy if greedy is None else greedy
        return learner.play(self._tree, self.hparams, seed=seed, episodes=number, greedy=way, progress=progress)

    @property
    def _tree(self) -> Tree:
        return Checkpoints(self.folder / folders.CHECKPOINTS).read(self.turn.ref)

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
    answers: Sequence[Answer] = field(default=(), repr=False)
    """The requests of those who steered it, as far as decisions have taken them."""

    @classmethod
    def open(cls, folder: Path | str, learner: Learner[Any] | None = None) -> Run:
        """Read a run; this disturbs nobody, and works while it is written and after it crashed."""
        folder = Path(folder)
        with contextlib.closing(Journal.read(folder)) as journal, journal.snapshot():
            try:
                meta = journal.meta
                population = meta.rated(replay(meta.population, journal.decisions()))
                return cls(folder, meta, population, journal.notes(), journal.elapsed, learner, journal.answers())
            except (KeyError, IndexError, TypeError, ValueError) as error:
                raise StoreError(f"the journal of {folder} is inconsistent: {error!r}") from error

    @cached_property
    def best(self) -> Agent:
        """The member that the evaluation after the run chose, or until then the one whose latest score is highest.

        In a run with several objectives it is the one of the front whose sum of them is highest.
        """
        top = best(self.population, self.meta.chosen)
        if top is None:
            raise StoreError(f"no member of {self.folder} has a score yet")
        return self.agent(top)

    @cached_property
    def front(self) -> list[Agent]:
        """In a run with several objectives, all that are better in none of them without being worse in another.

        They are in the order of the first objective. Empty in a run with one score.
        """
        return [self.agent(turn) for turn in front(self.population)]

    def __repr__(self) -> str:
        return shown.text(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return shown.html(self)

    def member(self, slot: int) -> Agent:
        """One member by its slot."""
        if not 0 <= slot < len(self.population):
            raise StoreError(f"there is no member {slot}: {self.folder} has members 0 to {len(self.population) - 1}")
        turn = self.population[slot].latest
        if turn is None:
            raise StoreError(f"member {slot} of {self.folder} has not finished a turn yet")
        return self.agent(turn)

    def agent(self, turn: Turn) -> Agent:
        """The state that a turn left."""
        return Agent(self.folder, turn, self.learner, self.meta.greedy(turn.ref))

    @cached_property
    def ratings(self) -> RunRatings:
        """The members by rating, the best first, in a run whose members play each other."""
        return RunRatings.of(self.population, by_gain=self.meta.by_gain)

    def frame(self) -> pandas.DataFrame:
        """Every finished turn as a row of a pandas DataFrame, read from the journal as it is now."""
        from evolute.runs.frame import frame
        from evolute.runs.turns import TurnTable

        return frame(TurnTable.read(self.folder))

    @property
    def status(self) -> str:
        """finished, running, unfinished, or failed if all members did."""
        all_failed = all(member.failed for member in self.population.members)
        return folders.status(self.folder, self.meta, all_failed=all_failed)
