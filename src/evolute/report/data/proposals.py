"""Why heirs got their hyper-parameters: what a model predicted for each, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evolute.core.order import Json, Order
from evolute.core.population import Population, Turn
from evolute.report import formats

SHOWN = 8


def proposals(population: Population) -> list[dict[str, Json]]:
    """Every order whose hyper-parameters a model proposed, oldest first."""
    finished = [turn for member in population.members for turn in member.history()]
    found = [_proposal(turn.order, turn) for turn in finished if "gain" in turn.order.why]
    found += [_proposal(order, None) for order in population.running if "gain" in order.why]
    return sorted(found, key=lambda one: (one["turn"], one["member"]))


def proposal_lines(data: Sequence[dict[str, Json]]) -> Iterator[str]:
    """The last proposals, a line each, and the model, the trust region and the bandits' weights behind the last one."""
    if not data:
        return
    shown = data[-SHOWN:]
    count = formats.count(len(data), "proposal")
    yield f"  the last {len(shown)} of {count} (predicted gain of the turn ± uncertainty → what came of it):"
    for one in shown:
        why, came = one["why"], "running" if one["running"] else formats.number(one["came"])
        head = f"turn {one['turn']}, member {one['member']} from {one['parent']}"
        region = f"  in a region of side {why['region']['side']:g}" if "region" in why else ""
        yield f"    {head}: {formats.hparams(one['hparams'])}  {why['gain']:+.4g} ± {why['uncertainty']:.4g} → {came}{region}"
    yield from _behind(data[-1]["why"])


def _behind(why: dict[str, Json]) -> Iterator[str]:
    yield f"  model behind the last: {formats.hparams(why['model'])}"
    if region := why.get("region"):
        restarted = ", just now" if region.get("restarted", region.get("anew")) else ""  # older runs say anew
        share = f"{region['radius']:.0%} of categories may differ"
        times = formats.count(region["restarts"], "time")
        yield f"  trust region: side {region['side']:g}, {share}, restarted {times}{restarted}"
    for name, weights in why.get("weights", {}).items():
        yield f"  bandit's weights for {name}: {formats.hparams(weights)}"


def _proposal(order: Order, turn: Turn | None) -> dict[str, Json]:
    return {
        "member": order.member,
        "turn": order.turn,
        "parent": None if order.start is None else order.start.member,
        "hparams": dict(order.hparams),
        "why": dict(order.why),
        "running": turn is None,
        "came": None if turn is None else _gain(turn),
    }


def _gain(turn: Turn) -> float | None:
    before = None if turn.parent is None else turn.parent.score
    return None if before is None or turn.score is None else turn.score - before
