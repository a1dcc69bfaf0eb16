"""How many games one player is expected to win against another: by what its line of descent did, the newer the more."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from evolute.core.order import Lineup, Match, Player, Ref
from evolute.core.population import Population, Turn, descent

DECAY = 0.7
"""How much less the games of an ancestor count, for each turn of training since."""
BACK = 16
"""How many turns of training back games are looked for."""
PRIOR = 2.0
"""How many games the ratings count for."""


def win_share(population: Population, one: Ref, other: Player, *, prior: float, mates: int = 0) -> float:
    """The share of games, 0 to 1, that the state `one` is expected to win against a player, a draw being half a win.

    Games of its ancestors count less; games between the same two states always count in full, however old they are.
    `prior` is what the ratings say. In line-ups the first `mates` seats are team-mates; of several opponents each counts for
    its share of the seats.
    """
    won, played = PRIOR * prior, PRIOR
    for back, turn in enumerate(islice(descent(population.find(one)), BACK + 1)):
        for score, games in _games(population, turn, other, mates):
            won += DECAY**back * games * score
            played += DECAY**back * games
    return won / played


def _games(population: Population, turn: Turn, other: Player, mates: int) -> Iterator[tuple[float, float]]:
    """Score and number of the games between the state that a turn left and another player, whoever of them reported these."""
    for match in turn.report.matches:
        yield match.score, match.games * _share(match.against, other, mates)
    for match in _reported(population, other):
        yield 1 - match.score, match.games * _share(match.against, turn.ref, mates)


def _reported(population: Population, player: Player) -> tuple[Match, ...]:
    return population.find(player).report.matches if isinstance(player, Ref) else ()


def _share(against: Lineup, player: Player, mates: int) -> float:
    """The share of opposing seats that a player takes."""
    opponents = against[mates:]
    return opponents.count(player) / len(opponents) if opponents else 0.0
