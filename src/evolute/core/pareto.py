"""Several objectives at once: fronts of points that none dominates, how crowded they are, and one score made of both.

A point dominates another if it is nowhere worse and somewhere better. Ranks and crowding distances are those of NSGA-II (Deb et
al. 2002, section III). All objectives are maximised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Points = np.ndarray[Any, np.dtype[np.float64]]
"""[point, objective]"""
OUTERMOST = 0.999
"""What the ends of a front add to their score; others add less."""


def fronts(points: Points) -> list[int]:
    """The front that each point is on: 0 if none dominates it, 1 if only points on front 0 do, and so on: [point]."""
    count = len(points)
    if not count:
        return []
    no_worse = np.all(points[:, None, :] >= points[None, :, :], axis=2)
    dominates = no_worse & ~no_worse.T
    found = np.full(count, -1)
    above = dominates.sum(axis=0)
    number = 0
    while (found < 0).any():
        here = (above == 0) & (found < 0)
        found[here] = number
        above = above - dominates[here].sum(axis=0)
        number += 1
    ranks: list[int] = found.tolist()
    return ranks


def crowding(points: Points) -> list[float]:
    """How far apart the neighbours of each point of one front are, added up over objectives; infinite at its ends: [point].

    Each objective counts in units of its range. Of equal points only the first stands for the others, so that copies of one
    member do not fill a front; the others have 0.
    """
    distances = np.zeros(len(points))
    _, first = np.unique(points, axis=0, return_index=True)
    single = np.sort(first)
    for column in range(points.shape[1]):
        values = points[single, column]
        order = np.argsort(values, kind="stable")
        low, high = values[order[0]], values[order[-1]]
        if high > low:
            distances[single[order[1:-1]]] += (values[order[2:]] - values[order[:-2]]) / (high - low)
        distances[single[order[[0, -1]]]] = np.inf
    found: list[float] = distances.tolist()
    return found


def pareto_scores(points: Sequence[Sequence[float] | None]) -> list[float | None]:
    """A score for each point: minus its front, plus less than 1 by how much room it has; None for None: [point]."""
    known = [place for place, point in enumerate(points) if point is not None]
    if not known:
        return [None] * len(points)
    values = np.array([points[place] for place in known], dtype=np.float64)
    ranks = np.array(fronts(values))
    scores: list[float | None] = [None] * len(points)
    for number in range(int(ranks.max()) + 1):
        places = np.flatnonzero(ranks == number)
        for place, room in zip(places.tolist(), crowding(values[places]), strict=True):
            scores[known[place]] = -number + (OUTERMOST if np.isinf(room) else room / (1 + room))
    return scores


def front_places(points: Sequence[Sequence[float]]) -> list[int]:
    """The places of the points that none dominates, by the first objective; of equal points the first alone."""
    best = [place for place, rank in enumerate(fronts(np.array(points, dtype=np.float64))) if rank == 0]
    single = {tuple(points[place]): place for place in reversed(best)}
    return [place for _, place in sorted(single.items())]


def hypervolume(points: Points, reference: Sequence[float]) -> float:
    """The area that points dominate above a reference point, for two objectives."""
    inside = points[(points > np.asarray(reference)).all(axis=1)]
    area, height = 0.0, float(reference[1])
    for x, y in sorted(inside.tolist(), reverse=True):
        if y > height:
            area += (x - reference[0]) * (y - height)
            height = y
    return area
