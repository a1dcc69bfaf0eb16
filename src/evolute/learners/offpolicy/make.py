"""Puts an off-policy learner together: its environment, and where its members act."""

from __future__ import annotations

import os
from typing import Any

from evolute.core.protocols import Learner
from evolute.envs.interface import HostEnv, JaxEnv, stacked_frames_of
from evolute.envs.make import make_env, resolve_name
from evolute.envs.spec import EnvSpec
from evolute.learners.kit.native import support
from evolute.learners.kit.programs import Programs
from evolute.learners.offpolicy.host_runner import HostRunner
from evolute.learners.offpolicy.jax_runner import JaxRunner
from evolute.learners.offpolicy.learner import OffPolicy
from evolute.learners.offpolicy.runner import Runner
from evolute.learners.offpolicy.settings import Name, ReplaySettings


def make(algorithm: Name, env: EnvSpec, settings: ReplaySettings) -> Learner[Any]:
    """The learner for an environment."""
    if env.game is not None:
        raise ValueError(f"learner={algorithm} plays no games against opponents; use learner=ppo, or leave out opponents")
    devices = settings.devices or max(2, os.cpu_count() or 2)
    programs = Programs(devices)  # before the environment, which may use JAX
    name = resolve_name(env.name)
    made = make_env(env.with_name(name))
    runner = _runner(algorithm, programs, made, ahead=settings.ahead > 0)
    choices = {"env": name, "devices": devices, "code": support.chosen(settings.code)}
    frames = stacked_frames_of(made)
    return OffPolicy(algorithm, runner, made.observation_space, made.action_space, settings, choices, frames)


def _runner(algorithm: Name, programs: Programs, env: JaxEnv | HostEnv, *, ahead: bool) -> Runner:
    if isinstance(env, HostEnv):
        return HostRunner(programs, env, ahead=ahead)
    if ahead:
        raise ValueError(f"{algorithm}.ahead=1 is for environments on the host, and this one is part of the program")
    return JaxRunner(programs, env)
