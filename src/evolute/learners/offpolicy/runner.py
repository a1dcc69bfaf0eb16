"""What goes in and out of a turn of an off-policy learner, and where its members act."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from evolute.learners.kit import runner as kit_runner
from evolute.learners.kit.jax_envs import EnvStates
from evolute.learners.kit.teaching import TeacherInputs
from evolute.learners.offpolicy.buffer import Buffer, Rows
from evolute.learners.offpolicy.loading import Mixed
from evolute.learners.offpolicy.spec import ReplaySpec
from evolute.learners.offpolicy.train_state import MemberState, TrainState
from evolute.learners.offpolicy.turn import TurnStats


@dataclass(frozen=True)
class Assignment:
    """What a turn asks of one member: its settings, how many rollouts, a seed, the rows to begin with, and maybe a teacher."""

    hparams: Mapping[str, Any]
    rollouts: int
    seed: int
    buffer: Buffer | Mixed
    teacher: TeacherInputs | tuple[()] = ()


class TurnResult(NamedTuple):
    """What a turn made of one member, and its new rows; an error voids it."""

    train: TrainState
    envs: EnvStates | None
    rows: Rows
    stats: TurnStats
    error: str | None = None


Runner = kit_runner.Runner[ReplaySpec, MemberState, Assignment, TurnResult]
"""Runs members in JAX environments inside the program, or in environments on the host."""
