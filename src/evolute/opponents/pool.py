"""The pool of past states that members still meet: who is admitted, and who is forgotten when it is full.

A pool is a tuple of states, the oldest first. `every` admits by the clock, `better` by progress. `thin`, `oldest` and
`easiest` name the state to forget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from evolute.core.order import Player, Ref
from evolute.core.population import Population, descent
from evolute.core.ranking import is_number, ranked

Pool = tuple[Ref, ...]
Forget = Callable[[Pool], Ref]
"""Which state of a pool to forget."""
BETTER = 0.7


def is_due(before: int, now: int, *, every: int, size: int) -> bool:
    """Whether `size` members have on average finished another `every` turns, as their total went from `before` to `now`."""
    return now // (every * size) > before // (every * size)


def every(latest: Mapping[int, Ref], scores: Sequence[float | None], rng: np.random.Generator) -> list[Ref]:
    """The newest state of a member drawn by chance, and that of the best by its score [slot]; one if they are the same."""
    if not latest:
        return []
    rated = [slot for slot in ranked(scores) if slot in latest and is_number(scores[slot])]
    slots = sorted(latest)
    return list(dict.fromkeys([latest[slots[rng.integers(len(slots))]], *(latest[slot] for slot in rated[:1])]))


def better(
    population: Population,
    latest: Mapping[int, Ref],
    pool: Pool,
    payoff: Callable[[Ref, Player], float],
    *,
    threshold: float = BETTER,
) -> list[Ref]:
    """The newest states that win more than `threshold` of their games against the newest of their line in the pool.

    A line that has none in the pool is admitted at once.
    """
    held = set(pool)
    found = []
    for ref in latest.values():
        ancestor = next((turn.ref for turn in descent(population.find(ref)) if turn.ref in held), None)
        if ancestor is None or (ancestor != ref and payoff(ref, ancestor) > threshold):
            found.append(ref)
    return found


def admitted(pool: Pool, states: Sequence[Ref], *, capacity: int, forget: Forget) -> Pool:
    """The pool with these states as its newest, and with at most `capacity`."""
    for state in states:
        if state not in pool:
            pool = (*pool, state)
        while len(pool) > capacity:
            gone = forget(pool)
            pool = tuple(kept for kept in pool if kept != gone)
    return pool


def thin(pool: Pool) -> Ref:
    """The state whose neighbours in time are closest, so that the whole past stays covered.

    Time is counted in turns. Of equals the oldest goes; the first and the last state stay while there are others.
    """
    if len(pool) < 3:
        return pool[0]
    gaps = [after.turn - before.turn for before, after in zip(pool, pool[2:], strict=False)]
    return pool[1 + int(np.argmin(gaps))]


def oldest(pool: Pool) -> Ref:
    """The state that came first."""
    return pool[0]


def easiest(beaten: Callable[[Ref], float]) -> Forget:
    """The state that members beat most, by the share of games that they win against it; of equals the oldest."""
    return lambda pool: max(pool, key=beaten)
