"""Where members of off-policy learners act: in JAX environments inside the program, or in environments on the host."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np

from evolute.core.protocols import Progress
from evolute.envs.interface import HostEnv, JaxEnv
from evolute.learners.kit import episode_stats, evaluation, host_evaluation, jax_envs, members, networks, normalise
from evolute.learners.kit.episodes import Episodes, env_seeds
from evolute.learners.kit.evaluation import EpisodeResults, Player
from evolute.learners.kit.host_acting import HostPolicy
from evolute.learners.kit.host_rollout import Collector
from evolute.learners.kit.jax_envs import Copies, EnvStates
from evolute.learners.kit.programs import Programs
from evolute.learners.kit.stacking import key_data, stacked, unstacked
from evolute.learners.offpolicy import turn
from evolute.learners.offpolicy.buffer import Array, Buffer, New, held
from evolute.learners.offpolicy.spec import ReplaySpec
from evolute.learners.offpolicy.train_state import MemberState, TrainState
from evolute.learners.offpolicy.turn import Chunk, Inputs, Row, TurnStats
from evolute.learners.offpolicy.updates import METRICS

SLICE = 0.5
"""Seconds of training between two signs of progress."""


@dataclass(frozen=True)
class Assignment:
    """What a turn asks of one member: its settings by name, how many rollouts, a seed, and the rows to begin with."""

    hparams: Mapping[str, Any]
    rollouts: int
    seed: int
    buffer: Buffer


class TurnResult(NamedTuple):
    """What a turn made of one member, and its new rows [row, …]; an error voids it."""

    train: TrainState
    envs: EnvStates | None
    obs: Array
    facts: Array
    stats: TurnStats
    error: str | None = None


class Runner(Protocol):
    """Runs members in one kind of environment."""

    @property
    def rounds(self) -> Sequence[int]: ...

    @property
    def time_limit(self) -> int | None: ...

    def turn(
        self,
        spec: ReplaySpec,
        states: Sequence[MemberState],
        assignments: Sequence[Assignment],
        *,
        ring: int,
        capacity: int,
        progress: Progress,
    ) -> list[TurnResult]:
        """One turn of each member; the last `ring` episodes are kept for its metrics, `capacity` rows to learn from."""

    def evaluate(
        self, spec: ReplaySpec, players: Sequence[Player], episodes: int, *, greedy: bool, seed: int, progress: Progress
    ) -> list[EpisodeResults]:
        """Fresh episodes of each member, on a seed that all share."""


class _Cohort:
    """The arguments of a cohort's program, and its rows as results."""

    def __init__(
        self,
        spec: ReplaySpec,
        states: Sequence[MemberState],
        assignments: Sequence[Assignment],
        ring: int,
        blank: EnvStates | tuple[()],
    ) -> None:
        self.spec, self.size, self.capacity = spec, len(states), members.capacity(len(states))
        self.names = tuple(assignments[0].hparams)
        self.total = max(one.rollouts for one in assignments)
        self.rollouts = [one.rollouts for one in assignments]
        room = 1 << (self.total * spec.unroll - 1).bit_length()
        like = assignments[0].buffer
        new = New(
            np.zeros((spec.envs, room + 1, *like.obs.shape[1:]), like.obs.dtype),
            np.zeros((spec.envs, room + 1, like.facts.shape[1]), np.float32),
        )
        stats = TurnStats(episode_stats.blank(ring), np.zeros(len(METRICS), np.float32), np.int32(0), np.float32(1))
        fit = [isinstance(blank, EnvStates) and jax_envs.fits(state.envs, blank) for state in states]
        envs = [state.envs if ok else blank for state, ok in zip(states, fit, strict=True)]
        rows = [Row(state.train, own, new, stats) for state, own in zip(states, envs, strict=True)]  # type: ignore[arg-type]
        self.rows = members.spread(stacked(rows, self.capacity))
        obs, facts, counts = held([one.buffer for one in assignments], self.capacity)

        def each(values: Sequence[Any]) -> Any:
            return stacked(list(values), self.capacity)

        self.keys = each([key_data(one.seed) for one in assignments])
        self.hparams = each([np.array([one.hparams[name] for name in self.names], np.float32) for one in assignments])
        inputs = Inputs(
            self.keys,
            self.hparams,
            each([np.int32(not ok) for ok in fit]),
            each([np.int32(one.rollouts) for one in assignments]),
            each([np.float32(state.train.steps) for state in states]),
            obs,
            facts,
            counts,
        )
        self.inputs: Inputs = members.spread(inputs)

    def results(self) -> list[tuple[Row, Array, Array]]:
        """Each member's row, and the rows of its buffer that it has made, environment by environment."""
        made = []
        for row, rollouts in zip(unstacked(self.rows, self.size), self.rollouts, strict=True):
            steps = rollouts * self.spec.unroll + 1
            obs, facts = row.new.obs[:, :steps], row.new.facts[:, :steps]
            made.append((row, obs.reshape((-1, *obs.shape[2:])), facts.reshape((-1, facts.shape[-1]))))
        return made


