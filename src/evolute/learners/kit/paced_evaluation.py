"""Fresh episodes of members in environments on the host, of which each row moves at its own pace.

Weights are fixed, and a row's noise is that of its own time, so the episodes are those of `host_evaluation.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np

from evolute.core.protocols import Progress
from evolute.envs.interface import Pool
from evolute.learners.kit.acting import PolicySpec
from evolute.learners.kit.episodes import Array, Episodes, env_seeds
from evolute.learners.kit.evaluation import LIMIT, EpisodeResults, Player
from evolute.learners.kit.host_evaluation import episodes_of_each
from evolute.learners.kit.layout import layout
from evolute.learners.kit.paced_acting import PacedPolicy
from evolute.learners.kit.paced_rollout import Rows
from evolute.learners.kit.programs import Programs
from evolute.learners.kit.stacking import key_data, stacked


def evaluate(
    opened: Callable[[Sequence[Sequence[int]]], Pool],
    space: gymnasium.Space[Any],
    programs: Programs,
    spec: PolicySpec,
    players: Sequence[Player],
    episodes: int,
    *,
    unroll: int,
    greedy: bool,
    seed: int,
    progress: Progress,
    patience: float | None = None,
    seats: int = 1,
) -> list[EpisodeResults]:
    """Episodes of each member, on a seed that all share, in the pool that is `opened` for seeds [member, copy].

    With `patience`, rows may wait for one another, as `seats` of a game do: then all go on until the last has played enough.
    """
    each, keys = episodes_of_each(episodes, seats), np.tile(key_data(seed), (len(players), 1))
    policy = PacedPolicy(
        programs,
        spec,
        layout=layout(len(players)),
        envs=len(each),
        unroll=unroll,
        keys=keys,
        progress=progress,
        lagged=False,
        greedy=greedy,
    )
    policy.use(stacked(players))
    with contextlib.closing(opened(env_seeds([seed] * len(players), len(each)))) as pool:
        return _play(Rows(pool, policy, Episodes(len(players), len(each)), space, patience=patience), each, unroll)


def _play(rows: Rows, each: Sequence[int], unroll: int) -> list[EpisodeResults]:
    episodes, noise, number = rows.episodes, _Noise(rows.policy, unroll), rows.episodes.members
    left, times = np.tile(each, number), np.zeros(rows.number, int)
    while (playing := (left > 0) & (times < LIMIT * max(each))).any():
        due = np.flatnonzero(rows.waiting & (playing | (rows.patience is not None)))
        if len(due):
            noise.forget(times[playing].min())
            rows.act(due, noise.at(times, due))
        _, moved = rows.moved(together=False)
        reward, ends, _, valid = rows.step(moved, lambda row: int(times[row]) + 1)
        times[moved.rows] += 1
        left[moved.rows] -= ends > 0
        episodes.count_rows(moved.rows, reward, ends, valid)
        if episodes.errors:
            raise RuntimeError(next(iter(episodes.errors.values())))
        if ends.any():
            rows.policy.progress(episodes.share(each), "")
    return [episodes.first(member, each) for member in range(number)]


class _Noise:
    """The noise of rows that are each at a time of their own, drawn for `unroll` steps at once, as for rows together."""

    def __init__(self, policy: PacedPolicy, unroll: int) -> None:
        self._policy, self._unroll = policy, unroll
        self._drawn: dict[int, Array] = {}

    def forget(self, time: int) -> None:
        """Forget what was drawn for steps that lie more than a draw before this time."""
        self._drawn = {number: drawn for number, drawn in self._drawn.items() if number >= time // self._unroll}

    def at(self, times: Array, chosen: Array) -> Array:
        """The noise of the chosen rows at their times, [member, env, …]; the others' means nothing."""
        policy = self._policy
        now = np.zeros((policy.rows, policy.envs, policy.spec.actions.noises), np.float32)
        if policy.greedy:
            return now
        numbers, places = np.divmod(times, self._unroll)
        for number in np.unique(numbers[chosen]).tolist():
            if number not in self._drawn:
                self._drawn[number] = policy.draw(number)
            some = chosen[numbers[chosen] == number]
            member, env = np.divmod(some, policy.envs)
            now[member, env] = self._drawn[number][member, places[some], env]
        return now
