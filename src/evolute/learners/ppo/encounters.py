"""Who meets whom in a turn: the line-ups of all tables, and the games afterwards by which members are rated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from evolute.core.order import Lineup, Match, PlayedGames, Ref
from evolute.core.rng import derive
from evolute.envs.game import Game
from evolute.envs.host_game import HostGame
from evolute.envs.places import Places
from evolute.envs.spec import GameSpec
from evolute.learners.kit.arena import Opponents, lineup_numbers
from evolute.learners.kit.evaluation import Player
from evolute.learners.ppo.runner import Assignment
from evolute.ratings import panel

SHARED_SEED = 0
"""All members of all runs play their matches on seeds that follow from this and their turn."""


@dataclass(frozen=True)
class Encounter:
    """A player, the line-ups it plays against, the frozen players in them, a seed for all randomness, and whether the player
    takes its likeliest actions."""

    player: Player
    lineups: Sequence[Lineup]
    frozen: Mapping[Ref | str, Player]
    seed: int
    greedy: bool = False


@dataclass(frozen=True)
class Tables:
    """The tables of a game, and who sits there besides the member."""

    game: Game | HostGame
    how: GameSpec

    @property
    def others(self) -> int:
        """How many places a line-up has."""
        return len(Places.of(self.game.teams))

    @property
    def alone(self) -> Lineup:
        """The line-up of a member that plays against itself."""
        return (None,) * self.others

    @property
    def room(self) -> int:
        """How many line-ups there are in the games after a turn, at most."""
        return self.how.tables + len(self.how.anchors) + (panel.SIZE if self.by_gain else 0)

    @property
    def by_gain(self) -> bool:
        """Whether members are rated by their returns, against a panel."""
        return self.how.rating == "panel"

    def lineups(self, one: Assignment) -> list[Lineup]:
        """Who sits at each table; without line-ups the member plays against itself. Those beyond the tables are a panel."""
        lineups = list(one.lineups[: self.how.tables]) or [self.alone] * self.how.tables
        if len(lineups) != self.how.tables or any(len(lineup) != self.others for lineup in lineups):
            sizes = f"{len(lineups)} line-ups of {len(lineups[0])}"
            raise ValueError(
                f"a member was given {sizes}, and there are {self.how.tables} tables with {self.others} places for others"
            )
        return lineups

    def opponents(self, frozen: Mapping[Ref | str, Player], own: Player, lineups: Sequence[Lineup]) -> Opponents:
        """The line-ups as a program takes them; room that no frozen player needs is filled with the member itself."""
        seated = {player for lineup in lineups for player in lineup}
        frozen = {ref: player for ref, player in frozen.items() if ref in seated}
        if unlike := [ref for ref, player in frozen.items() if player.weights.shape != own.weights.shape]:
            raise ValueError(f"{unlike[0]} cannot be an opponent: its network is another one")
        rows = [*frozen.values(), *[own] * (len(lineups) * self.others - len(frozen))]
        players = jax.tree.map(lambda *leaves: np.stack(leaves), *rows)
        return Opponents(players, lineup_numbers(self.game, lineups, list(frozen)))

    def encounters(self, players: Sequence[Player], assignments: Sequence[Assignment]) -> list[Encounter]:
        """Each finished state against every line-up of its turn with somebody else in it, and against the anchors."""
        anchors = [self.anchor(name) for name in self.how.anchors]
        return [
            Encounter(
                player,
                list(dict.fromkeys([*(lineup for lineup in one.lineups if lineup != self.alone), *anchors])),
                one.frozen,
                derive(SHARED_SEED, "matches", one.turn),
            )
            for player, one in zip(players, assignments, strict=True)
        ]

    def anchor(self, name: str) -> Lineup:
        """A line-up in which a bot takes every opponent's seat, and the member itself those of its mates."""
        return Places.of(self.game.teams).lineup(name)

    def match(self, against: Lineup, returns: Any, leads: Any) -> Match:
        """Games against one line-up as a report has them."""
        spread = float(np.std(returns)) if self.by_gain else None
        return Match(against, float(np.mean(_ended(leads))), len(returns), float(np.mean(returns)), spread)

    def one_by_one(self, against: Lineup, returns: Any, leads: Any) -> PlayedGames:
        """The same games one by one; the player takes all seats in turn."""
        seats = tuple(game % len(self.game.teams) for game in range(len(returns)))
        return PlayedGames(against, seats, tuple(_ended(leads).tolist()), tuple(returns.tolist()))


def _ended(leads: Any) -> Any:
    """How games ended [game]: who has the higher return has won."""
    return (np.sign(leads) + 1) / 2
