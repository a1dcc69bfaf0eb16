"""The story of a start with more candidates than slots: how many of them reached each rung."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from evolute.core.population import Population, Turn, descent


def start_rungs(population: Population) -> list[int]:
    """How many candidates the run began with, and how many were chosen after each rung; [] if all members stayed."""
    turns = [turn for member in population.members for turn in member.history() if "generation" not in turn.order.why]
    chosen = [turn for turn in turns if _is_chosen(turn)]
    if not chosen:
        return []
    rungs = Counter(sum(map(_is_chosen, descent(turn))) for turn in chosen)
    first = {turn.ref.member: turn.ref.turn for turn in chosen}  # a slot's newest turn comes first, so its oldest is kept
    fresh = [turn for turn in turns if turn.order.start is None and turn.order.why.get("event") != "retry"]
    begun = [turn for turn in fresh if turn.ref.turn < first.get(turn.ref.member, max(first.values()))]
    return [len(begun), *(rungs[rung] for rung in sorted(rungs))]


def start_lines(rungs: Sequence[int]) -> Iterator[str]:
    """The story in a line of text."""
    if rungs:
        yield f"  start: {' → '.join(map(str, rungs))} candidates"


def _is_chosen(turn: Turn) -> bool:
    return turn.order.why.get("event") == "chosen" and "generation" not in turn.order.why
