"""Evolution strategies on policy weights, for whole populations, in one compiled program."""

from __future__ import annotations

import os
from typing import Any

from evolute.core.protocols import Learner
from evolute.envs.spec import EnvSpec
from evolute.learners.es.settings import ESSettings


def es(*, env: EnvSpec, settings: ESSettings) -> Learner[Any]:
    """Evolution strategies (Salimans et al. 2017) on policy weights, in JAX environments, without gradients."""
    from evolute.envs.interface import HostEnv
    from evolute.envs.make import make_env, resolve_name
    from evolute.learners.es.learner import ES
    from evolute.learners.kit.programs import Programs

    if env.game is not None:
        raise ValueError("learner=es plays no games against opponents; use learner=ppo, or leave out opponents")
    devices = settings.devices or max(2, os.cpu_count() or 2)
    programs = Programs(devices)  # before the environment, which may use JAX
    name = resolve_name(env.name)
    made = make_env(env.with_name(name))
    if isinstance(made, HostEnv):
        raise ValueError(f"learner=es is for JAX environments, and {name} is stepped on the host; learner=ppo trains in both")
    return ES(programs, made, settings, {"env": name, "devices": devices})
