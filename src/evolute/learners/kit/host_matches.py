"""Games of members against line-ups of other players, on the host: how good is a finished state?"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evolute.core.protocols import Progress
from evolute.core.rng import derive
from evolute.envs.host_game import HostGame
from evolute.learners.kit.acting import PolicySpec
from evolute.learners.kit.arena import Opponents
from evolute.learners.kit.evaluation import LIMIT, Player
from evolute.learners.kit.host_acting import HostPolicy
from evolute.learners.kit.host_arena import HostArena
from evolute.learners.kit.host_others import OtherPlayers
from evolute.learners.kit.layout import layout
from evolute.learners.kit.matches import GameResults
from evolute.learners.kit.programs import Programs
from evolute.learners.kit.stacking import key_data, stacked

UNROLL = 32
"""Noise is drawn for this many steps at a time."""


class HostFixture(NamedTuple):
    """One member's games: who plays, against whom, how many of the tables count, and a seed for all randomness."""

    player: Player
    opponents: Opponents
    tables: int
    seed: int


class HostResults(NamedTuple):
    """How a member's games ended, and what went wrong if a game raised an exception."""

    games: GameResults
    error: str | None


def play(
    game: HostGame,
    programs: Programs,
    spec: PolicySpec,
    fixtures: Sequence[HostFixture],
    games: int,
    progress: Progress,
    *,
    greedy: bool = False,
) -> list[HostResults]:
    """How each member's games ended. The games of a table come in groups with the same seed, one per seat.

    The members take their likeliest actions if they are `greedy`; the others sample theirs.
    """
    rows, room = len(fixtures), len(fixtures[0].opponents.lineups)
    seeds = [one.seed for one in fixtures]
    others = OtherPlayers(
        programs,
        spec,
        [one.player for one in fixtures],
        [one.opponents for one in fixtures],
        copies=games,
        seeds=seeds,
        progress=progress,
    )
    groups = np.arange(room * games) % games // len(game.teams)
    starts = [[derive(seed, "pair", int(group)) for group in groups] for seed in seeds]
    with contextlib.closing(HostArena(game, others, starts, once=True)) as arena:
        for member, one in enumerate(fixtures):
            arena.skip(range((member * room + one.tables) * games, (member + 1) * room * games))
        keys, places = stacked([key_data(seed) for seed in seeds]), layout(rows)
        envs = room * games
        policy = HostPolicy(
            programs, spec, layout=places, envs=envs, unroll=UNROLL, keys=keys, greedy=greedy, progress=progress
        )
        _play(arena, policy, places.spread(stacked([one.player for one in fixtures])))
        returns, leads = (rewards.reshape((rows, room, games)) for rewards in (arena.returns, arena.leads))
        errors = {row // envs: "".join(traceback.format_exception(error)) for row, error in arena.failures.items()}
    return [HostResults(GameResults(returns[row], leads[row]), errors.get(row)) for row in range(rows)]


def _play(arena: HostArena, policy: HostPolicy, players: Player) -> None:
    """One game in each row."""
    obs, first = arena.reset(), np.ones((policy.rows, policy.envs), np.float32)
    for number in range(LIMIT):
        if arena.done:
            return
        if number % UNROLL == 0:
            policy.begin(players, number // UNROLL)
        legal = arena.legal
        allowed = None if legal is None else legal.reshape((*first.shape, -1))
        acted = policy(obs.reshape((*first.shape, *obs.shape[1:])), first, number % UNROLL, allowed)
        obs = arena.step(policy.to_env(acted))[0]
        first[:] = 0
