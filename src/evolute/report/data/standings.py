"""How good the players of a game are: the ratings of a run's members, and the table of a tournament."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from evolute.core.order import Json
from evolute.core.population import Turn
from evolute.core.ranking import rank_key
from evolute.ratings import bradley_terry, nash
from evolute.ratings.alpha_rank import alpha_rank
from evolute.ratings.bradley_terry import ANCHOR, Node
from evolute.ratings.cycles import strongest_cycle
from evolute.ratings.games import Games
from evolute.ratings.scale import chance_below
from evolute.runs.result import Run
from evolute.store.journal import Journal

if TYPE_CHECKING:
    from evolute.runs.tournament import Tournament

SURE = 0.95
"""A cycle whose results are all at least this certain is reported."""


def ratings(run: Run) -> dict[str, Json]:
    """The members of a run, the best first, its guests, and how sure it is that the first is better than the second."""
    rated = sorted(run.population.latest, key=lambda turn: rank_key(turn.score))
    rows = [_row(turn) for turn in rated if turn.deviation is not None]
    rule = run.meta.choices.get("rating", run.meta.identity.get("opponents.rating"))
    return {"run": str(run.folder), "rule": rule, "members": rows, "guests": _guests(run), "lead": _lead(rows)}


def _guests(run: Run) -> list[dict[str, Json]]:
    """The players from elsewhere that members have met, the best first, as they were rated at the last decision."""
    if not run.meta.guests:
        return []
    with contextlib.closing(Journal.read(run.folder)) as journal:
        state = journal.strategy_state()
    known = {player: rating for player, *rating in state["known"] if isinstance(player, str)} if state else {}
    met = sorted((name for name, _, _ in run.meta.guests if name in known), key=lambda name: -known[name][0])
    return [{"name": name, "rating": known[name][0], "deviation": known[name][1]} for name in met]


def _row(turn: Turn) -> dict[str, Json]:
    bots = {str(match.against[-1]): match.score for match in turn.report.matches if isinstance(match.against[-1], str)}
    return {
        "member": turn.ref.member,
        "turn": turn.ref.turn,
        "rating": turn.score,
        "deviation": turn.deviation,
        "games": sum(match.games for match in turn.report.matches),
        "bots": bots,
        "hparams": dict(turn.order.hparams),
    }


def _lead(rows: list[dict[str, Any]]) -> float | None:
    """The probability that the first is better than the second, taking their ratings as independent."""
    if len(rows) < 2:
        return None
    one, other = rows[:2]
    deviation = float(np.hypot(one["deviation"], other["deviation"]))
    return 1 - chance_below(one["rating"] - other["rating"], deviation, 0.5)


def table(played: Tournament) -> dict[str, Json]:
    """What a tournament says: shares of games won, ratings, the Nash mixture, alpha-rank, and a cycle if there is one."""
    games = played.games
    shares = np.where(games > 0, played.wins / np.maximum(games, 1), 0.5)
    nodes = [ANCHOR if name == "random" else Node() for name in played.names]
    fitted = bradley_terry.fit(nodes, Games.of_table(played.wins))
    payoff = nash.antisymmetric(shares)
    average = nash.average(payoff)
    ranks = alpha_rank(payoff)
    order = sorted(range(len(nodes)), key=lambda place: -fitted.mean[place])
    cycle = strongest_cycle(played.wins)
    return {
        "players": [
            {
                "name": played.names[place],
                "rating": float(fitted.mean[place]),
                "deviation": float(fitted.deviation[place]),
                "mixture": float(average.mixture[place]),
                "skill": float(average.skill[place]),
                "alpha_rank": float(ranks[place]),
                "wins": shares[place, order].tolist(),
                "games": games[place, order].tolist(),
            }
            for place in order
        ],
        "cycle": None
        if cycle is None or cycle.certainty < SURE
        else {"players": [played.names[place] for place in cycle.players], "certainty": cycle.certainty},
    }
