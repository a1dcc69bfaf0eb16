"""SAC, TD3 and DQN for whole populations: a Learner whose cohorts train in one compiled program, with replay buffers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gymnasium
import numpy as np

from evolute.core.order import Hparams, Json, LinkName, Order, Ref
from evolute.core.protocols import Footprint, Outcome, Progress, TurnError
from evolute.core.rng import derive, stream
from evolute.core.spare import Spare
from evolute.core.tree import Tree
from evolute.learners.kit import acting, episode_stats, networks, teaching
from evolute.learners.kit.acting import PolicySpec
from evolute.learners.kit.native import support
from evolute.learners.kit.runner import turns
from evolute.learners.kit.teaching import TeacherInputs
from evolute.learners.offpolicy import teacher
from evolute.learners.offpolicy.buffer import Buffer
from evolute.learners.offpolicy.footprint import Buffers
from evolute.learners.offpolicy.loading import Mixed
from evolute.learners.offpolicy.runner import Assignment, Runner, TurnResult
from evolute.learners.offpolicy.settings import SHAPES, Name, ReplaySettings, shape_names
from evolute.learners.offpolicy.spec import ReplaySpec, spec_of
from evolute.learners.offpolicy.train_state import MemberState, fresh, from_tree, to_tree
from evolute.learners.offpolicy.updates import METRICS, REPORTED
from evolute.policy import Policy

SHARED_SEED = 0
"""All members of all runs are evaluated on seeds that follow from this and their turn."""


@dataclass(frozen=True)
class OffPolicy:
    """Trains members together whose settings have one shape. `choices` fills in what the config left open.

    Observations are made of `stacked` frames, of which buffers keep the newest.
    """

    algorithm: Name
    runner: Runner
    observation_space: gymnasium.Space[Any]
    action_space: gymnasium.Space[Any]
    settings: ReplaySettings
    choices: Mapping[str, Json]
    stacked: int = 1
    together: bool = True
    repeatable: bool = True
    policy_suffix: str = Policy.suffix

    @property
    def links(self) -> tuple[LinkName, ...]:
        buffers: dict[str, tuple[LinkName, ...]] = {"keep": ("own",), "share": ("own", "others")}
        return (*buffers.get(self.settings.inherit_buffer, ()), "teacher")

    @property
    def architecture(self) -> tuple[str, ...]:
        return tuple(name for name in shape_names(type(self.settings)) if name not in SHAPES)

    @property
    def ways(self) -> tuple[bool, ...]:
        """The policies of TD3 and DQN have nothing to sample."""
        return (True, False) if self.algorithm == "sac" else (True,)

    def advice(self, interval: int, examples: Sequence[Hparams]) -> list[str]:
        """Warnings: of members that learn nothing; of episodes on the host, which every turn starts afresh, that may not fit
        into a turn; of slower code."""
        specs = [self._spec(self._full(hparams)) for hparams in examples]
        for spec in specs:
            support.check(self.algorithm, native=spec.native)
        slower = support.advice(self.settings.code, self.choices["code"], [spec.policy.network for spec in specs])
        if not any(self._full(hparams)["ratio"] for hparams in examples):
            slower = [f"{self.algorithm}.ratio=0 makes no updates: nobody learns anything", *slower]
        limit, each = self.runner.time_limit, interval // self.settings.envs
        if self.settings.fitness == "evaluation" or limit is None or each >= limit:
            return slower
        return [
            *slower,
            f"a turn has {each:,} steps of each environment, and an episode may take {limit:,}: scores will only tell of the "
            f"shorter ones; set interval to {limit * self.settings.envs:,} or more, or {self.algorithm}.fitness=evaluation",
        ]

    def footprint(self, members: int, *, steps: int | None, interval: int, spare: Spare) -> Footprint:
        """What replay buffers take; a step may make two rows."""
        capacity, spec = self.settings.capacity, self._spec(self._full({}))
        rows = capacity if steps is None else min(capacity, 2 * steps)
        row, room = self._empty(spec).row_bytes, spec.envs * spec.room(math.ceil(interval / spec.steps))
        return Buffers(members, rows, row, interval, room, f"{self.algorithm}.capacity").footprint(spare)

    def shape(self, hparams: Hparams) -> str:
        full = self._full(hparams)
        return str([full[name] for name in shape_names(type(self.settings))])

    def init(self, orders: Sequence[Order]) -> list[MemberState]:
        return [self._init(order) for order in orders]

    def train(
        self, states: Sequence[MemberState], orders: Sequence[Order], *, fetch: Callable[[Ref], MemberState], progress: Progress
    ) -> tuple[list[MemberState], list[Outcome]]:
        settings = [self._full(order.hparams) for order in orders]
        spec = self._spec(settings[0])
        support.check(self.algorithm, native=spec.native)
        teachers = [None if order.teacher is None else fetch(order.teacher) for order in orders]
        states = [self._begun(*one) for one in zip(states, orders, teachers, strict=True)]
        buffers = [self._buffer(spec, state, order, fetch) for state, order in zip(states, orders, strict=True)]
        assignments = [
            Assignment(
                values,
                math.ceil(order.steps / spec.steps),
                order.seed,
                self._learnt_from(buffer, order, fetch),
                () if by is None else TeacherInputs(by.player, self._teacher_weight(order)),
            )
            for buffer, order, values, by in zip(buffers, orders, settings, teachers, strict=True)
        ]
        specs = [spec if one is None else replace(spec, teacher=_teacher_policy(one, spec)) for one in teachers]
        results = turns(self.runner, specs, states, assignments, self.settings.episodes, progress)
        after = [
            MemberState(result.train, result.envs, buffer.extended(result.rows, self._room(order)), self._about(spec, values))
            for result, buffer, order, values in zip(results, buffers, orders, settings, strict=True)
        ]
        scores: list[tuple[float, float | None] | None] = [None] * len(orders)
        if self.settings.fitness == "evaluation":
            scores = self._evaluated(spec, after, orders, progress)
        outcomes = [
            self._outcome(one, result, state, score, assignment.rollouts * spec.steps)
            for one, result, state, score, assignment in zip(specs, results, after, scores, assignments, strict=True)
        ]
        return after, outcomes

    def dump(self, state: MemberState) -> Tree:
        return to_tree(state)

    def load(self, tree: Tree) -> MemberState:
        return from_tree(tree)

    def policy(self, tree: Tree) -> Policy:
        """What the member has learnt, in numpy alone."""
        state = from_tree(tree)
        about = {name: value for name, value in state.about.items() if name != "dueling"}  # values, whatever was trained
        arrays = networks.unpacked(state.network, state.policy_weights)
        return acting.exported(arrays, about, state.train.obs, self.observation_space)

    def evaluate(
        self, tree: Tree, hparams: Hparams, *, seed: int, episodes: int | None, progress: Progress
    ) -> list[float] | None:
        """The returns of fresh episodes, with the likeliest actions."""
        return self.play(tree, hparams, seed=seed, episodes=episodes or sum(self.rounds), greedy=True, progress=progress)

    @property
    def rounds(self) -> Sequence[int]:
        return self.runner.rounds

    def play(self, tree: Tree, hparams: Hparams, *, seed: int, episodes: int, greedy: bool, progress: Progress) -> list[float]:
        """The returns of fresh episodes, with the likeliest or with sampled actions, if its policies have any."""
        state, spec = from_tree(tree), self._spec(self._full(hparams))
        greedy = greedy or self.algorithm != "sac"
        results = self.runner.evaluate(spec, [state.player], episodes, greedy=greedy, seed=seed, progress=progress)
        return [float(value) for value in results[0].returns]

    def _full(self, hparams: Hparams) -> dict[str, Any]:
        return {**vars(self.settings), **hparams}

    def _spec(self, hparams: Hparams) -> ReplaySpec:
        spec = spec_of(self.algorithm, self.observation_space, self.action_space, hparams, stacked=self.stacked)
        return replace(spec, native=self.choices["code"] == "native" and support.applies(spec.policy.network))

    def _init(self, order: Order) -> MemberState:
        full = self._full(order.hparams)
        spec = self._spec(full)
        return MemberState(fresh(spec, stream(order.seed, "weights")), None, self._empty(spec), self._about(spec, full))

    def _empty(self, spec: ReplaySpec) -> Buffer:
        kind = np.dtype(self.observation_space.dtype) if spec.policy.image else np.dtype(np.float32)
        return Buffer.empty(spec.frames.shape, kind, spec.exploring.width, leading=spec.frames.leading)

    def _begun(self, state: MemberState, order: Order, by: MemberState | None) -> MemberState:
        if by is None or order.start is not None:
            return state
        return teacher.begun(state, by, rows=self.settings.inherit_buffer == "copy")

    def _teacher_weight(self, order: Order) -> Any:
        return self.settings.teacher_policy * np.array(order.teacher_weight, np.float32)

    def _buffer(self, spec: ReplaySpec, state: MemberState, order: Order, fetch: Callable[[Ref], MemberState]) -> Buffer:
        """The rows that a turn adds to: an heir's by `inherit_buffer`, its own otherwise."""
        heir = order.start is not None and order.start.member != order.member
        if not heir or self.settings.inherit_buffer == "copy":
            return state.buffer
        if self.settings.inherit_buffer in ("keep", "share") and order.own is not None:
            return fetch(order.own).buffer
        return self._empty(spec)

    def _learnt_from(self, buffer: Buffer, order: Order, fetch: Callable[[Ref], MemberState]) -> Buffer | Mixed:
        """The rows that a turn begins with: those of its own buffer, or as many of everybody's."""
        if self.settings.inherit_buffer != "share":
            return buffer
        room = self._room(order)
        return Mixed((*(fetch(ref).buffer.newest(room) for ref in order.others), buffer.newest(room)))

    def _room(self, order: Order) -> int:
        """How many rows a member keeps; in a shared buffer all have the same part."""
        shared = self.settings.inherit_buffer == "share"
        return self.settings.capacity // (1 + len(order.others)) if shared else self.settings.capacity

    def _about(self, spec: ReplaySpec, hparams: Hparams) -> dict[str, Any]:
        """What a policy is made of, besides its weights."""
        normalised = bool(hparams["normalize_obs"]) and not spec.policy.image
        return {**acting.description(spec.policy), "normalize_obs": normalised, "dueling": spec.dueling}

    def _evaluated(
        self, spec: ReplaySpec, states: Sequence[MemberState], orders: Sequence[Order], progress: Progress
    ) -> list[tuple[float, float | None] | None]:
        """The mean return of each member, and its standard error, over episodes whose seeds depend on the turn alone."""
        scores: list[tuple[float, float | None] | None] = [None] * len(orders)
        for turn in sorted({order.turn for order in orders}):
            rows = [row for row, order in enumerate(orders) if order.turn == turn]
            seed = derive(SHARED_SEED, "evaluation", turn)
            players = [states[row].player for row in rows]
            results = self.runner.evaluate(
                spec, players, self.settings.episodes, greedy=True, seed=seed, progress=lambda share, note: progress(1.0, note)
            )
            for row, result in zip(rows, results, strict=True):
                scores[row] = float(np.mean(result.returns)), episode_stats.error_of_mean(result.returns)
        return scores

    def _outcome(
        self,
        spec: ReplaySpec,
        result: TurnResult,
        state: MemberState,
        evaluated: tuple[float, float | None] | None,
        steps: int,
    ) -> Outcome:
        """The metrics of a turn; the score is the mean return of its last training episodes, or of an evaluation."""
        stats = result.stats
        if result.error is not None:
            return Outcome(error=result.error)
        learnt = [result.train.actor.weights, result.train.critic.weights, result.train.targets]
        if not stats.finite or not all(np.isfinite(vector).all() for vector in learnt):
            return Outcome(error="losses or weights are no longer finite numbers: the learning rate may be too high")
        returned, mean_length = episode_stats.means(stats.episodes)
        mean_return = None if returned is None else returned[0]
        score, error = (mean_return, episode_stats.standard_error(stats.episodes)) if evaluated is None else evaluated
        means = dict(zip(METRICS, stats.sums / max(int(stats.made), 1), strict=True))
        reported = (*REPORTED[self.algorithm], *([] if spec.teacher is None else METRICS[-1:]))
        learning = {name: float(means[name]) if stats.made else None for name in reported}
        metrics: dict[str, Any] = {
            "score": score,
            "score_error": error,
            "return": mean_return,
            "episode_length": mean_length,
            "episodes": int(stats.episodes.count),
            "updates": int(stats.made),
            "rows": len(state.buffer),
            **learning,
        }
        return Outcome(metrics, steps)


def _teacher_policy(teacher: MemberState, spec: ReplaySpec) -> PolicySpec:
    try:
        return teaching.policy_of(teacher.about, spec.policy)
    except ValueError as error:
        raise TurnError(str(error)) from error
