"""The evaluation that ends a run: the best few members play fresh episodes, with the likeliest actions and with sampled ones.

Scores are noisy, so the best of them is partly luck; and training samples its actions, while a policy that is used may do
better or worse without that. Everybody plays on the same seeds, which follow from the run's, so an evaluation that was
interrupted comes out the same when the run is resumed. It is bounded in time: what there is no time for is left out, and said.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from evolute.core.events import Notice, Notify, Progressed
from evolute.core.protocols import PlaysEitherWay
from evolute.core.ranking import is_number, rank_key
from evolute.core.rng import derive
from evolute.runs.result import Agent, Run
from evolute.store.evaluation import WAYS, Evaluation

LEAST = 120.0
"""Seconds that an evaluation may always take."""
SHARE = 0.05
"""The share of the training time that it may take if that is more."""


class TimeUpError(Exception):
    """There is no time for another step."""


@dataclass(frozen=True)
class Arm:
    """A member in one way of acting; `greedy` is None if its learner has only one."""

    agent: Agent
    greedy: bool | None


@dataclass
class FinalEvaluation:
    """Evaluates the best `members` of a run on seeds that follow from `seed`, for about `limit` seconds."""

    run: Run
    seed: int
    members: int
    limit: float
    notify: Notify
    clock: Callable[[], float] = time.monotonic
    _started: float = field(init=False)

    def evaluations(self) -> list[Evaluation]:
        """The evaluations of those that could be played in time, the best by score first."""
        self._started = self.clock()
        arms, learner = self._arms(), self.run.learner
        rounds: Sequence[int | None] = learner.rounds if isinstance(learner, PlaysEitherWay) else (None,)
        returns: list[list[float]] = []
        for number, episodes in enumerate(rounds):
            played = self._round(arms, derive(self.seed, "measure", number), episodes)
            if len(played) < len(arms) and returns:
                self._cut(f"{len(returns[0])} of {sum(filter(None, rounds))} episodes each")
                break
            returns = [before + found for before, found in zip(returns, played, strict=True)] if returns else played
            if len(played) < len(arms):
                self._cut(f"{len(played)} of {len(arms)} pairs of a member and a way of acting")
                break
        whole = [(arm, found) for arm, found in zip(arms, returns, strict=False) if found]
        return [Evaluation.of(arm.agent.turn.ref, found, greedy=arm.greedy) for arm, found in whole]

    def _arms(self) -> list[Arm]:
        """Who plays: the best few, in every way of acting, or in their learner's own."""
        learner = self.run.learner
        ways: Sequence[bool | None] = learner.ways if isinstance(learner, PlaysEitherWay) else (None,)
        return [Arm(agent, greedy) for agent in self._best(self.members) for greedy in ways]

    def _best(self, number: int) -> list[Agent]:
        found = self.run.front or [self.run.agent(turn) for turn in self.run.population.candidates]
        scored = [agent for agent in found if is_number(agent.score)]
        return sorted(scored, key=lambda agent: rank_key(agent.score))[:number]

    def _round(self, arms: Sequence[Arm], seed: int, episodes: int | None) -> list[list[float]]:
        """The returns of each, as far as there was time; nothing in it if the learner cannot play."""
        played: list[list[float]] = []
        for place, arm in enumerate(arms):
            try:
                progress = self._progress(arm, place, len(arms))
                returns = arm.agent.evaluate(seed=seed, episodes=episodes, greedy=arm.greedy, progress=progress)
            except TimeUpError:
                break
            if returns is None:  # it cannot play, and so nobody can
                return [[] for _ in arms]
            played.append([float(value) for value in returns])
        return played

    def _progress(self, arm: Arm, place: int, count: int) -> Callable[[float, str], None]:
        ref = arm.agent.turn.ref
        text = " ".join(f"evaluating member {ref.member} {WAYS[arm.greedy]} ({place + 1} of {count})".split())

        def progress(share: float, note: str) -> None:
            if self.clock() - self._started > self.limit:
                raise TimeUpError
            self.notify(Progressed([ref], share, f"{text}: {note}" if note else text))

        progress(0.0, "")
        return progress

    def _cut(self, done: str) -> None:
        text = f"the evaluation was stopped after {self.limit:.0f} s: {done} were played; evaluation.time allows more"
        self.notify(Notice(text, warning=True))
