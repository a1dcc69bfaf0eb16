"""A game as an environment on the host: every seat that the member plays is one of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium

from evolute.core.names import closest
from evolute.envs.flatten import flat_space
from evolute.envs.interface import Pool, Vector
from evolute.envs.lockstep import Lockstep
from evolute.envs.spaces import supported
from evolute.games.game import Game
from evolute.games.stage import Stage


class StagedEnv:
    """A HostEnv whose rows are seats of games. Rows of one game are neighbours."""

    time_limit: int | None = None

    def __init__(self, game: Game) -> None:
        self.game, self.title = game, type(game).__name__
        self.seats = _played(game, self.title)
        self.seats_per_game = len(self.seats)
        supported(game.observation_space, game.action_space)
        self.observation_space: gymnasium.Space[Any] = flat_space(game.observation_space)
        self.action_space: gymnasium.Space[Any] = game.action_space
        self.channels, self.repeatable, self.legal = tuple(game.channels), game.repeatable, game.legal
        self.has_clock = game.clock or not game.repeatable

    def advice(self, games: int) -> Sequence[str]:
        return self.game.advice(games)

    def pool(self, seeds: Sequence[Sequence[int]], *, whole: bool = True) -> Pool:
        """Rows for several members; in a member's last game a rule plays the seats that are left over, if there may be any."""
        if whole and len(seeds[0]) % self.seats_per_game:
            raise ValueError(
                f"{self.title}: {len(seeds[0])} rows of a member are no whole games of {self.seats_per_game} seats"
            )
        return self._stage(seeds)

    def vector(self, seeds: Sequence[Sequence[int]]) -> Vector:
        """Any number of rows for each member: in its last game a rule plays the seats that are left over."""
        return Lockstep(self._stage(seeds))

    def _stage(self, seeds: Sequence[Sequence[int]]) -> Stage:
        many = self.seats_per_game
        games = [(int(seed), len(member) - place) for member in seeds for place, seed in enumerate(member) if place % many == 0]
        return Stage(self.game, [self.seats[:left] for _, left in games], [seed for seed, _ in games])


def _played(game: Game, title: str) -> tuple[str, ...]:
    """The seats that the member plays, in the order of the game."""
    if not game.seats or len(set(game.seats)) < len(game.seats):
        raise ValueError(f"{title}.seats = {tuple(game.seats)}: a game has one seat or more, each with a name of its own")
    chosen = tuple(game.seats) if game.plays is None else tuple(game.plays)
    for name in chosen:
        if name not in game.seats:
            raise ValueError(f"{title} has no seat {name!r}{closest(name, game.seats)}")
    if not chosen:
        raise ValueError(f"{title}.plays is empty: a member plays at least one of {', '.join(game.seats)}")
    return tuple(name for name in game.seats if name in chosen)
