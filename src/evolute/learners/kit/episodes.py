"""Episodes of environments on the host: what is running, what has ended, and whose environment broke."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evolute.core.rng import derive
from evolute.envs.interface import Vector
from evolute.learners.kit.episode_stats import EpisodeStats
from evolute.learners.kit.evaluation import EpisodeResults

Array = np.ndarray[Any, Any]


@dataclass
class Episodes:
    """The running and the ended episodes of all members, and who can no longer be trained, on the host.

    With reward channels, an episode has a return of each.
    """

    members: int
    envs: int
    channels: int = 0
    ended: list[list[tuple[int, Any, float]]] = field(init=False)
    """Of each member: which env, its return(s) and its length."""
    errors: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.returns = np.zeros((self.members, self.envs, self.channels) if self.channels else (self.members, self.envs))
        self.lengths = np.zeros((self.members, self.envs))
        self.ended = [[] for _ in range(self.members)]
        self.steps = 0
        self.over = np.zeros(self.members, bool)
        """Whose turn is over: their environments go on beside those of others, and nothing of it counts."""

    def step(self, vector: Vector, actions: Any, valid: Array) -> tuple[Array, Array, Array, Array]:
        """Step all envs and count: observations [member * env, …]; rewards, ends and terminations [member, env].

        Where a step is not `valid`, the env was reset instead.
        """
        self.steps += 1
        obs, reward, terminated, truncated = vector.step(actions)
        reward = np.array(reward, np.float32).reshape(valid.shape)
        obs = self._checked(vector, obs, reward)
        reward *= valid
        over = terminated.reshape(valid.shape) * valid
        ends = np.maximum(over, truncated.reshape(valid.shape) * valid)
        self._count(reward, ends > 0, valid)
        return obs, reward, ends, over

    def count_rollout(self, reward: Array, ends: Array, valid: Array) -> None:
        """Count the steps of a whole rollout [time, member, env, …], in their order."""
        for now in zip(reward, ends > 0, valid, strict=True):
            self.steps += 1
            self._count(*now)

    def count_rows(self, rows: Array, reward: Array, ends: Array, valid: Array) -> None:
        """Count a step of some rows [row = member * envs + env, …]."""
        for place, row in enumerate(rows.tolist()):
            member, env = divmod(row, self.envs)
            self.returns[member, env] += reward[place]
            self.lengths[member, env] += valid[place]
            if ends[place]:
                if not self.over[member]:
                    self.ended[member].append((env, np.copy(self.returns[member, env]), self.lengths[member, env]))
                self.returns[member, env] = self.lengths[member, env] = 0

    def broke(self, row: int, error: Exception | None, what: str, step: int) -> None:
        """Note that the env of this row raised an error, or gave what is not a number in this step."""
        member, env = divmod(row, self.envs)
        whole = not_finite(f"environment gave {what}", env, step)
        self.fail(member, whole if error is None else "".join(traceback.format_exception(error)))

    @property
    def failed(self) -> Array:
        """Which members can no longer be trained."""
        return np.array([member in self.errors for member in range(self.members)])

    def _count(self, reward: Array, ends: Array, valid: Array) -> None:
        self.returns += reward
        self.lengths += valid
        if ends.any():
            for member, env in np.argwhere(ends & ~self.over[:, None]):
                self.ended[member].append((int(env), np.copy(self.returns[member, env]), self.lengths[member, env]))
            self.returns[ends] = 0
            self.lengths[ends] = 0

    def _checked(self, vector: Vector, obs: Array, reward: Array) -> Array:
        """Find members whose env raised or gave what is not a number: their turn has failed, and what they see is zeroed."""
        whole = obs.dtype.kind != "f"
        if np.isfinite(reward).all() and (whole or np.isfinite(obs).all()):
            return obs
        for row, error in vector.failures.items():
            self.fail(row // self.envs, "".join(traceback.format_exception(error)))
        obs = np.array(obs)
        grid = obs.reshape((*reward.shape, *obs.shape[1:]))
        for member in range(self.members):
            for what, seen in (("a reward", reward[member]), ("an observation", grid[member])):
                bad = ~np.isfinite(seen.reshape(self.envs, -1)).all(axis=1) if seen.dtype.kind == "f" else np.zeros(1, bool)
                if bad.any():
                    self.fail(member, not_finite(f"environment gave {what}", int(np.argmax(bad)), self.steps))
            if not (np.isfinite(reward[member]).all() and (whole or np.isfinite(grid[member]).all())):
                reward[member], grid[member] = 0, 0
        return obs

    def fail(self, member: int, error: str) -> None:
        """Note that a member can no longer be trained, and why; of those whose turn is over this no longer matters."""
        if not self.over[member]:
            self.errors.setdefault(member, error)

    def stats(self, member: int, ring: int) -> EpisodeStats:
        """A member's last episodes, at most as many as the ring has places."""
        last = self.ended[member][-ring:]
        returns = np.array([one[1] for one in last], np.float32).reshape((len(last), *self.returns.shape[2:]))
        return EpisodeStats(returns, np.array([one[2] for one in last], np.float32), np.int32(len(self.ended[member])))

    def first(self, member: int, each: Sequence[int]) -> EpisodeResults:
        """The first episodes of each env, as many as `each` says; one that never ended counts as it is."""
        rows: list[tuple[float, float]] = []
        for env, number in enumerate(each):
            ended = [(returned, length) for place, returned, length in self.ended[member] if place == env]
            running = (self.returns[member, env], self.lengths[member, env])
            rows += [*ended, *[running] * number][:number]
        return EpisodeResults(*np.array(rows, np.float32).T)

    def enough(self, each: Sequence[int]) -> bool:
        """Whether every env of every member has ended as many episodes as `each` says."""
        return bool((self._counts() >= each).all())

    def share(self, each: Sequence[int]) -> float:
        """How much is done of as many episodes of every env of every member as `each` says."""
        return float(np.minimum(self._counts(), each).sum() / (self.members * sum(each)))

    def _counts(self) -> Array:
        """How many episodes have ended: [member, env]."""
        return np.array([np.bincount([one[0] for one in ended], minlength=self.envs) for ended in self.ended])


def not_finite(what: str, env: int, step: int) -> str:
    """The error for a number that is none; environments and steps are counted within the turn, steps from 1 on."""
    return f"the {what} that is not a finite number: environment {env} of the member, in its step {step:,} of this turn"


def env_seeds(seeds: Sequence[int], envs: int) -> list[list[int]]:
    """A seed for each env of each member, from the member's."""
    return [[derive(seed, "env", env) for env in range(envs)] for seed in seeds]
