"""The warning that the members of a run go round in circles, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from evolute.core.order import Json, Ref
from evolute.opponents.circles import Circle
from evolute.runs.commands import typed

NEARLY = 0.99
PAST = 8
"""How many past states the tournament has that is recommended."""


def warning(reasons: Iterable[Mapping[str, Json]], folder: Path) -> str | None:
    """The sentence on the first circle that stands in the reasons of orders; None if there is none."""
    found = next((why["circle"] for why in reasons if "circle" in why), None)
    if found is None:
        return None
    circle = Circle.from_json(found)
    sure = f"{circle.certainty:.0%}" if circle.certainty < NEARLY else f"more than {NEARLY:.0%}"
    return (
        f"{_named(circle)} beat each other in a circle (certainty {sure}), so ratings cannot order them: "
        f"`{typed('tournament', folder)} --past {PAST}` shows who beats whom"
    )


def _named(circle: Circle) -> str:
    """The three players, each of which beats the next."""
    states = [player for player in circle.players if isinstance(player, Ref)]
    if len({ref.member for ref in states}) == len(circle.players):
        members, turns = (_list(str(ref[place]) for ref in states) for place in (0, 1))
        return f"members {members} (after turns {turns})"
    return _list(str(player) for player in circle.players)


def _list(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}"
