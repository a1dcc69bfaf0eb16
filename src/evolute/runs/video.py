"""One episode of an agent as a video."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from evolute.config.error import ConfigError
from evolute.policy import Policy
from evolute.runs.export import exportable
from evolute.runs.result import Agent
from evolute.runs.states import choices_of, remembered

LIMIT = 5000
"""Steps after which a video ends."""


def record(agent: Agent, path: Path, *, seed: int, greedy: bool, limit: int = LIMIT) -> int:
    """Record one episode as a .gif or .mp4 file; returns the number of its frames."""
    from evolute.envs.render import render_episode
    from evolute.envs.video import write

    policy, config = exportable(agent), remembered(agent.folder)
    if config.env is None:
        raise ConfigError(f"the learner {config.learner.name} has no environment to show")
    spec = config.env.with_name(str(choices_of(agent.folder).get("env", config.env.name)))
    rng = np.random.default_rng(seed)
    policy.reset()
    flat = isinstance(policy, Policy)
    try:
        frames = render_episode(spec, lambda obs: policy(obs, greedy=greedy, rng=rng), flat=flat, seed=seed, limit=limit)
        return write(frames, path)
    except (ValueError, OSError) as error:
        raise ConfigError(str(error)) from error
