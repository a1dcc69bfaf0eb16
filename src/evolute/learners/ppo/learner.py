"""PPO for whole populations, and learners on its parts: a Learner whose cohorts train in one compiled program."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import gymnasium
import numpy as np

from evolute.core.order import Hparams, Json, Lineup, LinkName, Order, PlayedGames, Ref
from evolute.core.protocols import Fetch, Outcome, Progress, TurnError
from evolute.core.rng import derive, stream
from evolute.core.tree import Tree
from evolute.learners.kit import acting, episode_stats, networks
from evolute.learners.kit.episodes import not_finite
from evolute.learners.kit.evaluation import Player
from evolute.learners.kit.native import support
from evolute.learners.kit.runner import turns
from evolute.learners.kit.teaching import TeacherInputs
from evolute.learners.ppo import channels, vtrace
from evolute.learners.ppo.algorithm import PPO_ALGORITHM, Algorithm
from evolute.learners.ppo.augment import AUGMENTATIONS
from evolute.learners.ppo.encounters import Encounter
from evolute.learners.ppo.far_runner import FarRunner
from evolute.learners.ppo.game_runner import GameRunner
from evolute.learners.ppo.guests import check_guest, guest_from
from evolute.learners.ppo.host_game_runner import HostGameRunner
from evolute.learners.ppo.loss import LOSSES, reported
from evolute.learners.ppo.pace import TOGETHER, PaceSpec
from evolute.learners.ppo.runner import Assignment, Runner, TurnResult
from evolute.learners.ppo.settings import (
    ARCHITECTURE,
    NUMBERS,
    SHAPES,
    CriticSettings,
    OnPolicySettings,
    PPOSettings,
    Traced,
    flat,
)
from evolute.learners.ppo.spec import PPOSpec, TeacherSpec, spec_of
from evolute.learners.ppo.teacher import policy_of, with_moments
from evolute.learners.ppo.train_state import MemberState, fresh, from_tree, to_tree
from evolute.learners.ppo.turn_stats import SUSPECTS
from evolute.policy import Policy

SHARED_SEED = 0
"""All members of all runs are evaluated on seeds that follow from this and their turn."""


@dataclass(frozen=True)
class PPO:
    """Trains members together whose settings have one shape. `choices` fills in what the config left open."""

    runner: Runner
    observation_space: gymnasium.Space[Any]
    action_space: gymnasium.Space[Any]
    settings: OnPolicySettings
    choices: Mapping[str, Json]
    algorithm: Algorithm = PPO_ALGORITHM
    masked: bool = False
    legal: bool = False
    """Whether the environment says which actions are legal."""
    channels: tuple[str, ...] = ()
    """The reward channels of the environment, of which not all need be in use; () if it has a single reward."""
    tables: int = 0
    """In a game, how many groups of games there are."""
    teams: tuple[int, ...] = ()
    zero_sum: bool | None = None
    bots: tuple[str, ...] = ()
    test_runner: Runner | None = None
    """Where members are tested after each turn, if they are; it has no say in the score."""
    seats: int = 1
    """How many of a member's environments are one game."""
    pace: PaceSpec = TOGETHER
    time_step: float | None = None
    """Seconds that a step of the environment takes, with `discount_per`; None if each step says it itself."""
    together: bool = True
    repeatable: bool = True
    notes: tuple[str, ...] = ()
    """What a user should know about the environment before training."""
    links: tuple[LinkName, ...] = ()
    architecture: tuple[str, ...] = ARCHITECTURE
    policy_suffix: str = Policy.suffix
    ways: tuple[bool, ...] = (True, False)

    def advice(self, interval: int, examples: Sequence[Hparams]) -> list[str]:
        """Warnings: of episodes on the host, which every turn starts afresh, that may not fit into a turn; of slower code."""
        specs = [self._spec(self._full(hparams)) for hparams in examples]
        for spec in specs:
            support.check(self.algorithm.name, native=spec.native)
            self._check_whole_episodes(spec)
            self._check_whole_games(spec)
        named = self.algorithm.name
        idle = [] if not examples else channels.idle(self.channels, specs[0].channels, self._full(examples[0]), named)
        idle += [] if not examples else vtrace.idle(specs[0].estimate, examples, named)
        slower = support.advice(self.settings.code, self.choices["code"], [spec.network for spec in specs])
        return [*self.notes, *slower, *self._advice_on_episodes(interval), *idle]

    def shape(self, hparams: Hparams) -> str:
        full = self._full(hparams)
        return str([*(full[name] for name in SHAPES), full["augmentation"] != "none"])

    def rollout_steps(self, hparams: Hparams) -> int:
        """A turn has a multiple of so many steps."""
        return self._spec(self._full(hparams)).batch

    def init(self, orders: Sequence[Order]) -> list[MemberState]:
        return [self._init(order) for order in orders]

    def train(
        self, states: Sequence[MemberState], orders: Sequence[Order], *, fetch: Fetch[MemberState], progress: Progress
    ) -> tuple[list[MemberState], list[Outcome]]:
        settings = [self._full(order.hparams) for order in orders]
        spec = self._spec(settings[0])
        support.check(self.algorithm.name, native=spec.native)
        teachers = [None if order.teacher is None else fetch(order.teacher) for order in orders]
        rows = list(zip(orders, settings, teachers, strict=True))
        assignments = [self._assignment(spec, order, values, teacher, fetch) for order, values, teacher in rows]
        specs = [spec if one is None else replace(spec, teacher=self._teacher_spec(spec, one)) for one in teachers]
        begun = [_begun(*row) for row in zip(states, orders, teachers, strict=True)]
        results = turns(self.runner, specs, begun, assignments, self.settings.episodes, progress)
        after = [
            MemberState(result.train, result.envs, self._about(spec, values))
            for result, values in zip(results, settings, strict=True)
        ]
        returns: list[dict[str, float | None]] = [{} for _ in orders]
        if self.settings.fitness == "evaluation":
            self._evaluate(self.runner, self.settings.episodes, "score", returns, spec, after, orders, progress)
        if self.test_runner is not None:
            episodes = self.settings.test_episodes
            self._evaluate(self.test_runner, episodes, "test_return", returns, spec, after, orders, progress)
        outcomes = [
            _outcome(one, result, extra, assignment.updates * spec.batch)
            for one, result, extra, assignment in zip(specs, results, returns, assignments, strict=True)
        ]
        return after, outcomes

    def _assignment(
        self, spec: PPOSpec, order: Order, values: Hparams, teacher: MemberState | None, fetch: Fetch[MemberState]
    ) -> Assignment:
        if teacher is not None:
            values = {**values, "lr": self._fixed["teacher_lr"], "epochs": self._fixed["teacher_epochs"]}
        return Assignment(
            traced(self._per_step(values), spec.channels),
            math.ceil(order.steps / spec.batch),
            order.seed,
            order.turn,
            order.opponents,
            {player: _player(fetch(player), spec.network.channels) for player in self._frozen(order)},
            () if teacher is None else TeacherInputs(teacher.player, np.array(order.teacher_weight, np.float32)),
        )

    def _per_step(self, values: Hparams) -> Hparams:
        """The settings with discounts for a step where they are for seconds, and a step always takes as many."""
        if self.settings.discount_per is None or self.time_step is None:
            return values
        power = self.time_step / self.settings.discount_per
        own = [name for name in values if name == "discount" or name.startswith(channels.DISCOUNT)]
        return {**values, **{name: values[name] ** power for name in own}}

    def _teacher_spec(self, spec: PPOSpec, teacher: MemberState) -> TeacherSpec:
        weights = self._fixed["teacher_policy"], self._fixed["teacher_value"]
        try:
            return TeacherSpec(policy_of(teacher, spec.policy, values=weights[1] > 0), *weights)
        except ValueError as error:
            raise TurnError(str(error)) from error

    def dump(self, state: MemberState) -> Tree:
        return to_tree(state)

    def load(self, tree: Tree) -> MemberState:
        return from_tree(tree)

    def policy(self, tree: Tree) -> Policy:
        """What the member has learnt, in numpy alone."""
        state = from_tree(tree)
        arrays = networks.unpacked(acting.described_network(state.about), state.train.adam.weights)
        arrays = {name: np.asarray(array) for name, array in arrays.items()}
        return acting.exported(arrays, state.about, state.train.obs, self.observation_space)

    def evaluate(
        self, tree: Tree, hparams: Hparams, *, seed: int, episodes: int | None, progress: Progress
    ) -> list[float] | None:
        """The returns of fresh episodes, with actions as the settings say; None in a game, where it takes others to play."""
        if self.teams:
            return None
        number, greedy = episodes or sum(self.rounds), self.settings.greedy
        return self.play(tree, hparams, seed=seed, episodes=number, greedy=greedy, progress=progress)

    def actor(self) -> Any:
        """What steps environments for this learner on another machine."""
        assert isinstance(self.runner, FarRunner)
        return self.runner.actors.make()

    @property
    def rounds(self) -> Sequence[int]:
        return self.runner.rounds

    def play(self, tree: Tree, hparams: Hparams, *, seed: int, episodes: int, greedy: bool, progress: Progress) -> list[float]:
        """The returns of fresh episodes, with the likeliest or with sampled actions."""
        state, spec = from_tree(tree), self._spec(self._full(hparams))
        results = self.runner.evaluate(spec, [state.player], episodes, greedy=greedy, seed=seed, progress=progress)
        return [float(value) for value in results[0].returns]

    def play_matches(
        self,
        tree: Tree,
        hparams: Hparams,
        lineups: Sequence[Lineup],
        others: Mapping[Ref, Tree],
        *,
        games: int,
        seed: int,
        progress: Progress,
        greedy: bool = False,
    ) -> Sequence[PlayedGames]:
        """Games of a state against each line-up."""
        if not isinstance(self.runner, (GameRunner, HostGameRunner)):
            raise ValueError("this environment has one seat, so there is nobody to play against")
        spec = self._spec(self._full(hparams))
        network = replace(spec.network, channels=0)
        spec = replace(spec, policy=replace(spec.policy, network=network), channels=())
        frozen: dict[Ref | str, Player] = {ref: _player(from_tree(other)) for ref, other in others.items()}
        return self.runner.play(spec, Encounter(_player(from_tree(tree)), lineups, frozen, seed, greedy), games, progress)

    def check_guest(self, tree: Tree) -> None:
        """Raise ValueError if a state of another run cannot play here."""
        check_guest(tree, acting.description(self._spec(self._full({})).policy))

    def guest_from(self, policy: bytes) -> Tree:
        """The state that plays as an exported policy does."""
        return guest_from(policy)

    def _frozen(self, order: Order) -> list[Ref | str]:
        """The states and guests that an order's member plays against."""
        players = dict.fromkeys(player for lineup in order.opponents for player in lineup)
        return [player for player in players if player is not None and player not in self.bots]

    @cached_property
    def _fixed(self) -> dict[str, Any]:
        """The settings by their names in orders, those of reward channels as `reward.NAME` and `discount.NAME`; where a learner
        lacks one of PPO's, what it has instead."""
        return {**flat(PPOSettings()), **self.algorithm.fixed, **flat(self.settings)}

    def _full(self, hparams: Hparams) -> dict[str, Any]:
        return {**self._fixed, **hparams}

    def _spec(self, hparams: Hparams) -> PPOSpec:
        section = self.algorithm.name
        used = channels.in_use(self.channels, hparams, self._fixed, section)
        spaces, masked = (self.observation_space, self.action_space), self.masked or self.algorithm.estimate == "returns"
        spec = spec_of(*spaces, hparams, masked=masked, legal=self.legal, channels=used, section=section)
        if self.tables and spec.envs % self.tables:
            raise ValueError(f"{section}.envs={spec.envs}: must be a multiple of the {self.tables} tables (opponents.tables)")
        return replace(
            spec,
            game=self.tables > 0,
            native=self.choices["code"] == "native" and support.applies(spec.network),
            estimate="vtrace" if self._corrected else self.algorithm.estimate,
            objective=self.algorithm.objective,
            lagged=self.pace.lagged,
            discount_per=self.settings.discount_per if self.time_step is None else None,
        )

    @property
    def _corrected(self) -> bool:
        """Whether V-trace corrects for rollouts of older policies."""
        if not isinstance(self.settings, CriticSettings):
            return False
        return self.settings.correct == "vtrace" or (self.settings.correct == "auto" and self.pace.pace == "free")

    def _init(self, order: Order) -> MemberState:
        full = self._full(order.hparams)
        spec = self._spec(full)
        return MemberState(fresh(spec, stream(order.seed, "weights")), None, self._about(spec, full))

    def _about(self, spec: PPOSpec, hparams: Hparams) -> dict[str, Any]:
        """What a policy is made of, besides its weights."""
        return {**acting.description(spec.policy), "normalize_obs": bool(hparams["normalize_obs"]) and not spec.image}

    def _check_whole_episodes(self, spec: PPOSpec) -> None:
        """Refuse rollouts in which episodes need not end, for a learner that knows nothing of those that do not."""
        limit, section = self.runner.time_limit, self.algorithm.name
        if spec.estimate == "returns" and limit is not None and spec.unroll < limit:
            raise ValueError(
                f"{section}.unroll={spec.unroll}: an episode may take {limit:,} steps, and this learner learns from none "
                f"but those that end within a rollout: set {section}.unroll={limit} or more, or use learner=a2c"
            )

    def _check_whole_games(self, spec: PPOSpec) -> None:
        if spec.envs % self.seats:
            raise ValueError(
                f"{self.algorithm.name}.envs={spec.envs}: the member plays {self.seats} seats of each {self.choices['env']}, "
                f"each of which is one of its environments: set a multiple of {self.seats}, or let it play fewer seats"
            )

    def _advice_on_episodes(self, interval: int) -> list[str]:
        limit, each = self.runner.time_limit, interval // self.settings.envs
        if self.settings.fitness == "evaluation" or limit is None or each >= limit:
            return []
        return [
            f"a turn has {each:,} steps of each environment, and an episode may take {limit:,}: scores will only tell of the "
            f"shorter ones; set interval to {limit * self.settings.envs:,} or more, or {self.algorithm.name}.fitness=evaluation"
        ]

    def _evaluate(
        self,
        runner: Runner,
        episodes: int,
        name: str,
        returns: Sequence[dict[str, float | None]],
        spec: PPOSpec,
        states: Sequence[MemberState],
        orders: Sequence[Order],
        progress: Progress,
    ) -> None:
        """Add the mean return of each member over episodes whose seeds depend on the turn alone, under this name."""

        def at_end(share: float, note: str) -> None:
            progress(1.0, note)

        for turn in sorted({order.turn for order in orders}):
            rows = [row for row, order in enumerate(orders) if order.turn == turn]
            seed = derive(SHARED_SEED, "evaluation", turn)
            players = [states[row].player for row in rows]
            results = runner.evaluate(spec, players, episodes, greedy=self.settings.greedy, seed=seed, progress=at_end)
            for row, result in zip(rows, results, strict=True):
                returns[row][name] = float(np.mean(result.returns))
                if name == "score":
                    returns[row]["score_error"] = episode_stats.error_of_mean(result.returns)


