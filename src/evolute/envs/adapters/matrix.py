"""Repeated matrix games: `matrix:rps`, or `matrix:own` with the payoffs in `matrix.payoff`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evolute.core.names import closest
from evolute.envs.adapter import Adapter, Library
from evolute.envs.game import Game

LIBRARY = Library((), None, "matrix:rps", "repeated matrix games with 2 or more seats")
ROUNDS = 10
PAYOFF = {
    "matching_pennies": [[[1, -1], [-1, 1]], [[-1, 1], [1, -1]]],
    "prisoners_dilemma": [[[3, 0], [5, 1]], [[3, 5], [0, 1]]],  # cooperate, defect
    "rps": [[[0, -1, 1], [1, 0, -1], [-1, 1, 0]], [[0, 1, -1], [-1, 0, 1], [1, -1, 0]]],  # rock, paper, scissors
}
MOVES = {
    "matching_pennies": ("heads", "tails"),
    "prisoners_dilemma": ("cooperate", "defect"),
    "rps": ("rock", "paper", "scissors"),
}
OWN = "own"


def make(name: str, options: Mapping[str, Any], *, time_limit: int | None = None) -> Game:
    """A game of `rounds` rounds: one of ours by name, or `own` with a `payoff` [seat, action of seat 0, …]."""
    from evolute.envs.matrix_game import MatrixGame

    if name not in IDS:
        raise ValueError(f"matrix has no game {name!r}{closest(name, IDS)}")
    if time_limit is not None:
        raise ValueError(f"wrap.time_limit={time_limit}: a matrix game is as long as matrix.rounds says")
    known = ("rounds", "payoff") if name == OWN else ("rounds",)
    for option in options:
        if option not in known:
            hint = f"; matrix:{OWN} does" if option == "payoff" else closest(option, known)
            raise ValueError(f"matrix:{name} takes no matrix.{option}{hint}")
    rounds = options.get("rounds", ROUNDS)
    if not isinstance(rounds, int) or rounds < 1:
        raise ValueError(f"matrix.rounds={rounds}: must be a whole number from 1 on")
    if name == OWN and "payoff" not in options:
        raise ValueError(f"matrix:{OWN} needs matrix.payoff: numbers [seat, action of seat 0, action of seat 1, …]")
    try:
        payoff = options["payoff"] if name == OWN else PAYOFF[name]
        return MatrixGame(payoff, rounds=rounds, moves=MOVES.get(name, ()))
    except ValueError as error:
        raise ValueError(f"matrix.{error}") from error


IDS = (*PAYOFF, OWN)
matrix = Adapter(library=LIBRARY, ids=IDS, game=make)
