"""The ratings of all states that matter now: those of recent turns, those in the pool, and the bots.

Ratings are made from all games so far when a decision is made. States of long ago are not rated again: what was known of them
when they were last rated is their prior from then on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np

from evolute.core.order import Match, Ref
from evolute.core.population import Population, Turn
from evolute.ratings import bradley_terry, elo
from evolute.ratings.bradley_terry import ANCHOR, Node
from evolute.ratings.games import Games, Result
from evolute.ratings.panel import rating
from evolute.ratings.scale import win_probability

NODES, TURNS = 256, 8
"""At most this many states are rated at a time, but always those of this many last turns."""
Rule = Literal["descent", "elo", "panel"]
Rated = Ref | str
Known = Mapping[Rated, tuple[float, float]]
"""Ratings and their deviations."""


@dataclass(frozen=True)
class Standings:
    """What players are rated now; a rating `by_gain` is a mean return, and says nothing of who beats whom."""

    known: Known
    by_gain: bool = False

    def rating(self, player: Rated) -> tuple[float, float]:
        """A player's rating and deviation; of one that nobody has met, a newcomer's."""
        return self.known.get(player, (0.0, bradley_terry.FRESH))

    def expected(self, one: Rated, other: Rated) -> float:
        """The share of games that one is expected to win against another, by their ratings alone."""
        if self.by_gain:
            return 0.5
        return float(win_probability(self.rating(one)[0] - self.rating(other)[0]))


def by_panel(population: Population, before: Known, *, tables: int, anchors: Sequence[str], pool: Collection[Ref]) -> Standings:
    """The mean returns of all states against their panels: the line-ups beyond the tables, or while there are none the anchors.

    States of long ago keep the rating that they had.
    """
    known = {ref: before[ref] for ref in pool if ref in before}
    for turn in recent(population):
        panel = set(turn.order.opponents[tables:])
        played = [match for match in turn.report.matches if (match.against in panel if panel else match.against[-1] in anchors)]
        gains = {one.against: (one.gain, one.spread or 0.0, one.games) for one in played if one.gain is not None}
        if gains:
            known[turn.ref] = rating(list(gains.values()))
    return Standings({player: (round(mean, 6), round(error, 6)) for player, (mean, error) in known.items()}, by_gain=True)


def recent(population: Population) -> list[Turn]:
    """The turns whose games are counted, oldest first: all of them while they are few."""
    number = max(TURNS, NODES // len(population))
    turns = [turn for member in population.members for turn in islice(member.history(), number) if not turn.failed]
    return sorted(turns, key=lambda turn: (turn.ref.turn, turn.ref.member))


def rated_after(
    population: Population, before: Known, *, rule: Rule, mates: int, anchors: Sequence[str], pool: Collection[Ref]
) -> Standings:
    """The ratings after all reports so far; `before` are those after the last decision.

    The first of the anchors is rated 0, or if nobody has met it, the first of all states.
    """
    turns = recent(population)
    games = [(turn.ref, match) for turn in turns for match in turn.report.matches]
    if not games:
        return Standings({})
    rated: dict[Rated, None] = dict.fromkeys(anchors[:1])
    rated.update(dict.fromkeys([*pool, *(turn.ref for turn in turns)]))
    for ref, match in games:
        rated.update(dict.fromkeys(player for player in match.against if player is not None and player != ref))
    numbers = {player: number for number, player in enumerate(rated)}
    parents = {turn.ref: turn.parent.ref for turn in turns if turn.parent is not None}
    if rule == "elo":
        return Standings(_by_elo(turns, list(rated), numbers, parents, before, mates))
    window, met = {turn.ref for turn in turns}, {player for _, match in games for player in match.against}
    zero = anchors[0] if anchors and anchors[0] in met else turns[0].ref if turns[0].parent is None else None
    nodes = [ANCHOR if player == zero else _node(player, numbers, parents, before, window) for player in rated]
    fitted = bradley_terry.fit(nodes, Games.of_sides(_results(games, numbers, mates)))
    pairs = zip(fitted.mean.tolist(), fitted.deviation.tolist(), strict=True)
    return Standings(
        {player: (round(mean, 2), round(deviation, 2)) for player, (mean, deviation) in zip(rated, pairs, strict=True)}
    )


def _node(
    player: Rated,
    numbers: Mapping[Rated, int],
    parents: Mapping[Ref, Ref],
    before: Known,
    window: Collection[Ref],
) -> Node:
    """What is known of a player besides the games that are counted."""
    if isinstance(player, str):
        return Node()
    if player not in window:
        return Node(*before.get(player, (0.0, bradley_terry.FRESH)))
    parent = parents.get(player)
    if parent is None:
        return Node()
    if parent in window:
        return Node(parent=numbers[parent])
    mean, deviation = before.get(parent, (0.0, bradley_terry.FRESH))
    return Node(mean, float(np.hypot(deviation, bradley_terry.DRIFT)))


def _results(games: Iterable[tuple[Ref, Match]], numbers: Mapping[Rated, int], mates: int) -> Iterator[Result]:
    """Matches as sides of players by number; those of a state against itself say nothing."""
    for ref, match in games:
        players = [numbers[ref if player is None else player] for player in match.against]
        one, other = [numbers[ref], *players[:mates]], players[mates:]
        if set(other) != {numbers[ref]}:
            yield one, other, match.score * match.games, float(match.games)


def _by_elo(
    turns: Sequence[Turn],
    rated: Sequence[Rated],
    numbers: Mapping[Rated, int],
    parents: Mapping[Ref, Ref],
    before: Known,
    mates: int,
) -> Known:
    """Elo's update by the games of states that are new; a new state begins with its parent's rating."""
    ratings = np.zeros(len(rated))
    fresh = []
    for player in sorted(rated, key=lambda player: (0, 0, 0) if isinstance(player, str) else (1, player.turn, player.member)):
        parent = parents.get(player) if isinstance(player, Ref) else None
        known = before.get(player)
        start = 0.0 if parent is None else ratings[numbers[parent]] if parent in numbers else before.get(parent, (0.0, 0.0))[0]
        ratings[numbers[player]] = start if known is None else known[0]
        fresh += [player] if known is None else []
    games = [(turn.ref, match) for turn in turns if turn.ref in fresh for match in turn.report.matches]
    ratings = elo.updated(ratings, Games.of_sides(_results(games, numbers, mates)))
    return {player: (round(float(ratings[number]), 2), 0.0) for player, number in numbers.items()}
