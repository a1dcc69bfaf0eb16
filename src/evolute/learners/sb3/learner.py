"""A Learner around one algorithm of Stable-Baselines3. Each turn builds a new model and restores what was learnt."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from numbers import Real
from typing import Any, get_type_hints

import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import KVWriter, Logger

from evolute.core.order import Hparams, Json, LinkName, Order, Ref
from evolute.core.protocols import Learner, Outcome, Progress
from evolute.core.tree import Tree
from evolute.envs.gymnasium_env import gymnasium_maker, resolve_gymnasium_name
from evolute.envs.spec import EnvSpec
from evolute.learners.sb3.algorithm import ARCHITECTURE, Ours, options
from evolute.learners.sb3.model import build
from evolute.learners.sb3.policy import SB3Policy

SIGNS = 100
"""Signs of progress in a turn."""


@dataclass(frozen=True)
class SB3:
    """Trains members one at a time. A state is what `sb3.state` takes of a model, and the settings it was built with."""

    algorithm: type[BaseAlgorithm]
    env: EnvSpec
    settings: Mapping[str, Any]
    choices: Mapping[str, Json]
    together: bool = False
    repeatable: bool = True
    architecture: tuple[str, ...] = ARCHITECTURE
    policy_suffix: str = SB3Policy.suffix
    rounds: tuple[int, ...] = (4, 16)
    ways: tuple[bool, ...] = (True, False)

    @property
    def links(self) -> tuple[LinkName, ...]:
        return ("own",) if "keep" in (self.settings["inherit_optimiser"], self.settings["inherit_buffer"]) else ()

    def advice(self, interval: int, examples: Sequence[Hparams]) -> Sequence[str]:
        """Build one model, so that settings which it refuses are known before a run begins."""
        try:
            build(self.algorithm, self.env, self._full(examples[0]), seed=0).envs.close()
        except ValueError:
            raise
        except Exception as error:  # whatever Stable-Baselines3 makes of spaces and settings that it does not support
            text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            name, seen = self.algorithm.__name__, gymnasium_maker(self.env)().observation_space
            raise ValueError(f"{name} cannot be built for {self.env.name}, whose observations are {seen}: {text}") from error
        return ()

    def shape(self, hparams: Hparams) -> str:
        return ""

    def init(self, orders: Sequence[Order]) -> list[Tree]:
        return [None] * len(orders)

    def train(
        self, states: Sequence[Tree], orders: Sequence[Order], *, fetch: Callable[[Ref], Tree], progress: Progress
    ) -> tuple[list[Tree], list[Outcome]]:
        made = [self._turn(tree, order, fetch, progress) for tree, order in zip(states, orders, strict=True)]
        return [tree for tree, _ in made], [outcome for _, outcome in made]

    def dump(self, state: Tree) -> Tree:
        return state

    def load(self, tree: Tree) -> Tree:
        return tree

    def policy(self, tree: Tree) -> SB3Policy:
        """What the member has learnt; its `save` writes an ordinary zip of Stable-Baselines3."""
        hparams = {**self._full(tree["about"]), "envs": 1, "anneal": 0}
        return SB3Policy(build(self.algorithm, self.env, hparams, 0, {**tree, "buffer": None}))

    def evaluate(self, tree: Tree, hparams: Hparams, *, seed: int, episodes: int | None, progress: Progress) -> list[float]:
        """The returns of fresh episodes, with the likeliest actions."""
        return self.play(tree, hparams, seed=seed, episodes=episodes or sum(self.rounds), greedy=True, progress=progress)

    def play(self, tree: Tree, hparams: Hparams, *, seed: int, episodes: int, greedy: bool, progress: Progress) -> list[float]:
        """The returns of fresh episodes, with the likeliest or with sampled actions."""
        return self.policy(tree).play(episodes, seed=seed, greedy=greedy, progress=progress)

    def _full(self, hparams: Hparams) -> dict[str, Any]:
        return {**self.settings, **hparams}

    def _turn(self, tree: Tree, order: Order, fetch: Callable[[Ref], Tree], progress: Progress) -> tuple[Tree, Outcome]:
        hparams = self._full(order.hparams)
        start = None if tree is None else self._inherited(tree, order, fetch)
        built = build(self.algorithm, self.env, hparams, order.seed, start)
        model, writer = built.model, _LastValues()
        model.set_logger(Logger(None, [writer]))
        before = model.num_timesteps
        try:
            model.learn(order.steps, _Progressing(progress, order.steps), reset_num_timesteps=False)
        finally:
            built.envs.close()
        about = {name: value for name, value in hparams.items() if name in self.settings}
        return {**built.tree(), "about": about}, Outcome(_metrics(model, writer), model.num_timesteps - before)

    def _inherited(self, tree: Tree, order: Order, fetch: Callable[[Ref], Tree]) -> Tree:
        """The state to begin with: an heir has optimiser and buffer as the settings say.

        One whose parent has another architecture cannot keep its optimiser, which is then reset.
        """
        if order.start is None or order.start.member == order.member:
            return tree
        own = fetch(order.own) if "own" in self.links and order.own is not None else tree
        if _architecture(own) != _architecture(tree):
            own = {**own, "optimisers": {}}
        for part, none, policy in (("optimisers", {}, "inherit_optimiser"), ("buffer", None, "inherit_buffer")):
            tree = {**tree, part: {"copy": tree[part], "keep": own[part], "reset": none}[self.settings[policy]]}
        return tree


class _Progressing(BaseCallback):
    """Reports how much of a turn is done."""

    def __init__(self, progress: Progress, steps: int) -> None:
        super().__init__()
        self._progress, self._steps, self._every = progress, steps, max(1, steps // SIGNS)
        self._begin = 0

    def _on_training_start(self) -> None:
        self._begin = self.num_timesteps

    def _on_step(self) -> bool:
        if self.n_calls % self._every == 0:
            self._progress(min(1.0, (self.num_timesteps - self._begin) / self._steps), "")
        return True


class _LastValues(KVWriter):
    """Keeps the last value of everything that is logged."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        self.values.update(key_values)

    def close(self) -> None:
        pass


