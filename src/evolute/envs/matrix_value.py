"""Exact values in repeated matrix games, by dynamic programming over what the players see: for small games only.

A policy is a table [seat, situation, action] of probabilities. Situation 0 is the first round, situation 1 + i the i-th last
joint action in C order, as `MatrixGame.situations` lists them; a game of one round has situation 0 only. The mean of several
tables is the mixture that draws one of them in every round.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def exploitability(payoff: Any, policy: Array, *, rounds: int = 1) -> float:
    """What a seat can gain a round by leaving the policy alone, mean of all seats; 0 in a Nash equilibrium."""
    best = [best_response(payoff, policy, seat, rounds=rounds) for seat in range(len(policy))]
    return float(np.mean(np.array(best) - values(payoff, policy, rounds=rounds)))


def values(payoff: Any, policy: Array, *, rounds: int = 1) -> Array:
    """What each seat gets a round, [seat], if all of them play the policy."""
    tensor = np.asarray(payoff, float)
    return np.array([_value(tensor, policy, seat, rounds, best=False) for seat in range(len(tensor))])


def best_response(payoff: Any, policy: Array, seat: int, *, rounds: int = 1) -> float:
    """What one seat gets a round if it plays its best against the policy of all others, which it knows."""
    return _value(np.asarray(payoff, float), policy, seat, rounds, best=True)


def _value(payoff: Array, policy: Array, seat: int, rounds: int, *, best: bool) -> float:
    counts = payoff.shape[1:]
    others = np.ones((policy.shape[1], *counts))  # the probability of the others' actions, [situation, joint action]
    for other, count in enumerate(counts):
        if other != seat:
            shape = [-1, *(count if axis == other else 1 for axis in range(len(counts)))]
            others = others * policy[other, :, :count].reshape(shape)
    over_others = tuple(1 + other for other in range(len(counts)) if other != seat)
    own = policy[seat, :, : counts[seat]]
    ahead = np.zeros(policy.shape[1])
    for _ in range(rounds):
        then = ahead[1:].reshape(counts) if len(ahead) > 1 else np.zeros(counts)
        gains = (others * (payoff[seat] + then)).sum(axis=over_others)
        ahead = gains.max(axis=1) if best else (own * gains).sum(axis=1)
    return float(ahead[0]) / rounds
