"""The order of scores, in one place: higher is better, and what is not a number is worse than every number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def is_number(score: float | None) -> bool:
    """Whether there is a score that can be compared."""
    return score is not None and not math.isnan(score)


def rank_key(score: float | None) -> tuple[bool, float]:
    """A sort key that puts better scores first, and None and NaN last."""
    return (False, -score) if score is not None and not math.isnan(score) else (True, 0.0)


def better(one: float | None, other: float | None) -> bool:
    """Whether the one is strictly better than the other."""
    return rank_key(one) < rank_key(other)


def ranked(scores: Sequence[float | None]) -> list[int]:
    """The places of these scores from best to worst; ties go to the lower place."""
    return sorted(range(len(scores)), key=lambda place: rank_key(scores[place]))


def top(items: Iterable[T], score: Callable[[T], float | None]) -> T | None:
    """The item with the highest score, the first of equals; None if no item has a number."""
    scored = [item for item in items if is_number(score(item))]
    return min(scored, key=lambda item: rank_key(score(item))) if scored else None


def winner(items: Sequence[T], score: Callable[[T], float | None], is_chosen: Callable[[T], bool]) -> T | None:
    """The best of a run: the one that its final evaluation chose, or as long as there is none, the highest score."""
    chosen = [item for item in items if is_chosen(item)]
    return chosen[0] if chosen else top(items, score)
