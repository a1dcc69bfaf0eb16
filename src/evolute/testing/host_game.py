"""The laws that every game on the host must keep, as a check for their authors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np

from evolute.envs.host_game import Array, GameCopy, HostGame, Moment

TOLERANCE = 1e-4


def check_host_game(game: HostGame, *, games: int = 8, limit: int = 5000, seed: int = 0) -> None:
    """Raise AssertionError if a game on the host breaks a law; plays `games` games at random, each twice.

    Every game must be over after `limit` steps, and follow from its seed and the actions alone.
    """
    _check_description(game)
    one, other = game.copy(), game.copy()
    for number in range(seed, seed + games):
        first, again = _played(game, one, number, limit), _played(game, other, number, limit)
        same = len(first) == len(again) and all(map(_same, first, again))
        assert same, (
            f"a game follows from its seed and the actions alone: one with the seed {number} went otherwise the second time"
        )
        other.reset(number)  # breaks off a game that has hardly begun
        totals = np.sum([moment.reward for moment in first], axis=0)
        if game.zero_sum:
            teams = [np.mean(totals[np.equal(game.teams, team)]) for team in sorted(set(game.teams))]
            assert abs(sum(teams)) < TOLERANCE, f"zero_sum is said, but the seats have got {totals.tolist()} in a game"
    one.close()
    other.close()


def _check_description(game: HostGame) -> None:
    assert isinstance(game, HostGame), "a game has everything that evolute.envs.host_game.HostGame lists"
    assert len(game.teams) >= 2, f"teams={game.teams}: a game has two seats or more"
    assert sorted(set(game.teams)) == list(range(len(set(game.teams)))), f"teams={game.teams}: teams are numbered from 0 on"
    assert not game.has_legal or isinstance(game.action_space, gymnasium.spaces.Discrete), (
        "only Discrete actions can be illegal"
    )


def _played(game: HostGame, copy: GameCopy, seed: int, limit: int) -> list[Moment]:
    """The moments of one game."""
    rng = np.random.default_rng(seed)
    moments = [copy.reset(seed)]
    for _ in range(limit):
        now = moments[-1]
        _check_moment(game, now)
        if not now.acting:
            return moments
        moments.append(copy.step({seat: _random(game.action_space, now, seat, rng) for seat in now.acting}))
    raise AssertionError(f"after {limit} steps a game runs on")


def _check_moment(game: HostGame, now: Moment) -> None:
    seats, space = len(game.teams), game.observation_space
    assert isinstance(space, gymnasium.spaces.Box), f"observations are {space}: they must be vectors or images of numbers"
    assert len(set(now.acting)) == len(now.acting), f"acting={now.acting} names a seat twice"
    assert all(0 <= seat < seats for seat in now.acting), f"acting={now.acting}: there are seats 0 to {seats - 1}"
    assert now.obs.shape == (seats, *space.shape), f"obs is of shape {now.obs.shape}: it must be [seat, …]"
    assert now.obs.dtype == space.dtype, f"obs is {now.obs.dtype}, and the observation space is of {space.dtype}"
    seen = now.obs[list(now.acting)]
    assert ((seen >= space.low) & (seen <= space.high)).all(), "an observation lies outside the observation space"
    assert now.reward.shape == (seats,), "reward must be one number for each seat"
    assert np.isfinite(now.reward).all(), "a reward is not finite"
    assert now.terminated.shape == (seats,), "terminated must be one bool for each seat"
    assert (now.legal is not None) == game.has_legal, "legal is None where has_legal is False, and only there"
    if now.legal is not None:
        assert now.legal[list(now.acting)].any(axis=1).all(), "a seat that is to act has no legal action"


def _random(space: Any, now: Moment, seat: int, rng: np.random.Generator) -> Any:
    match space:
        case gymnasium.spaces.Discrete():
            choices = np.arange(int(space.n)) if now.legal is None else np.flatnonzero(now.legal[seat])
            return int(rng.choice(choices))
        case gymnasium.spaces.Box():
            low, high = np.maximum(space.low, -1), np.minimum(space.high, 1)
            return rng.uniform(low, high).astype(np.float32)
    return rng.integers(space.nvec)


def _same(one: Moment, other: Moment) -> bool:
    mine, theirs = _arrays(one), _arrays(other)
    return all(np.array_equal(mine[name], theirs[name], equal_nan=True) for name in mine)


def _arrays(moment: Moment) -> Mapping[str, Array]:
    legal = np.zeros(0) if moment.legal is None else moment.legal.astype(float)
    obs = moment.obs.astype(np.float64)
    return {"acting": np.array(moment.acting), "obs": obs, "reward": moment.reward, "legal": legal}