def traced(hparams: Hparams, used: Sequence[str] = ()) -> Traced:
    """The settings that are values inside the program, with these reward channels."""
    values = {**hparams, "augmentation": AUGMENTATIONS.index(hparams["augmentation"])}
    weights, discounts = channels.values(used, hparams)
    numbers = Traced(*(np.float32(values[name]) for name in NUMBERS))
    return numbers._replace(channel_weights=weights, channel_discounts=discounts)


def _begun(state: MemberState, order: Order, teacher: MemberState | None) -> MemberState:
    """The state in which a turn begins: a fresh student knows its teacher's moments."""
    if teacher is None or order.start is not None:
        return state
    return replace(state, train=with_moments(state.train, teacher.train))


def _player(state: MemberState, reward_channels: int = 0) -> Player:
    """A member as it plays, with values of so many reward channels: so members meet whose rewards have others."""
    network = acting.described_network(state.about)
    weights = networks.with_channels(network, state.train.adam.weights, reward_channels)[1]
    return state.player._replace(weights=weights)


def _trouble(suspect: int, env: int, step: int) -> str:
    """What of a turn was not a finite number, and what that may come from."""
    if suspect < 0:
        return "the value network gave a value that is not a finite number: the learning rate may be too high"
    text = not_finite(SUSPECTS[suspect], env, step)
    return f"{text}: the learning rate may be too high" if "network" in SUSPECTS[suspect] else text


