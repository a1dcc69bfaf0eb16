"""One episode of an agent as a video."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evolute.config.error import ConfigError
from evolute.envs.game import Game, Readable
from evolute.envs.host_game import HostGame, Rendered
from evolute.policy import Policy
from evolute.runs.export import exportable
from evolute.runs.result import Agent
from evolute.runs.states import choices_of, remembered

if TYPE_CHECKING:
    from evolute.envs.frames import Frame
    from evolute.runs.playthrough import Player

LIMIT = 5000
"""Steps after which a video ends."""
GAP = 8
"""Pixels between episodes that are shown side by side."""


RATES = {True: 30, False: 2}
"""Frames a second: of games in which all act at once, and of those played move by move."""


def record_match(
    folder: Path, member: int | None, other: str, path: Path, *, seed: int, greedy: bool | None, limit: int = LIMIT
) -> int:
    """Record one game of a member against the best of another run or a bot; returns the number of its frames."""
    from evolute.envs.video import write
    from evolute.runs import playthrough

    own = playthrough.member(folder, member, greedy=greedy)
    game = playthrough.game_of(folder)
    rival = playthrough.opponent(game, other)
    players = [(own if team == game.teams[0] else rival).player(seat, seed) for seat, team in enumerate(game.teams)]
    try:
        fast = not playthrough.in_turns(game) and not isinstance(game, Readable)
        frames = _match_frames(game, players, seed=seed, limit=limit)
        return write(_lingering(frames, RATES[fast]), path, rate=RATES[fast])
    except (ValueError, OSError) as error:
        raise ConfigError(str(error)) from error


def _match_frames(game: Game | HostGame, players: Sequence[Player], *, seed: int, limit: int) -> Iterator[Frame]:
    """The frames of one game; a ConfigError if it has none."""
    from evolute.envs.render import Renders
    from evolute.runs.playthrough import host_moments, moments

    if isinstance(game, Rendered):
        copy = game.rendered()
        return (copy.frame() for _ in host_moments(copy, players, seed=seed, limit=limit))
    if isinstance(game, Renders):
        return (game.frame(moment.state) for moment in moments(game, players, seed=seed, limit=limit))
    raise ConfigError("this game cannot be rendered; without --video its results are printed")


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
    return record_together([agent], path, seed=seed, greedy=greedy, limit=limit)


def record_together(agents: Sequence[Agent], path: Path, *, seed: int, greedy: bool | None = None, limit: int = LIMIT) -> int:
    """Record an episode of each, side by side, until the last has ended; each acts as its policy does unless it is told."""
    from evolute.envs.video import write

    try:
        episodes = [_frames(one, seed=seed, greedy=one.greedy if greedy is None else greedy, limit=limit) for one in agents]
        return write(episodes[0] if len(episodes) == 1 else _beside(episodes), path)
    except (ValueError, OSError) as error:
        raise ConfigError(str(error)) from error


def _beside(episodes: Sequence[Iterator[Frame]]) -> Iterator[Frame]:
    """Frames next to each other, with a gap between them; who has ended stays as it ended."""
    shown: list[Frame | None] = [None] * len(episodes)
    for frames in zip_longest(*episodes):
        shown = [before if frame is None else frame for frame, before in zip(frames, shown, strict=True)]
        whole = [frame for frame in shown if frame is not None]
        gap = np.full((whole[0].shape[0], GAP, 3), 128, np.uint8)
        yield np.concatenate([part for frame in whole for part in (frame, gap)][:-1], axis=1)


def _frames(agent: Agent, *, seed: int, greedy: bool, limit: int) -> Iterator[Frame]:
    """The frames of one episode."""
    from evolute.envs.render import render_episode

    policy, config = exportable(agent), remembered(agent.folder)
    if config.env is None:
        raise ConfigError(f"the learner {config.learner.name} has no environment to show")
    spec = config.env.with_name(str(choices_of(agent.folder).get("env", config.env.name)))
    rng = np.random.default_rng(seed)
    policy.reset()
    flat = isinstance(policy, Policy)
    return render_episode(spec, lambda obs: policy(obs, greedy=greedy, rng=rng), flat=flat, seed=seed, limit=limit)