def _architecture(tree: Tree) -> list[Any]:
    """What weights are bound to, in whichever of lists and tuples it was kept."""
    values = [tree["about"].get(name) for name in ARCHITECTURE]
    return [list(value) if isinstance(value, tuple) else value for value in values]


def maker(algorithm: type[BaseAlgorithm]) -> Callable[..., Learner[Any]]:
    """What makes the learner of an algorithm; its signature lists the settings of both."""

    def make(*, env: EnvSpec, **settings: Any) -> SB3:
        if env.game is not None:
            raise ValueError("learner=sb3 plays no games against opponents; use learner=ppo, or leave out opponents")
        name = resolve_gymnasium_name(env.name)
        defaults = {setting: default for setting, (_, default) in options(algorithm).items()}
        full = {**defaults, **asdict(Ours()), **settings}
        return SB3(algorithm, env.with_name(name), full, {"env": name})

    listed = {field.name: (hint, field.default) for field in fields(Ours) if (hint := _hints()[field.name])}
    listed = {"env": (EnvSpec, inspect.Parameter.empty), **options(algorithm), **listed}
    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=hint, default=default)
        for name, (hint, default) in listed.items()
    ]
    make.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    make.__annotations__ = {name: hint for name, (hint, _) in listed.items()}
    make.__doc__ = f"{algorithm.__name__} of Stable-Baselines3, one member at a time."
    return make


def _hints() -> dict[str, Any]:
    return get_type_hints(Ours, include_extras=True)


def _metrics(model: BaseAlgorithm, writer: _LastValues) -> dict[str, Any]:
    """The mean return and length of the last training episodes, and what the algorithm logged last."""
    known = {**writer.values, **model.logger.name_to_value}
    losses = {key.removeprefix("train/"): value for key, value in known.items() if key.startswith("train/")}
    episodes = list(model.ep_info_buffer or [])
    returned = float(np.mean([episode["r"] for episode in episodes])) if episodes else None
    length = float(np.mean([episode["l"] for episode in episodes])) if episodes else None
    numbers = {key: float(value) for key, value in losses.items() if isinstance(value, Real)}
    error = float(np.std([one["r"] for one in episodes], ddof=1)) / len(episodes) ** 0.5 if len(episodes) > 1 else None
    about = {"return": returned, "episode_length": length, "episodes": len(episodes)}
    return {**numbers, "score": returned, "score_error": error, **about}
