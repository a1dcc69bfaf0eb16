"""Where members of off-policy learners act: the protocol of runners, and what goes in and out of a turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from evolute.core.protocols import Progress
from evolute.learners.kit.evaluation import EpisodeResults, Player
from evolute.learners.kit.jax_envs import EnvStates
from evolute.learners.offpolicy.buffer import Buffer, Rows
from evolute.learners.offpolicy.spec import ReplaySpec
from evolute.learners.offpolicy.train_state import MemberState, TrainState
from evolute.learners.offpolicy.turn import TurnStats


@dataclass(frozen=True)
class Assignment:
    """What a turn asks of one member: its settings, how many rollouts, a seed, and the rows to begin with."""

    hparams: Mapping[str, Any]
    rollouts: int
    seed: int
    buffer: Buffer


class TurnResult(NamedTuple):
    """What a turn made of one member, and its new rows; an error voids it."""

    train: TrainState
    envs: EnvStates | None
    rows: Rows
    stats: TurnStats
    error: str | None = None


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
        spec: ReplaySpec,
        states: Sequence[MemberState],
        assignments: Sequence[Assignment],
        ring: int,
        progress: Progress,
    ) -> list[TurnResult]:
        """One turn of each member under its assignment; the last `ring` episodes of each are kept for its metrics."""

    def evaluate(
        self, spec: ReplaySpec, players: Sequence[Player], episodes: int, *, greedy: bool, seed: int, progress: Progress
    ) -> list[EpisodeResults]:
        """Fresh episodes of each member, on a seed that all share."""
