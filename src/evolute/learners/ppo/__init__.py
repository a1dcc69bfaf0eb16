"""PPO for whole populations, in one compiled program."""

from __future__ import annotations

import os
from typing import Any

from evolute.core.protocols import Learner
from evolute.envs.spec import EnvSpec
from evolute.learners.ppo.settings import PPOSettings


def ppo(*, env: EnvSpec, settings: PPOSettings) -> Learner[Any]:
    """Proximal policy optimisation (Schulman et al. 2017), one compiled program for all members."""
    from evolute.envs.interface import HostEnv
    from evolute.envs.make import make_env, resolve_name, spec_for_testing
    from evolute.learners.kit.native import support
    from evolute.learners.kit.programs import Programs
    from evolute.learners.ppo.host_runner import HostRunner
    from evolute.learners.ppo.jax_runner import JaxRunner
    from evolute.learners.ppo.learner import PPO

    devices = settings.devices or max(2, os.cpu_count() or 2)
    programs = Programs(devices)  # before the environment, which may use JAX
    name = resolve_name(env.name)
    spec = env.with_name(name)
    train_env, unseen = make_env(spec), spec_for_testing(spec)
    if settings.test_episodes and unseen is None:
        raise ValueError(f"ppo.test_episodes={settings.test_episodes}: {name} has no levels to test on, as procgen:… has")
    on_host = isinstance(train_env, HostEnv)
    runner = HostRunner(programs, train_env) if isinstance(train_env, HostEnv) else JaxRunner(programs, train_env)
    test_env = make_env(unseen) if settings.test_episodes and unseen is not None else None
    test_runner = HostRunner(programs, test_env) if isinstance(test_env, HostEnv) else None
    code = settings.code if settings.code != "auto" else "xla" if support.missing() else "native"
    choices = {"env": name, "devices": devices, "code": code}
    spaces = (train_env.observation_space, train_env.action_space)
    return PPO(runner, *spaces, settings, choices, masked=on_host, test_runner=test_runner)
