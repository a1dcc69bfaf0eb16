"""Returns in fresh episodes after a run: of whom, acting in which way, and which of them is the one to use."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from evolute.core.order import Ref

WAYS = {True: "with the likeliest actions", False: "with sampled actions", None: ""}
"""Ways of acting, in words."""


@dataclass(frozen=True)
class Evaluation:
    """Returns of one state in fresh episodes.

    `greedy` says whether it took the likeliest actions or sampled them; None if its learner, or an older run, does not say.
    """

    member: int
    turn: int
    mean: float
    deviation: float
    episodes: int
    greedy: bool | None = None

    @classmethod
    def of(cls, ref: Ref, returns: Sequence[float], *, greedy: bool | None) -> Evaluation:
        return cls(*ref, float(np.mean(returns)), float(np.std(returns)), len(returns), greedy)

    @property
    def ref(self) -> Ref:
        return Ref(self.member, self.turn)


def noise(one: Evaluation, other: Evaluation) -> float:
    """How far two means may be apart by chance: twice the standard error of their difference."""
    return 2 * math.sqrt(one.deviation**2 / one.episodes + other.deviation**2 / other.episodes)


def differ(one: Evaluation, other: Evaluation) -> bool:
    """Whether two means differ by more than noise."""
    return abs(one.mean - other.mean) > noise(one, other)


def ways(evaluations: Iterable[Evaluation], ref: Ref) -> list[Evaluation]:
    """The evaluations of one state, the way of acting that did better first.

    Sampling has to be better by a standard error of the difference, since a policy without chance is the handier one.
    """
    found = sorted((one for one in evaluations if one.ref == ref), key=lambda one: one.greedy is False)
    sampling = len(found) > 1 and found[1].mean - found[0].mean > noise(*found) / 2
    return found[::-1] if sampling else found


def winner(evaluations: Sequence[Evaluation]) -> Evaluation | None:
    """The state with the highest mean, each acting in its better way; the first of equals."""
    refs = dict.fromkeys(one.ref for one in evaluations)
    return max((ways(evaluations, ref)[0] for ref in refs), key=lambda one: one.mean, default=None)
