"""Whether players go round in circles: a beats b, b beats c, and c beats a, so that no rating tells the truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evolute.ratings.scale import Floats

ALARM = 0.95


@dataclass(frozen=True)
class Cycle:
    """Three players each of which beats the next, and the last the first, and how certain the least certain of these is."""

    players: tuple[int, int, int]
    certainty: float

    @property
    def alarm(self) -> bool:
        """Whether it is more than chance."""
        return self.certainty > ALARM


def alarm_level(compared: int) -> float:
    """How certain a cycle must be to be more than chance, if it is one of so many triples of players that were compared.

    Among equal players each of the three results is as certain as that by chance with probability 1 - level, and a cycle
    can go round in two ways. Both together shall happen with probability 1 - ALARM at most.
    """
    return max(ALARM, float(1 - ((1 - ALARM) / (2 * max(compared, 1))) ** (1 / 3)))


def strongest_cycle(wins: Floats) -> Cycle | None:
    """The cycle of three whose least certain result is the most certain; None if there are fewer than three players.

    wins[i, j] games of i against j were won by i, a draw being half a win. That i is better than j has the posterior
    probability of a Beta distribution.
    """
    from scipy.special import betaincc

    if len(wins) < 3:
        return None
    better = betaincc(wins + 1, wins.T + 1, 0.5)
    np.fill_diagonal(better, 0.0)
    strongest = Cycle((0, 1, 2), -1.0)
    for first in range(len(wins)):
        least = np.minimum(np.minimum(better[first][:, None], better), better[:, first][None, :])
        second, third = np.unravel_index(np.argmax(least), least.shape)
        if least[second, third] > strongest.certainty:
            strongest = Cycle((first, int(second), int(third)), float(least[second, third]))
    return strongest
