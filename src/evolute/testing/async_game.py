"""The laws that every game which runs by itself must keep, as a check for its author."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np

from evolute.envs.interface import Array, Moved
from evolute.games import Game
from evolute.games.stage import Stage

PATIENCE = 1.0
"""Seconds between two looks at the clock."""
Episode = list[tuple[Any, ...]]
"""The moves of a row until its episode ended."""


def check_async_game(game: Game, *, episodes: int = 4, limit: float = 120.0, seed: int = 0) -> None:
    """Raise AssertionError if a game breaks a law; plays some episodes of two copies at random.

    Both copies must end `episodes` episodes in `limit` seconds, and none may fail. If the game is `repeatable`, its episodes
    must be the same when they are played again, with answers that take another time.
    """
    _check_description(game)
    env = game.host_env()
    first, stage = _played(game, env.seats, episodes, limit, seed, delay=0.0)
    assert not stage.words, f"an episode failed: {stage.words[0]}"
    for row, moves in first.items():
        _check_moves(game, row, [move for episode in moves for move in episode])
    if game.repeatable:
        again, _ = _played(game, env.seats, episodes, limit, seed, delay=0.002)
        for row, moves in first.items():
            same = len(moves) <= len(again[row]) and all(map(_same, moves, again[row]))
            assert same, "repeatable is said, but with the same seed and actions an episode went otherwise the second time"


def _check_description(game: Game) -> None:
    assert isinstance(game, Game), "a game is a class that inherits from evolute.games.Game"
    assert len(set(game.channels)) == len(game.channels), f"channels={tuple(game.channels)}: each has a name of its own"
    assert game.stall > 0, f"stall={game.stall}: it is a number of seconds"
    game.host_env()


def _played(
    game: Game, seats: Sequence[str], episodes: int, limit: float, seed: int, *, delay: float
) -> tuple[dict[int, list[Episode]], Stage]:
    """The first episodes of each row; each row's actions are its own, whenever it is asked."""
    with contextlib.closing(Stage(game, [seats, seats], [seed, seed + 1])) as stage:
        rngs = [np.random.default_rng([seed, row]) for row in range(stage.rows)]
        pauses = np.random.default_rng(seed)
        found: dict[int, list[Episode]] = {row: [[]] for row in range(stage.rows)}
        end = time.monotonic() + limit
        while min(len(told) for told in found.values()) <= episodes:
            assert time.monotonic() < end, (
                f"in {limit:g} s a seat has ended {min(len(told) for told in found.values()) - 1} of {episodes} episodes"
            )
            moved = stage.recv(1, PATIENCE)
            assert not stage.failures, f"the game failed: {next(iter(stage.failures.values()))}"
            actions = [_noted(game, moved, place, found, rngs) for place in range(len(moved.rows))]
            time.sleep(delay * pauses.random())
            if actions:
                stage.send(moved.rows, np.array(actions))
        return {row: told[:episodes] for row, told in found.items()}, stage


def _noted(game: Game, moved: Moved, place: int, found: dict[int, list[Episode]], rngs: list[Any]) -> Any:
    """Write a move down, and return the row's next action."""
    row = int(moved.rows[place])
    legal = None if moved.legal is None else moved.legal[place]
    elapsed = moved.elapsed if game.repeatable else np.zeros(len(moved.rows))
    facts = (moved.obs, moved.reward, elapsed, moved.terminated, moved.truncated)
    found[row][-1].append((*(fact[place].copy() for fact in facts), legal, moved.results.get(row, {})))
    if moved.terminated[place] or moved.truncated[place]:
        found[row].append([])
    return _random(game.action_space, rngs[row], legal)


def _random(space: gymnasium.Space[Any], rng: Any, legal: Array | None) -> Any:
    match space:
        case gymnasium.spaces.Discrete():
            return int(rng.choice(int(space.n) if legal is None else np.flatnonzero(legal)))
        case gymnasium.spaces.MultiDiscrete():
            return rng.integers(0, space.nvec)
        case gymnasium.spaces.Box():
            return rng.uniform(np.maximum(space.low, -1), np.minimum(space.high, 1)).astype(space.dtype)
    raise AssertionError(f"actions are {space}: they must be Discrete, MultiDiscrete or a Box")


def _check_moves(game: Game, row: int, moves: list[tuple[Any, ...]]) -> None:
    env = game.host_env()
    for obs, reward, *_, results in moves:
        assert env.observation_space.contains(obs), f"an observation lies outside of the observation space: {obs}"
        assert np.isfinite(reward).all(), f"a reward is not finite: {reward}"
        assert all(np.isfinite(list(results.values()))), f"the game's results are not all finite: {results}"


def _same(one: Episode, other: Episode) -> bool:
    return len(one) == len(other) and all(
        all(np.array_equal(left, right) for left, right in zip(first[:5], second[:5], strict=True)) and first[6] == second[6]
        for first, second in zip(one, other, strict=True)
    )
