"""How long ago a run found its best score."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from evolute.core.ranking import better


@dataclass(frozen=True)
class Plateau:
    """The best score of any member so far, when it was found, and how many turns, of any member, came in after that.

    Time is counted in decisions where all members wait for each other: turns of one decision are at once, so it does not matter
    which of them came in first. Elsewhere it is counted in turns, in the order of the journal.
    """

    best: float | None = None
    moment: int = 0
    turns: int = 0

    @classmethod
    def of(cls, scores: Iterable[tuple[int, float | None]], *, barrier: bool) -> Plateau:
        """The plateau after these turns: each one's decision and score, in the order in which they came in."""
        plateau = cls()
        rows = sorted(scores, key=lambda row: row[0]) if barrier else list(scores)
        for place, (decision, score) in enumerate(rows):
            plateau = plateau.after(score, decision if barrier else place)
        return plateau

    def after(self, score: float | None, moment: int) -> Plateau:
        """The plateau after another turn; its score is its own, None if it has none."""
        if better(score, self.best):
            return Plateau(score, moment)
        return replace(self, turns=self.turns + 1) if moment > self.moment or self.best is None else self