@dataclass(frozen=True)
class JaxRunner:
    """Trains and evaluates in an environment that is part of the program."""

    programs: Programs
    env: JaxEnv
    rounds: tuple[int, ...] = (100,)
    time_limit: None = None
    _pace: dict[tuple[ReplaySpec, int], float] = field(default_factory=dict)

    def turn(
        self,
        spec: ReplaySpec,
        states: Sequence[MemberState],
        assignments: Sequence[Assignment],
        *,
        ring: int,
        capacity: int,
        progress: Progress,
    ) -> list[TurnResult]:
        cohort = _Cohort(spec, states, assignments, ring, jax_envs.blank(Copies(self.env, spec.envs), 1))
        function = partial(turn.in_jax, spec, self.env, cohort.names, capacity)
        kind, done = (spec, cohort.size), 0
        while done < cohort.total:
            size = max(1, round(self._pace.get(kind, 0) * SLICE))
            chunk = Chunk(np.int32(done), np.int32(min(size, cohort.total - done)))
            started = time.perf_counter()
            name = ("replay turn", spec, capacity)
            cohort.rows = self.programs.call(name, function, cohort.size, cohort.rows, cohort.inputs, chunk, progress)
            jax.block_until_ready(cohort.rows)
            done += int(chunk.count)
            progress(done / cohort.total, "")
            self._pace[kind] = int(chunk.count) / (time.perf_counter() - started)
        return [TurnResult(row.train, row.envs or None, obs, facts, row.stats) for row, obs, facts in cohort.results()]

    def evaluate(
        self, spec: ReplaySpec, players: Sequence[Player], episodes: int, *, greedy: bool, seed: int, progress: Progress
    ) -> list[EpisodeResults]:
        evaluate = partial(evaluation.evaluate, self.env, self.programs, spec.policy, players, episodes)
        return evaluate(greedy=greedy, seed=seed, progress=progress)


@dataclass(frozen=True)
class HostRunner:
    """Trains and evaluates in environments that are stepped on the host, which start each turn afresh."""

    programs: Programs
    env: HostEnv
    rounds: tuple[int, ...] = (4, 16)

    @property
    def time_limit(self) -> int | None:
        return self.env.time_limit

    def turn(
        self,
        spec: ReplaySpec,
        states: Sequence[MemberState],
        assignments: Sequence[Assignment],
        *,
        ring: int,
        capacity: int,
        progress: Progress,
    ) -> list[TurnResult]:
        cohort = _Cohort(spec, states, assignments, ring, ())
        episodes = Episodes(cohort.size, spec.envs)
        shape: dict[str, Any] = {"rows": cohort.size, "envs": spec.envs, "unroll": spec.unroll}
        policy = HostPolicy(self.programs, spec.explorer, **shape, keys=cohort.keys, greedy=False, progress=progress)
        explore = partial(_explorers, spec, cohort.names)
        learn = partial(turn.on_host, spec, cohort.names, capacity)
        with contextlib.closing(self.env.vector(env_seeds([one.seed for one in assignments], spec.envs))) as vector:
            collector = Collector(vector, policy, episodes, spec.unroll)
            for number in range(cohort.total):
                episodes.over = np.array([rollouts <= number for rollouts in cohort.rollouts])
                blank = _blank_players(spec, cohort.capacity)
                players = self.programs.call(
                    ("explore", spec), explore, cohort.size, blank, (cohort.rows.train, cohort.inputs.hparams), (), progress
                )
                trajectory = collector.collect(players, number)._replace(memory=())
                inputs = cohort.inputs._replace(trajectory=members.spread(trajectory))
                name = ("replay update", spec, capacity)
                cohort.rows = self.programs.call(name, learn, cohort.size, cohort.rows, inputs, np.int32(number), progress)
                progress((number + 1) / cohort.total, "")
        return [
            TurnResult(
                row.train,
                None,
                obs,
                facts,
                row.stats._replace(episodes=episodes.stats(member, ring)),
                episodes.errors.get(member),
            )
            for member, (row, obs, facts) in enumerate(cohort.results())
        ]

    def evaluate(
        self, spec: ReplaySpec, players: Sequence[Player], episodes: int, *, greedy: bool, seed: int, progress: Progress
    ) -> list[EpisodeResults]:
        evaluate = partial(host_evaluation.evaluate, self.env, self.programs, spec.policy, players, episodes)
        return evaluate(unroll=max(spec.unroll, 32), greedy=greedy, seed=seed, progress=progress)


def _explorers(spec: ReplaySpec, names: tuple[str, ...], before: Player, given: tuple[TrainState, Any], shared: Any) -> Player:
    """A member as it collects."""
    train, hparams = given
    h = {name: hparams[place] for place, name in enumerate(names)}
    return Player(turn.explorer_weights(spec, train, h), train.obs, h["normalize_obs"])


def _blank_players(spec: ReplaySpec, capacity: int) -> Player:
    moments = normalise.fresh(() if spec.policy.image else spec.actor.obs)
    blank = Player(np.zeros(networks.size(spec.explorer.network), np.float32), moments, np.float32(0))
    return members.spread(stacked([blank], capacity))  # type: ignore[no-any-return]
