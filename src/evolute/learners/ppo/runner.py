"""Where PPO's members act: the protocol of its runners, and what goes in and out of a turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from evolute.core.order import Lineup, Match, Ref
from evolute.core.protocols import Progress
from evolute.learners.kit.evaluation import EpisodeResults, Player
from evolute.learners.kit.jax_envs import EnvStates
from evolute.learners.ppo.settings import Traced
from evolute.learners.ppo.spec import PPOSpec
from evolute.learners.ppo.teacher import TeacherInputs
from evolute.learners.ppo.train_state import MemberState, TrainState
from evolute.learners.ppo.turn_stats import TurnStats


@dataclass(frozen=True)
class Assignment:
    """What a turn asks of one member: its settings as values, how many updates, and a seed for all its randomness.

    In games there are line-ups, one for each table, and the `frozen` players in them; `turn` is the member's.
    """

    hparams: Traced
    updates: int
    seed: int
    turn: int = 0
    lineups: tuple[Lineup, ...] = ()
    frozen: Mapping[Ref | str, Player] = field(default_factory=dict)
    teacher: TeacherInputs | tuple[()] = ()
    """Whom it imitates, if anybody."""


class TurnResult(NamedTuple):
    """What a turn made of one member, and the games it has played since; an error voids it."""

    train: TrainState
    envs: EnvStates | None
    stats: TurnStats
    error: str | None = None
    matches: tuple[Match, ...] = ()


class Runner(Protocol):
    """Runs members in JAX environments inside the program, or in environments on the host."""

    @property
    def rounds(self) -> Sequence[int]:
        """Episodes that evaluate a member well in reasonable time, in rounds: if time is short, the first must do."""

    @property
    def time_limit(self) -> int | None:
        """The longest an episode can be, if every turn starts its episodes afresh."""

    def turn(
        self,
        spec: PPOSpec,
        states: Sequence[MemberState],
        assignments: Sequence[Assignment],
        ring: int,
        progress: Progress,
    ) -> list[TurnResult]:
        """One turn of each member under its assignment; the last `ring` episodes of each are kept for its metrics."""

    def evaluate(
        self, spec: PPOSpec, players: Sequence[Player], episodes: int, *, greedy: bool, seed: int, progress: Progress
    ) -> list[EpisodeResults]:
        """Fresh episodes of each member, on a seed that all share."""
