"""Whether a population goes round in circles: one state beats a second, that a third, and the third the first.

Few states have met each other, so games of their close ancestors count too. Each turn of training in between makes them count
less, by as much as ratings are assumed to drift in a turn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from evolute.core.order import Json, Match, Ref
from evolute.core.population import Population, descent
from evolute.ratings import bradley_terry
from evolute.ratings.cycles import alarm_level, strongest_cycle
from evolute.ratings.scale import PER_POINT, Floats

DRIFT = (bradley_terry.DRIFT * PER_POINT) ** 2 / 4
"""What a turn of training adds to the variance of a share of games won, in units of one game's."""
BACK = 4
"""How many turns of training back games are looked for."""
LEAST = 4
"""Fewer games than this can make nobody sure of anything."""
Known = Ref | str
Near = Mapping[Known, Sequence[tuple[int, int]]]
"""For each state, the players that it is or that descend from it, by number, and by how many turns."""


@dataclass(frozen=True)
class Circle:
    """Three states or bots, each of which beats the next, and the last the first; `certainty` is that of the least certain."""

    players: tuple[Known, ...]
    certainty: float

    def to_json(self) -> Json:
        players = [player if isinstance(player, str) else list(player) for player in self.players]
        return {"players": players, "certainty": round(self.certainty, 4)}

    @classmethod
    def from_json(cls, body: Json) -> Circle:
        players = tuple(player if isinstance(player, str) else Ref(*player) for player in body["players"])
        return cls(players, body["certainty"])


def circle_among(
    population: Population, players: Sequence[Known], *, mates: int, compared: int = 0
) -> tuple[Circle | None, int]:
    """The surest circle among these players if it is more than chance, and how many triples have been compared by now.

    The more triples have been compared in a run, the surer a circle must be, as some look like one by chance.
    """
    wins = games_won(population, players, mates=mates)
    met = (wins + wins.T >= LEAST).astype(np.float64)
    compared += round(float(np.trace(met @ met @ met)) / 6)
    cycle = strongest_cycle(wins)
    if cycle is None or cycle.certainty <= alarm_level(compared):
        return None, compared
    return Circle(tuple(players[place] for place in cycle.players), cycle.certainty), compared


def games_won(population: Population, players: Sequence[Known], *, mates: int) -> Floats:
    """How many games each player has won against each other one [player, player], those of close ancestors counting less."""
    near = _near(population, players)
    wins = np.zeros((len(players), len(players)))
    for state, owners in near.items():
        if not isinstance(state, Ref):
            continue
        for match in population.find(state).report.matches:
            for other, theirs in _opponents(match, state, mates, near):
                for one, own in owners:
                    games = match.games / (1 + match.games * DRIFT * (own + theirs))
                    wins[one, other] += games * match.score
                    wins[other, one] += games * (1 - match.score)
    np.fill_diagonal(wins, 0.0)
    return wins


def _near(population: Population, players: Sequence[Known]) -> Near:
    near: dict[Known, list[tuple[int, int]]] = defaultdict(list)
    for place, player in enumerate(players):
        if isinstance(player, str):
            near[player].append((place, 0))
            continue
        for back, turn in enumerate(islice(descent(population.find(player)), BACK + 1)):
            near[turn.ref].append((place, back))
    return near


def _opponents(match: Match, own: Ref, mates: int, near: Near) -> Sequence[tuple[int, int]]:
    """The players that a match was against, if one had a whole side, and how many turns they are apart."""
    against = set(match.against[mates:])
    if len(against) != 1 or against & {None, own}:
        return ()
    (player,) = against
    assert player is not None
    return near.get(player, ())
