"""How many games one player is expected to win against another: by what its line of descent did, the newer the more."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from evolute.core.order import Match, Player, Ref
from evolute.core.population import Population, descent

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
    theirs = population.find(other).report.matches if isinstance(other, Ref) else ()
    for back, turn in enumerate(islice(descent(population.find(one)), BACK + 1)):
        for score, games in (*_games(turn.report.matches, other, mates), *_lost(_games(theirs, turn.ref, mates))):
            won += DECAY**back * games * score
            played += DECAY**back * games
    return won / played


def _games(matches: tuple[Match, ...], opponent: Player, mates: int) -> Iterator[tuple[float, float]]:
    """Score and number of the games against an opponent, by the share of opposing seats that it takes."""
    for match in matches:
        opponents = match.against[mates:]
        if opponent in opponents:
            yield match.score, match.games * opponents.count(opponent) / len(opponents)


def _lost(games: Iterator[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """The same games as the other side sees them."""
    return ((1 - score, count) for score, count in games)
