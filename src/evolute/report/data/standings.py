"""How good the players of a game are: the ratings of a run's members, and the table of a tournament."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from evolute.core.order import Json, Ref
from evolute.core.population import Turn
from evolute.runs.result import Run
from evolute.store.journal import Journal

if TYPE_CHECKING:
    from evolute.runs.tournament import Tournament


def ratings(run: Run) -> dict[str, Json]:
    """The members of a run, the best first, its guests, how many past states it keeps as opponents, who is best in words, and
    how probably it is so."""
    rated, state = run.ratings, _state(run)
    rows = [_row(run.population.find(Ref(one.member, one.turn))) for one in rated]
    return {
        "run": str(run.folder),
        "rule": run.meta.rule,
        "members": rows,
        "guests": _guests(run, state),
        "pool": len(state.get("pool", ())),
        "pool_at_most": run.meta.identity.get("opponents.capacity") if run.meta.in_game else None,
        "certainty": rated.certainty,
        "lead": rated.lead,
        "sentence": rated.sentence,
    }


def lines(run: Run) -> dict[str, Json]:
    """The ratings along each member's line of descent: rows of member, turn, rating and deviation, by member."""
    return {str(slot): [list(one[:4]) for one in line] for slot, line in run.ratings.lines.items()}


def _state(run: Run) -> dict[str, Json]:
    """What the strategy of a run whose members play knows after the last decision."""
    if not run.meta.in_game:
        return {}
    with contextlib.closing(Journal.read(run.folder)) as journal:
        return journal.strategy_state() or {}


def _guests(run: Run, state: dict[str, Json]) -> list[dict[str, Json]]:
    """The players from elsewhere, the best first, as they were rated at the last decision.

    Those that nobody had met by then come last and have no rating; on a panel nobody but members is rated.
    """
    known = {player: rating for player, *rating in state.get("known", ()) if isinstance(player, str)}
    names = [name for name, _, _ in run.meta.guests]
    met = sorted((name for name in names if name in known), key=lambda name: -known[name][0])
    rated = [{"name": name, "rating": known[name][0], "deviation": known[name][1]} for name in met]
    return [*rated, *({"name": name, "rating": None, "deviation": None} for name in names if name not in known)]


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
    """What a tournament says: shares of games won, ratings, the Nash mixture, alpha-rank, who is best in words, how probably it
    is so, and a cycle if there is one."""
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
        "certainty": played.chance_of_best,
        "lead": played.lead,
        "sentence": played.sentence,
        "cycle": None if played.cycle is None else {"players": list(played.cycle), "certainty": played.certainty},
    }
