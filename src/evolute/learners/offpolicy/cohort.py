"""What a cohort's program is given of its members, and the rows of their buffers that it has made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evolute.learners.kit.layout import Layout, layout
from evolute.learners.kit.stacking import key_data, stacked
from evolute.learners.offpolicy.buffer import LEADING, VOID, Rows
from evolute.learners.offpolicy.loading import loaded
from evolute.learners.offpolicy.runner import Assignment
from evolute.learners.offpolicy.spec import ReplaySpec
from evolute.learners.offpolicy.train_state import MemberState
from evolute.learners.offpolicy.turn import Inputs
from evolute.learners.offpolicy.window import newest


@dataclass(frozen=True)
class Cohort:
    """Members that train together, and what each is to do."""

    spec: ReplaySpec
    states: Sequence[MemberState]
    assignments: Sequence[Assignment]

    @property
    def size(self) -> int:
        return len(self.states)

    @property
    def layout(self) -> Layout:
        """Where the members are in the program's arrays. There are no more rows than needed, since buffers are large."""
        return layout(self.size, room=1)

    @property
    def total(self) -> int:
        """Rollouts of the longest turn."""
        return max(one.rollouts for one in self.assignments)

    def spread(self, each: Iterable[Any]) -> Any:
        """Something of each member, over the devices."""
        return self.layout.spread(stacked(list(each)))

    def keys(self) -> Any:
        """The data of each member's random key, on the host."""
        return stacked([key_data(one.seed) for one in self.assignments])

    def inputs(self, fresh: Sequence[bool]) -> Inputs:
        """What the program is given of each member besides its row; `fresh` says whose environments start afresh."""
        old = loaded([one.buffer for one in self.assignments], self.layout, self.spec.capacity)
        return Inputs(
            self.layout.spread(self.keys()),
            self.spread(np.array([one.hparams[name] for name in self.spec.traced], np.float32) for one in self.assignments),
            self.spread(np.int32(new) for new in fresh),
            self.spread(np.int32(one.rollouts) for one in self.assignments),
            self.spread(np.int32(state.train.steps) for state in self.states),
            old.rows,
            self.layout.spread(old.counts),
            self.spread(one.teacher for one in self.assignments) if self.spec.teacher is not None else (),
            places=old.places,
        )

    def blank(self) -> Rows:
        """Zeros [member, env, time, …] over the devices for the rows of a turn, which take no memory until they are written."""
        shape, tail = (self.spec.envs, self.spec.room(self.total)), self.assignments[0].buffer.tail
        return Rows(*(self.layout.filled_in((*shape, *like.shape[1:]), like.dtype, lambda row, array: None) for like in tail))

    def made(self, member: int, rows: Rows) -> Rows:
        """The rows [row, …] that a member has made, environment by environment, out of its [env, time, …]."""
        leading, made = self.spec.frames.leading, self.assignments[member].rollouts * self.spec.unroll + 1
        start = max(0, made - newest(self.spec.capacity, self.spec.envs))
        obs, facts = (np.array(array[:, start : leading + made]) for array in rows)
        facts[:, -1, :-1], facts[:, -1, -1] = 0, VOID  # others of the cohort may have gone on
        facts[:, :leading, -1] = LEADING + facts[:, :leading, -1] % LEADING
        return Rows(*(array.reshape((-1, *array.shape[2:])) for array in (obs, facts)))