def _outcome(spec: PPOSpec, result: TurnResult, returns: Mapping[str, float | None], steps: int) -> Outcome:
    """The metrics of a turn; the score is the mean return of its last training episodes, or that among `returns`."""
    stats = result.stats
    if result.error is not None:
        return Outcome(error=result.error)
    if not stats.finite:
        return Outcome(error=_trouble(*map(int, stats.trouble)))
    if not np.isfinite(result.train.adam.weights).all():
        return Outcome(error="the weights are no longer finite numbers: the learning rate may be too high for this environment")
    returned, mean_length = episode_stats.means(stats.episodes)
    mean_return = None if returned is None else returned[0]
    by_channel = {f"return.{name}": returned and returned[place] for place, name in enumerate(spec.channels)}
    by_channel |= {
        f"per_step.{name}": returned and mean_length and returned[place] / mean_length
        for place, name in enumerate(spec.channels)
    }
    means = dict(zip(LOSSES, stats.losses / max(stats.updates, 1), strict=True))
    losses = {name: float(means[name]) for name in reported(spec)}
    metrics: dict[str, Any] = {
        "score": mean_return,
        "score_error": episode_stats.standard_error(stats.episodes),
        "return": mean_return,
        "episode_length": mean_length,
        "episodes": int(stats.episodes.count),
        **by_channel,
        **losses,
        **result.metrics,
        **returns,
    }
    if spec.game:
        metrics["score"] = None  # members of a game are compared by ratings
        del metrics["score_error"]
        metrics["result"] = np.mean([match.score for match in result.matches]) if result.matches else None
    return Outcome(metrics, steps, result.matches, timing=result.timing, incidents=result.incidents)
