"""alpha-rank (Omidshafiei et al. 2019, arXiv 1903.01373) of one population, in the limit of infinite alpha.

A population of one player is now and then challenged by another and taken over by it, almost surely if that one wins and
almost never if it loses. A player's rank is the share of time in which the population consists of it.
"""

from __future__ import annotations

import numpy as np

from evolute.ratings.scale import Floats
from evolute.threads import single_blas_thread

EPSILON = 1e-3
TIE = 1e-9


@single_blas_thread()
def alpha_rank(payoff: Floats, *, epsilon: float = EPSILON) -> Floats:
    """The share of time [player] of each player; `payoff` [player, player] is what the row gains against the column.

    A better challenger takes over with probability 1 - `epsilon`, an equal one with 1/2, and a worse one with `epsilon`.
    """
    count = len(payoff)
    if count == 1:
        return np.ones(1)
    taken = np.where(payoff.T > TIE, 1 - epsilon, np.where(payoff.T < -TIE, epsilon, 0.5)) / (count - 1)
    np.fill_diagonal(taken, 0.0)
    np.fill_diagonal(taken, 1 - taken.sum(axis=1))
    balance = np.vstack([taken.T - np.eye(count), np.ones(count)])
    shares: Floats = np.maximum(np.linalg.lstsq(balance, np.append(np.zeros(count), 1.0), rcond=None)[0], 0.0)
    return np.asarray(shares / shares.sum())
