"""The equilibrium of all players so far: PSRO (Lanctot et al. 2017, arXiv 1711.00832), which learns best replies to it.

`rectified` is that of Balduzzi et al. (2019, arXiv 1901.08106): a member plays only those that it does not lose to, so that
each strengthens what it is good at.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from evolute.core.order import Player, Ref
from evolute.opponents.draw import weighted
from evolute.opponents.field import Choose, Field
from evolute.ratings.nash import antisymmetric, equilibrium
from evolute.ratings.scale import Floats


def nash(*, uniform: float = 0.1, rectified: bool = False) -> Choose:
    """One of the pool and of all newest states by their equilibrium, or with probability `uniform` any of them.

    The member's own newest state is itself as it learns. `rectified`: only those that it beats or ties with.
    """
    if not 0 <= uniform <= 1:
        raise ValueError(f"uniform={uniform}: must be a probability in [0, 1]")

    def choose(field: Field, slot: int, rng: np.random.Generator) -> Player:
        weights = mixture(field, slot, uniform=uniform, rectified=rectified)
        return weighted(list(weights), list(weights.values()), rng) if weights else None

    return choose


def mixture(field: Field, slot: int, *, uniform: float, rectified: bool) -> dict[Player, float]:
    """How much weight each player has for a member."""
    states = _states(field)
    weights = {ref: (1 - uniform) * share + uniform / len(states) for ref, share in zip(states, _shares(field), strict=True)}
    own = field.latest.get(slot)
    return {
        None if ref == own else ref: float(weight)
        for ref, weight in weights.items()
        if not rectified or own is None or ref == own or field.expected(slot, ref) >= 0.5
    }


def _states(field: Field) -> list[Ref]:
    return list(dict.fromkeys([*field.latest.values(), *field.pool]))


@lru_cache(maxsize=1)
def _shares(field: Field) -> Floats:
    """The equilibrium of all states; found once for all members that decide on the same field."""
    states = _states(field)
    shares = [[0.5 if one == other else field.payoff(one, other) for other in states] for one in states]
    return equilibrium(antisymmetric(np.array(shares).reshape(len(states), len(states))))
