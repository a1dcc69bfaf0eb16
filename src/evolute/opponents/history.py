"""Anybody, now or in the past, each as likely: fictitious self-play (Heinrich et al. 2015), which averages over all replies."""

from __future__ import annotations

from evolute.opponents.draw import drawn
from evolute.opponents.field import Choose


def history() -> Choose:
    """Uniformly one of the pool, the guests, the newest states of others, and the member itself as it learns."""
    return lambda field, slot, rng: drawn([*field.rivals(slot), None], rng)
