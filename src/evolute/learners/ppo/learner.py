"""PPO for whole populations: a Learner whose cohorts train in one compiled program."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Protocol

import gymnasium
import numpy as np

from evolute.core.order import Hparams, Json, LinkName, Order, Ref
from evolute.core.protocols import Outcome, Progress
from evolute.core.rng import derive, stream
from evolute.core.tree import Tree
from evolute.learners.ppo import networks
from evolute.learners.ppo.augment import AUGMENTATIONS
from evolute.learners.ppo.evaluate import Played, Player
from evolute.learners.ppo.model import Model, fresh, model_of
from evolute.learners.ppo.settings import ARCHITECTURE, SHAPES, Settings, Traced
from evolute.learners.ppo.state import Assignment, State, Trained, from_tree, to_tree
from evolute.learners.ppo.update import LOSSES
from evolute.policy import Policy

COMMON = 0
"""All members of all runs are measured on the luck that follows from this and their turn."""


class World(Protocol):
    """Where members live: JAX environments inside the program, or environments on the host."""

    @property
    def enough(self) -> int:
        """How many episodes measure a member well in reasonable time."""

    @property
    def time_limit(self) -> int | None:
        """The longest an episode can be, if every turn begins its episodes afresh."""

    def turn(
        self, model: Model, states: Sequence[State], tasks: Sequence[Assignment], ring: int, progress: Progress
    ) -> list[Trained]: ...

    def play(
        self, model: Model, players: Sequence[Player], episodes: int, *, greedy: bool, seed: int, progress: Progress
    ) -> list[Played]: ...


@dataclass(frozen=True)
class PPO:
    """Trains members together whose settings have one shape. `choices` fills in what the config left open."""

    world: World
    observation_space: gymnasium.Space[Any]
    action_space: gymnasium.Space[Any]
    settings: Settings
    choices: Mapping[str, Json]
    masked: bool = False
    exam: World | None = None
    """Where members are tested after each turn, if they are; it has no say in the score."""
    together: bool = True
    repeatable: bool = True
    links: tuple[LinkName, ...] = ()
    architecture: tuple[str, ...] = ARCHITECTURE
    policy_suffix: str = Policy.suffix

    def advice(self, interval: int, examples: Sequence[Hparams]) -> list[str]:
        """A warning if episodes on the host, which every turn begins afresh, may not fit into a turn."""
        for hparams in examples:
            self._model(self._full(hparams))
        limit, each = self.world.time_limit, interval // self.settings.envs
        if self.settings.fitness == "evaluation" or limit is None or each >= limit:
            return []
        return [
            f"a turn has {each:,} steps of each environment, and an episode may take {limit:,}: scores will only tell of the "
            f"shorter ones; set interval to {limit * self.settings.envs:,} or more, or ppo.fitness=evaluation"
        ]

    def shape(self, hparams: Hparams) -> str:
        full = self._full(hparams)
        return str([*(full[name] for name in SHAPES), full["augmentation"] != "none"])

    def init(self, orders: Sequence[Order]) -> list[State]:
        return [self._init(order) for order in orders]

    def train(
        self, states: Sequence[State], orders: Sequence[Order], *, fetch: Callable[[Ref], State], progress: Progress
    ) -> tuple[list[State], list[Outcome]]:
        settings = [self._full(order.hparams) for order in orders]
        model = self._model(settings[0])
        tasks = [
            Assignment(_traced(values), math.ceil(order.steps / model.batch), order.seed)
            for order, values in zip(orders, settings, strict=True)
        ]
        trained = self.world.turn(model, states, tasks, self.settings.episodes, progress)
        after = [
            State(new.learnt, new.worlds, self._about(model, values)) for new, values in zip(trained, settings, strict=True)
        ]
        measured: list[dict[str, float]] = [{} for _ in orders]
        if self.settings.fitness == "evaluation":
            self._measure(self.world, self.settings.episodes, "score", measured, model, after, orders, progress)
        if self.exam is not None:
            self._measure(self.exam, self.settings.test_episodes, "test_return", measured, model, after, orders, progress)
        outcomes = [
            _outcome(model, new, found, task.updates * model.batch)
            for new, found, task in zip(trained, measured, tasks, strict=True)
        ]
        return after, outcomes

    def dump(self, state: State) -> Tree:
        return to_tree(state)

    def load(self, tree: Tree) -> State:
        return from_tree(tree)

    def policy(self, tree: Tree) -> Policy:
        """What the member has learnt, in numpy alone."""
        state = from_tree(tree)
        network = networks.Network(**_tuples(state.about["network"]))
        arrays = networks.unpacked(network, state.learnt.optimiser.weights)
        return Policy(arrays, state.about, state.learnt.obs.mean, state.learnt.obs.variance)

    def evaluate(self, tree: Tree, hparams: Hparams, *, seed: int, episodes: int | None, progress: Progress) -> list[float]:
        """The returns of fresh episodes."""
        state, number = from_tree(tree), episodes or self.world.enough
        model, player = self._model(self._full(hparams)), _player(state)
        played = self.world.play(model, [player], number, greedy=self.settings.greedy, seed=seed, progress=progress)
        return [float(value) for value in played[0].returns]

    def _full(self, hparams: Hparams) -> dict[str, Any]:
        return {**vars(self.settings), **hparams}

    def _model(self, hparams: Hparams) -> Model:
        return model_of(self.observation_space, self.action_space, hparams, masked=self.masked)

    def _init(self, order: Order) -> State:
        full = self._full(order.hparams)
        model = self._model(full)
        return State(fresh(model, stream(order.seed, "weights")), None, self._about(model, full))

    def _about(self, model: Model, hparams: Hparams) -> dict[str, Any]:
        """What a policy is made of, besides its weights."""
        return {**_made_of(model), "normalize_obs": bool(hparams["normalize_obs"]) and not model.image}

    def _measure(
        self,
        world: World,
        episodes: int,
        name: str,
        measured: Sequence[dict[str, float]],
        model: Model,
        states: Sequence[State],
        orders: Sequence[Order],
        progress: Progress,
    ) -> None:
        """Add the mean return of each member over episodes whose luck depends on the turn alone, under this name."""
        for turn in sorted({order.turn for order in orders}):
            rows = [row for row, order in enumerate(orders) if order.turn == turn]
            seed = derive(COMMON, "evaluation", turn)
            chosen = [_player(states[row]) for row in rows]
            played = world.play(model, chosen, episodes, greedy=self.settings.greedy, seed=seed, progress=progress)
            for row, one in zip(rows, played, strict=True):
                measured[row][name] = float(np.mean(one.returns))


@cache
def _made_of(model: Model) -> dict[str, Any]:
    return {
        "network": _lists(asdict(model.network)),
        "actions": {"kind": type(model.actions).__name__.lower(), **_lists(asdict(model.actions))},
        "strides": networks.strides(model.network),
    }


def _player(state: State) -> Player:
    return Player(state.learnt, np.float32(state.about["normalize_obs"]))


def _traced(hparams: Hparams) -> Traced:
    values = {**hparams, "augmentation": AUGMENTATIONS.index(hparams["augmentation"])}
    return Traced(*(np.float32(values[name]) for name in Traced._fields))


def _outcome(model: Model, new: Trained, measured: Mapping[str, float], steps: int) -> Outcome:
    """The metrics of a turn; the score is the mean return of its last training episodes, or what was `measured`."""
    tally = new.tally
    if new.error is not None:
        return Outcome(error=new.error)
    if not tally.sound:
        return Outcome(error="the environment gave a reward, or the value network a value, that is not a finite number")
    if not np.isfinite(new.learnt.optimiser.weights).all():
        return Outcome(error="the weights are no longer finite numbers: the learning rate may be too high for this environment")
    kept = min(int(tally.episodes), len(tally.returns))
    returned = float(np.mean(tally.returns[:kept])) if kept else None
    losses = {name: float(value) for name, value in zip(LOSSES, tally.losses / max(tally.updates, 1), strict=True)}
    if not model.augmented:
        del losses["consistency"]
    metrics = {
        "score": returned,
        "return": returned,
        "episode_length": float(np.mean(tally.lengths[:kept])) if kept else None,
        "episodes": int(tally.episodes),
        **losses,
        **measured,
    }
    return Outcome(metrics, steps)


def _lists(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
