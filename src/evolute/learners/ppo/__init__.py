"""PPO for whole populations, in one compiled program."""

from __future__ import annotations

import os
from typing import Any

from evolute.core.protocols import Learner
from evolute.envs.spec import EnvSpec
from evolute.learners.ppo.settings import Settings


def ppo(*, env: EnvSpec, settings: Settings) -> Learner[Any]:
    """Proximal policy optimisation (Schulman et al. 2017), one compiled program for all members."""
    from evolute.envs.find import find, held_out, settle
    from evolute.envs.interface import HostEnv
    from evolute.learners.kit import members
    from evolute.learners.kit.programs import Programs
    from evolute.learners.ppo.host import Host
    from evolute.learners.ppo.inside import Inside
    from evolute.learners.ppo.learner import PPO

    devices = settings.devices or max(2, os.cpu_count() or 2)
    members.start(devices)
    name = settle(env.name)
    spec = env.settled(name)
    found, unseen = find(spec), held_out(spec)
    if settings.test_episodes and unseen is None:
        raise ValueError(f"ppo.test_episodes={settings.test_episodes}: {name} has no levels to test on, as procgen:… has")
    programs, on_host = Programs(devices), isinstance(found, HostEnv)
    world = Host(found, programs) if isinstance(found, HostEnv) else Inside(found, programs)
    tested = find(unseen) if settings.test_episodes and unseen is not None else None
    exam = Host(tested, programs) if isinstance(tested, HostEnv) else None
    choices = {"env": name, "devices": devices}
    return PPO(world, found.observation_space, found.action_space, settings, choices, masked=on_host, exam=exam)
