"""Pure self-play: a member plays against itself, as it learns."""

from __future__ import annotations

from evolute.opponents.field import Choose


def self() -> Choose:
    """Every opponent is the member itself, as it learns."""
    return lambda field, slot, rng: None
