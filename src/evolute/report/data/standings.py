"""How good the players of a game are: the ratings of a run's members, and the table of a tournament."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evolute.core.order import Json, Ref
from evolute.core.population import Turn
from evolute.runs.result import Run

if TYPE_CHECKING:
    from evolute.runs.tournament import Tournament


def ratings(run: Run) -> dict[str, Json]:
    """The members of a run, the best first, who that is in words, and how probably it is so."""
    rated = run.ratings
    rows = [_row(run.population.find(Ref(one.member, one.turn))) for one in rated]
    return {
        "run": str(run.folder),
        "members": rows,
        "certainty": rated.certainty,
        "lead": rated.lead,
        "sentence": rated.sentence,
    }


def lines(run: Run) -> dict[str, Json]:
    """The ratings along each member's line of descent: rows of member, turn, rating and deviation, by member."""
    return {str(slot): [list(one) for one in line] for slot, line in run.ratings.lines.items()}


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


def table(played: Tournament) -> dict[str, Json]:
    """What a tournament says: shares of games won, ratings, the Nash mixture, alpha-rank, and a cycle if there is one."""
    order = played.order
    low, high = played.mixture_interval
    return {
        "players": [
            {
                "name": one.name,
                "rating": one.rating,
                "deviation": one.deviation,
                "mixture": one.mixture,
                "mixture_low": float(low[place]),
                "mixture_high": float(high[place]),
                "skill": one.skill,
                "alpha_rank": one.alpha_rank,
                "wins": played.shares[place, order].tolist(),
                "games": played.games[place, order].tolist(),
            }
            for place, one in zip(order, played.standings, strict=True)
        ],
        "cycle": None if played.cycle is None else {"players": list(played.cycle), "certainty": played.certainty},
    }
