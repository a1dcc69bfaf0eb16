"""Equilibria of the meta-game, in which each move is to send a player.

`payoff` [player, player] is antisymmetric: what the player of the row gains on average from that of the column, from -1 for
all games lost to 1 for all won. Nash averaging (Balduzzi et al. 2018, arXiv 1806.02643) judges players by what they gain
against the equilibrium: copies of a player change nothing, and those that win only by beating weak ones gain nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evolute.ratings.scale import Floats
from evolute.threads import single_blas_thread

PRECISION = 1e-6
"""How exploitable an equilibrium may be by rounding and an early end of the search."""
STEPS = 20_000


def antisymmetric(shares: Floats) -> Floats:
    """The payoff of shares of games won [player, player], 0 to 1, where shares[i, j] + shares[j, i] is about 1."""
    return np.asarray(shares - shares.T, dtype=np.float64)


def exploitability(payoff: Floats, mixture: Floats) -> float:
    """What the best single player gains against a mixture [player]: 0 in an equilibrium."""
    return float(np.max(payoff @ mixture))


def solve(payoff: Floats) -> tuple[float, Floats]:
    """The value of a zero-sum game [row, column] to the rows, and a mixture of rows that guarantees it, by linear programming.

    Of several such mixtures it takes a corner, such as one of three clones; `equilibrium` gives to each its share.
    """
    from scipy.optimize import linprog

    rows, columns = payoff.shape
    done = linprog(
        np.append(np.zeros(rows), -1.0),
        A_ub=np.column_stack([-payoff.T, np.ones(columns)]),
        b_ub=np.zeros(columns),
        A_eq=np.append(np.ones(rows), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * rows + [(None, None)],
        method="highs",
    )
    if done.status != 0:
        raise ArithmeticError(f"the linear program of a {rows} x {columns} game was not solved: {done.message}")
    mixture = np.maximum(done.x[:-1], 0.0)
    return float(done.x[-1]), mixture / mixture.sum()


@single_blas_thread()
def equilibrium(payoff: Floats) -> Floats:
    """The equilibrium of highest entropy [player], which is unique.

    It is softmax(payoff · multipliers), the multipliers >= 0 belonging to "no player gains against it", and they minimise
    the logarithm of the softmax's denominator.
    """
    from scipy.optimize import minimize
    from scipy.special import logsumexp, softmax

    scale = float(np.abs(payoff).max(initial=0.0))
    if scale == 0:
        return np.full(len(payoff), 1 / max(len(payoff), 1))
    scaled = payoff / scale

    def dual(multipliers: Floats) -> tuple[float, Floats]:
        logits = scaled @ multipliers
        return float(logsumexp(logits)), -scaled @ softmax(logits)

    options = {"maxiter": STEPS, "maxfun": STEPS, "ftol": 0.0, "gtol": 1e-9, "maxcor": 30}
    start = np.zeros(len(payoff))
    done = minimize(dual, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(payoff), options=options)
    mixture = np.asarray(softmax(scaled @ done.x), dtype=np.float64)
    return mixture if exploitability(scaled, mixture) < PRECISION else solve(payoff)[1]


@dataclass(frozen=True)
class Average:
    """The equilibrium `mixture` [player], and each player's gain against it, its `skill` [player]."""

    mixture: Floats
    skill: Floats


def average(payoff: Floats) -> Average:
    """Nash averaging: the equilibrium of highest entropy, and what each player gains against it."""
    mixture = equilibrium(payoff)
    return Average(mixture, payoff @ mixture)


@dataclass(frozen=True)
class Interval:
    """Bounds [player] that hold each with the same probability."""

    low: Floats
    high: Floats


def intervals(wins: Floats, rng: np.random.Generator, *, draws: int = 200, level: float = 0.9) -> tuple[Interval, Interval]:
    """Credible intervals of mixture and skill, as results are by chance.

    wins[i, j] games of i against j were won by i, a draw being half a win. Each pair's true share is drawn from its Beta
    posterior, and the equilibrium found for each draw.
    """
    one, other = np.triu_indices(len(wins), 1)
    found = []
    for _ in range(draws):
        shares = np.full(wins.shape, 0.5)
        shares[one, other] = rng.beta(wins[one, other] + 1, wins[other, one] + 1)
        shares[other, one] = 1 - shares[one, other]
        found.append(average(antisymmetric(shares)))
    ends = ((1 - level) / 2, (1 + level) / 2)
    mixtures = np.quantile([one.mixture for one in found], ends, axis=0)
    skills = np.quantile([one.skill for one in found], ends, axis=0)
    return Interval(*mixtures), Interval(*skills)


def fictitious_play(payoff: Floats, steps: int = 10_000) -> Floats:
    """How often each player was the best reply to all replies before it [player] (Brown 1951): slow, and sure to converge."""
    counts = np.zeros(len(payoff))
    gains = np.zeros(len(payoff))
    for _ in range(steps):
        reply = int(np.argmax(gains))
        counts[reply] += 1
        gains += payoff[:, reply]
    return counts / steps
