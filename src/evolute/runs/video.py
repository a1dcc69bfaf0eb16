"""One episode of an agent as a video."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evolute.config.error import ConfigError
from evolute.envs.game import Readable
from evolute.policy import Policy
from evolute.runs.export import exportable
from evolute.runs.result import Agent
from evolute.runs.states import choices_of, remembered

if TYPE_CHECKING:
    from evolute.envs.render import Frame

LIMIT = 5000
"""Steps after which a video ends."""


RATES = {True: 30, False: 2}
"""Frames a second: of games in which all act at once, and of those played move by move."""


def record_match(
    folder: Path, member: int | None, other: str, path: Path, *, seed: int, greedy: bool | None, limit: int = LIMIT
) -> int:
    """Record one game of a member against the best of another run or a bot; returns the number of its frames."""
    from evolute.envs.render import Renders
    from evolute.envs.video import write
    from evolute.runs import playthrough

    own = playthrough.member(folder, member, seed=seed, greedy=greedy)
    game = playthrough.game_of(folder)
    shown: object = game
    if not isinstance(shown, Renders):
        raise ConfigError("this game cannot be rendered; without --video its results are printed")
    rival = playthrough.opponent(game, other, seed=seed, greedy=greedy)
    players = [(own if team == game.teams[0] else rival).player(seat) for seat, team in enumerate(game.teams)]
    try:
        frames = (shown.frame(moment.state) for moment in playthrough.moments(game, players, seed=seed, limit=limit))
        fast = game.actors > 1 and not isinstance(shown, Readable)
        return write(_lingering(frames, RATES[fast]), path, rate=RATES[fast])
    except (ValueError, OSError) as error:
        raise ConfigError(str(error)) from error


def _lingering(frames: Iterator[Frame], rate: int) -> Iterator[Frame]:
    """The frames, the last of them for about two seconds."""
    last = None
    for frame in frames:
        last = frame
        yield frame
    if last is not None:
        yield from [last] * (2 * rate - 1)


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
