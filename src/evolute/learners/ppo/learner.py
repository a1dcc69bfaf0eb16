"""PPO for whole populations: a Learner whose cohorts train in one compiled program."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gymnasium
import numpy as np

from evolute.core.order import Hparams, Json, Lineup, LinkName, Match, Order, Ref
from evolute.core.protocols import Fetch, Outcome, Progress
from evolute.core.rng import derive, stream
from evolute.core.tree import Tree
from evolute.learners.kit import acting, episode_stats, networks
from evolute.learners.kit.episodes import not_finite
from evolute.learners.kit.evaluation import Player
from evolute.learners.kit.native import support
from evolute.learners.ppo.augment import AUGMENTATIONS
from evolute.learners.ppo.encounters import Encounter
from evolute.learners.ppo.game_runner import GameRunner
from evolute.learners.ppo.guests import check_guest, guest_from
from evolute.learners.ppo.host_game_runner import HostGameRunner
from evolute.learners.ppo.loss import LOSSES
from evolute.learners.ppo.runner import Assignment, Runner, TurnResult
from evolute.learners.ppo.settings import ARCHITECTURE, SHAPES, PPOSettings, Traced
from evolute.learners.ppo.spec import PPOSpec, spec_of
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
    settings: PPOSettings
    choices: Mapping[str, Json]
    masked: bool = False
    legal: bool = False
    """Whether the environment says which actions are legal."""
    tables: int = 0
    """In a game, how many groups of games there are."""
    teams: tuple[int, ...] = ()
    zero_sum: bool | None = None
    bots: tuple[str, ...] = ()
    test_runner: Runner | None = None
    """Where members are tested after each turn, if they are; it has no say in the score."""
    together: bool = True
    repeatable: bool = True
    links: tuple[LinkName, ...] = ()
    architecture: tuple[str, ...] = ARCHITECTURE
    policy_suffix: str = Policy.suffix

    def advice(self, interval: int, examples: Sequence[Hparams]) -> list[str]:
        """Warnings: of episodes on the host, which every turn starts afresh, that may not fit into a turn; of slower code."""
        specs = [self._spec(self._full(hparams)) for hparams in examples]
        for spec in specs:
            _check_native(spec)
        return [*self._advice_on_code(specs), *self._advice_on_episodes(interval)]

    def shape(self, hparams: Hparams) -> str:
        full = self._full(hparams)
        return str([*(full[name] for name in SHAPES), full["augmentation"] != "none"])

    def init(self, orders: Sequence[Order]) -> list[MemberState]:
        return [self._init(order) for order in orders]

    def train(
        self, states: Sequence[MemberState], orders: Sequence[Order], *, fetch: Fetch[MemberState], progress: Progress
    ) -> tuple[list[MemberState], list[Outcome]]:
        settings = [self._full(order.hparams) for order in orders]
        spec = self._spec(settings[0])
        _check_native(spec)
        assignments = [
            Assignment(
                traced(values),
                math.ceil(order.steps / spec.batch),
                order.seed,
                order.turn,
                order.opponents,
                {player: fetch(player).player for player in self._frozen(order)},
            )
            for order, values in zip(orders, settings, strict=True)
        ]
        results = self.runner.turn(spec, states, assignments, self.settings.episodes, progress)
        after = [
            MemberState(result.train, result.envs, self._about(spec, values))
            for result, values in zip(results, settings, strict=True)
        ]
        returns: list[dict[str, float]] = [{} for _ in orders]
        if self.settings.fitness == "evaluation":
            self._evaluate(self.runner, self.settings.episodes, "score", returns, spec, after, orders, progress)
        if self.test_runner is not None:
            episodes = self.settings.test_episodes
            self._evaluate(self.test_runner, episodes, "test_return", returns, spec, after, orders, progress)
        outcomes = [
            _outcome(spec, result, extra, one.updates * spec.batch)
            for result, extra, one in zip(results, returns, assignments, strict=True)
        ]
        return after, outcomes

    def dump(self, state: MemberState) -> Tree:
        return to_tree(state)

    def load(self, tree: Tree) -> MemberState:
        return from_tree(tree)

    def policy(self, tree: Tree) -> Policy:
        """What the member has learnt, in numpy alone."""
        state = from_tree(tree)
        arrays = networks.unpacked(acting.described_network(state.about), state.train.adam.weights)
        return acting.exported(arrays, state.about, state.train.obs, self.observation_space)

    def evaluate(
        self, tree: Tree, hparams: Hparams, *, seed: int, episodes: int | None, progress: Progress
    ) -> list[float] | None:
        """The returns of fresh episodes, with actions as the settings say; None in a game, where it takes others to play."""
        if self.teams:
            return None
        number, greedy = episodes or sum(self.rounds), self.settings.greedy
        return self.play(tree, hparams, seed=seed, episodes=number, greedy=greedy, progress=progress)

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
    ) -> Sequence[Match]:
        """Games of a state against each line-up."""
        if not isinstance(self.runner, (GameRunner, HostGameRunner)):
            raise ValueError("this environment has one seat, so there is nobody to play against")
        spec = self._spec(self._full(hparams))
        frozen: dict[Ref | str, Player] = {ref: from_tree(other).player for ref, other in others.items()}
        encounter = Encounter(from_tree(tree).player, lineups, frozen, seed)
        return self.runner.play(spec, [encounter], games, progress, room=len(lineups))[0]

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

    def _full(self, hparams: Hparams) -> dict[str, Any]:
        return {**vars(self.settings), **hparams}

    def _spec(self, hparams: Hparams) -> PPOSpec:
        spec = spec_of(self.observation_space, self.action_space, hparams, masked=self.masked, legal=self.legal)
        if self.tables and spec.envs % self.tables:
            raise ValueError(f"ppo.envs={spec.envs}: must be a multiple of the {self.tables} tables (opponents.tables)")
        return replace(spec, game=self.tables > 0, native=self.choices["code"] == "native" and support.applies(spec.network))

    def _init(self, order: Order) -> MemberState:
        full = self._full(order.hparams)
        spec = self._spec(full)
        return MemberState(fresh(spec, stream(order.seed, "weights")), None, self._about(spec, full))

    def _about(self, spec: PPOSpec, hparams: Hparams) -> dict[str, Any]:
        """What a policy is made of, besides its weights."""
        return {**acting.description(spec.policy), "normalize_obs": bool(hparams["normalize_obs"]) and not spec.image}

    def _advice_on_code(self, specs: Sequence[PPOSpec]) -> list[str]:
        """A word on what is missing if XLA trains networks for which there is machine code; runs that chose XLA know it."""
        slower = self.settings.code == "auto" and self.choices["code"] == "xla"
        if not slower or not any(support.applies(spec.network) for spec in specs):
            return []
        return [f"training with XLA alone, which is slower than machine code: {support.missing()}"]

    def _advice_on_episodes(self, interval: int) -> list[str]:
        limit, each = self.runner.time_limit, interval // self.settings.envs
        if self.settings.fitness == "evaluation" or limit is None or each >= limit:
            return []
        return [
            f"a turn has {each:,} steps of each environment, and an episode may take {limit:,}: scores will only tell of the "
            f"shorter ones; set interval to {limit * self.settings.envs:,} or more, or ppo.fitness=evaluation"
        ]

    def _evaluate(
        self,
        runner: Runner,
        episodes: int,
        name: str,
        returns: Sequence[dict[str, float]],
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


def _check_native(spec: PPOSpec) -> None:
    """A run keeps to the code it began with, since other code gives other bits."""
    if spec.native and (reason := support.missing()):
        raise ValueError(f"these networks are to be trained by machine code (ppo.code=native), but {reason}")


def traced(hparams: Hparams) -> Traced:
    """The settings that are values inside the program."""
    values = {**hparams, "augmentation": AUGMENTATIONS.index(hparams["augmentation"])}
    return Traced(*(np.float32(values[name]) for name in Traced._fields))


def _trouble(suspect: int, env: int, step: int) -> str:
    """What of a turn was not a finite number, and what that may come from."""
    if suspect < 0:
        return "the value network gave a value that is not a finite number: the learning rate may be too high"
    text = not_finite(SUSPECTS[suspect], env, step)
    return f"{text}: the learning rate may be too high" if "network" in SUSPECTS[suspect] else text


def _outcome(spec: PPOSpec, result: TurnResult, returns: Mapping[str, float], steps: int) -> Outcome:
    """The metrics of a turn; the score is the mean return of its last training episodes, or that among `returns`."""
    stats = result.stats
    if result.error is not None:
        return Outcome(error=result.error)
    if not stats.finite:
        return Outcome(error=_trouble(*map(int, stats.trouble)))
    if not np.isfinite(result.train.adam.weights).all():
        return Outcome(error="the weights are no longer finite numbers: the learning rate may be too high for this environment")
    mean_return, mean_length = episode_stats.means(stats.episodes)
    losses = {name: float(value) for name, value in zip(LOSSES, stats.losses / max(stats.updates, 1), strict=True)}
    if not spec.augmented:
        del losses["consistency"]
    metrics: dict[str, Any] = {
        "score": mean_return,
        "return": mean_return,
        "episode_length": mean_length,
        "episodes": int(stats.episodes.count),
        **losses,
        **returns,
    }
    if spec.game:
        metrics["score"] = None  # members of a game are compared by ratings
        metrics["result"] = np.mean([match.score for match in result.matches]) if result.matches else None
    return Outcome(metrics, steps, result.matches)
