"""A model of Stable-Baselines3, built from a member's hyper-parameters, and the environments it lives in."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecFrameStack, VecNormalize

from evolute.core.order import Hparams
from evolute.core.tree import Tree
from evolute.envs.gymnasium_env import gymnasium_maker
from evolute.envs.spec import EnvSpec
from evolute.learners.sb3.algorithm import options
from evolute.learners.sb3.state import put, taken


@dataclass(frozen=True)
class Built:
    """A model and its environments; `normaliser` is one of them, if they are normalised."""

    model: BaseAlgorithm
    envs: VecEnv
    normaliser: VecNormalize | None

    def tree(self) -> dict[str, Tree]:
        return taken(self.model, self.normaliser)


def build(algorithm: type[BaseAlgorithm], spec: EnvSpec, hparams: Hparams, seed: int, tree: Tree = None) -> Built:
    """A model with fresh weights from a seed, or with what a tree holds; all randomness from here on follows from the seed."""
    torch.set_num_threads(hparams["threads"])
    envs, normaliser = environments(spec, hparams, int(hparams["envs"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice on settings, some of which are being explored
        model = algorithm(
            _policy(algorithm, envs.observation_space, hparams["policy"]),
            envs,
            policy_kwargs=_networks(hparams),
            seed=seed,
            stats_window_size=hparams["episodes"],
            **{name: hparams[name] for name in options(algorithm)},
            **_noise(envs.action_space, hparams["action_noise"]),
        )
    if tree is not None:
        put(model, normaliser, tree)
        model.set_random_seed(seed)
    if hparams["anneal"]:
        _anneal(model, hparams)
    return Built(model, envs, normaliser)


def environments(spec: EnvSpec, hparams: Hparams, number: int) -> tuple[VecEnv, VecNormalize | None]:
    """Copies of the env side by side, with stacked frames and normalised if that is asked for."""
    make = gymnasium_maker(spec)
    envs: VecEnv = DummyVecEnv([lambda: Monitor(make())] * number)
    if spec.frame_stack > 1:
        envs = VecFrameStack(envs, spec.frame_stack)
    if not hparams["normalize"]:
        return envs, None
    image = is_image_space(envs.observation_space)
    normaliser = VecNormalize(envs, norm_obs=not image, gamma=hparams.get("gamma", 0.99))
    return normaliser, normaliser


def _policy(algorithm: type[BaseAlgorithm], observed: gymnasium.Space[Any], asked: str) -> str:
    """The policy's name; those with memory have another for each kind of observation."""
    if asked != "auto":
        return asked
    images = is_image_space(observed)
    kind = "MultiInput" if isinstance(observed, gymnasium.spaces.Dict) else "Cnn" if images else "Mlp"
    return next(name for name in (f"{kind}Policy", f"{kind}LstmPolicy") if name in algorithm.policy_aliases)


def _networks(hparams: Hparams) -> dict[str, Any] | None:
    chosen: dict[str, Any] = {}
    if hparams["net_arch"] is not None:
        chosen["net_arch"] = list(hparams["net_arch"])
    if hparams["activation"] is not None:
        chosen["activation_fn"] = getattr(torch.nn, hparams["activation"])
    return chosen or None


def _noise(actions: gymnasium.Space[Any], deviation: float) -> Mapping[str, Any]:
    if not deviation:
        return {}
    shape = actions.shape or ()
    return {"action_noise": NormalActionNoise(np.zeros(shape), np.full(shape, deviation))}


def _anneal(model: BaseAlgorithm, hparams: Hparams) -> None:
    """Let schedules run over the steps of a line of descent; by themselves they would begin again in every turn."""

    def falling(value: float) -> Callable[[float], float]:
        return lambda _: value * max(0.0, 1 - model.num_timesteps / hparams["anneal"])

    schedules: dict[str, Callable[[float], float]] = {"lr_schedule": falling(hparams["learning_rate"])}
    if "clip_range" in hparams:
        schedules["clip_range"] = falling(hparams["clip_range"])
    if "exploration_schedule" in vars(model):
        usual = vars(model)["exploration_schedule"]
        schedules["exploration_schedule"] = lambda _: usual(max(0.0, 1 - model.num_timesteps / hparams["anneal"]))
    vars(model).update(schedules)
