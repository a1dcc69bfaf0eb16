"""What goes in and out of a turn of PPO, and where its members act."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from evolute.core.order import Lineup, Match, Ref
from evolute.learners.kit import runner as kit_runner
from evolute.learners.kit.evaluation import Player
from evolute.learners.kit.jax_envs import EnvStates
from evolute.learners.kit.teaching import TeacherInputs
from evolute.learners.ppo.settings import Traced
from evolute.learners.ppo.spec import PPOSpec
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
    metrics: Mapping[str, float] = MappingProxyType({})
    """What else there is to tell: of the pace, and results of games."""
    timing: Mapping[str, float] = MappingProxyType({})
    incidents: tuple[str, ...] = ()


Runner = kit_runner.Runner[PPOSpec, MemberState, Assignment, TurnResult]
"""Runs members in JAX environments inside the program, or in environments on the host."""
