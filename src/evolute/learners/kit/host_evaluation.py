"""Fresh episodes of members in environments on the host, all members' stepped together."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence

import numpy as np

from evolute.core.protocols import Progress
from evolute.envs.interface import HostEnv, Vector, seats_per_game_of
from evolute.learners.kit.acting import PolicySpec
from evolute.learners.kit.episodes import Episodes, env_seeds
from evolute.learners.kit.evaluation import LIMIT, EpisodeResults, Player
from evolute.learners.kit.host_acting import HostPolicy
from evolute.learners.kit.layout import layout
from evolute.learners.kit.programs import Programs
from evolute.learners.kit.stacking import key_data, stacked

COPIES = 8
"""Environments of each member; they play as many episodes one after another as are asked for."""


def episodes_of_each(episodes: int, seats: int = 1) -> list[int]:
    """How many of so many episodes each copy plays; with several seats of a game, there are copies for whole games."""
    copies = seats * math.ceil(min(episodes, COPIES) / seats)
    return [len(range(copy, episodes, copies)) for copy in range(copies)]


def evaluate(
    env: HostEnv,
    programs: Programs,
    spec: PolicySpec,
    players: Sequence[Player],
    episodes: int,
    *,
    unroll: int,
    greedy: bool,
    seed: int,
    progress: Progress,
) -> list[EpisodeResults]:
    """Episodes of each member, on a seed that all share; noise is drawn for `unroll` steps at a time."""
    rows, each = len(players), episodes_of_each(episodes, seats_per_game_of(env))
    copies, keys, places = len(each), np.tile(key_data(seed), (rows, 1)), layout(rows)
    policy = HostPolicy(programs, spec, layout=places, envs=copies, unroll=unroll, keys=keys, greedy=greedy, progress=progress)
    with contextlib.closing(env.vector(env_seeds([seed] * rows, copies))) as vector:
        return _play(vector, policy, places.spread(stacked(players)), each, unroll)


def _play(vector: Vector, policy: HostPolicy, players: Player, each: Sequence[int], unroll: int) -> list[EpisodeResults]:
    shape = (policy.rows, len(each))
    episodes = Episodes(*shape)
    obs, first, valid = vector.reset(), np.ones(shape, np.float32), np.ones(shape, np.float32)
    for number in range(LIMIT * max(each)):
        if number % unroll == 0:
            policy.progress(episodes.share(each), "")
            policy.begin(players, number // unroll)
        acted = policy(obs.reshape((*shape, *obs.shape[1:])), first, number % unroll)
        obs, _, ends, _ = episodes.step(vector, policy.to_env(acted), valid)
        first, valid = 1 - valid, 1 - ends
        if episodes.errors:
            raise RuntimeError(next(iter(episodes.errors.values())))
        if ends.any() and episodes.enough(each):
            break
    return [episodes.first(member, each) for member in range(policy.rows)]
