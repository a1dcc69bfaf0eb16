"""The other members as they are now, each as likely, as in the experiments of Liu et al. (2019, arXiv 1902.07151)."""

from __future__ import annotations

from evolute.opponents.draw import drawn
from evolute.opponents.field import Choose


def random() -> Choose:
    """Uniformly one of the newest states of the other members, and the guests."""
    return lambda field, slot, rng: drawn([*field.others(slot), *field.guests], rng)
