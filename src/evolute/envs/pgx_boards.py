"""The games of pgx as a person sees them: boards and cards as text and as pictures, and names for moves.

All of it is read off observations, which show a game from one seat: X and capital letters are that seat's, O and small
letters the other's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evolute.envs.frames import Frame

Array = np.ndarray[Any, Any]
Grid = list[list[str]]
CELLS = {"tic_tac_toe": "", "othello": "pass", "go_9x9": "pass", "go_19x19": "pass", "hex": "swap"}
"""Games whose moves are the cells of the board, and what the one move besides these is called."""
PIECES = {
    "chess": "PNBRQK",
    "gardner_chess": "PNBRQK",
    "animal_shogi": "PBRKG",
}
"""The pieces of games that move them, in the order of the planes of an observation."""
CARDS = {"kuhn_poker": ("bet", "pass"), "leduc_holdem": ("call", "raise", "fold")}
"""The moves of card games."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"
EMPTY = "."
CELL = 36
"""The pixels of a cell's side in a picture."""
BOARD, HOLE, MINE, THEIRS = (46, 68, 84), (32, 48, 60), (230, 126, 34), (120, 190, 235)


def action_names(game: str, actions: int, shape: Sequence[int]) -> list[str]:
    """What each action is called: a cell by column and row, a column by its number, a card player's move by its word.

    Where nothing better is known it is the action's number.
    """
    if game in CARDS:
        return list(CARDS[game])
    if game == "connect_four":
        return [str(1 + column) for column in range(actions)]
    if game not in CELLS:
        return [str(action) for action in range(actions)]
    cells = [f"{LETTERS[column]}{1 + row}" for row in range(shape[0]) for column in range(shape[1])]
    return [*cells, *([CELLS[game]] * (actions - len(cells)))]


def grid_of(game: str, obs: Array) -> Grid | None:
    """The cells of a board as characters, row by row; None for a game without a board that is known here."""
    if game in CELLS or game == "connect_four":
        return _marked(obs[..., :2], "X", "O")
    if game in PIECES:
        pieces = PIECES[game]
        return _marked(obs[..., : 2 * len(pieces)], pieces, pieces.lower())
    return None


def text_of(game: str, obs: Array) -> str:
    """What the seat sees whose observation this is."""
    grid = grid_of(game, obs)
    if grid is not None:
        side = _sides(obs) if game == "hex" else ""
        return "\n".join([*_labelled(grid, game), *([side] if side else [])])
    if game == "kuhn_poker":
        return f"your card: {_card(obs[:3])}; bets: you {np.argmax(obs[3:5])}, the other {np.argmax(obs[5:7])}"
    if game == "leduc_holdem":
        chips = f"chips: you {np.argmax(obs[6:20])}, the other {np.argmax(obs[20:34])}"
        return f"your card: {_card(obs[:3])}; public card: {_card(obs[3:6])}; {chips}"
    return f"you see: {np.array2string(obs.astype(np.float32), precision=3, max_line_width=100, threshold=200)}"


def frame_of(game: str, obs: Array) -> Frame | None:
    """A picture of a board with two kinds of stones; None if the game has none."""
    if game not in CELLS and game != "connect_four":
        return None
    mine, theirs = (np.asarray(obs[..., plane], bool) for plane in (0, 1))
    rows, columns = mine.shape
    y, x = np.mgrid[: rows * CELL, : columns * CELL]
    distance = np.hypot(x % CELL - (CELL - 1) / 2, y % CELL - (CELL - 1) / 2)
    colours = np.where(mine[..., None], MINE, np.where(theirs[..., None], THEIRS, HOLE))
    stones = colours.repeat(CELL, axis=0).repeat(CELL, axis=1)
    picture = np.where((distance < 0.42 * CELL)[..., None], stones, BOARD)
    return np.ascontiguousarray(picture.astype(np.uint8))


def moved(before: Grid, after: Grid) -> str:
    """The name of a move of a piece, by the boards before and after it, seen from the mover's seat: a2a4, a7a8=Q, P@b3.

    A move of two pieces is that of the king; it is "" if no piece of the mover's has moved.
    """
    old, new = _pieces(before), _pieces(after)
    left = [place for place in old if place not in new]
    reached = [place for place in new if old.get(place) != new[place]]
    if not reached:
        return ""
    if not left:
        return f"{new[reached[0]]}@{_square(before, reached[0])}"  # it was in the hand
    start = next((place for place in left if old[place] == "K"), left[0])
    end = next((place for place in reached if new[place] == old[start]), reached[0])
    promotion = "" if new[end] == old[start] else f"={new[end]}"
    return f"{_square(before, start)}{_square(before, end)}{promotion}"


def _pieces(grid: Grid) -> dict[tuple[int, int], str]:
    """The mover's pieces by row and column."""
    return {(row, column): one for row, line in enumerate(grid) for column, one in enumerate(line) if one.isupper()}


def _square(grid: Grid, place: tuple[int, int]) -> str:
    return f"{LETTERS[place[1]]}{len(grid) - place[0]}"


def _marked(planes: Array, mine: str, theirs: str) -> Grid:
    """A board of characters from planes, those of the one side first."""
    symbols = mine + theirs
    grid = [[EMPTY] * planes.shape[1] for _ in range(planes.shape[0])]
    for row, column, plane in zip(*np.nonzero(planes), strict=True):
        grid[row][column] = symbols[plane]
    return grid


def _labelled(grid: Grid, game: str) -> list[str]:
    columns = LETTERS[: len(grid[0])] if game != "connect_four" else [str(1 + column) for column in range(len(grid[0]))]
    if game == "connect_four":
        return [*(" ".join(line) for line in grid), " ".join(columns)]
    numbers = range(len(grid), 0, -1) if game in PIECES else range(1, len(grid) + 1)
    slant = [" " * row if game == "hex" else "" for row in range(len(grid))]  # a cell of hex touches two above it
    lines = [f"{indent}{number:>2} {' '.join(line)}" for indent, number, line in zip(slant, numbers, grid, strict=True)]
    return ["   " + " ".join(columns), *lines]


def _sides(obs: Array) -> str:
    """Which sides of the board of hex a seat connects, by its colour."""
    return "you connect top and bottom" if obs[0, 0, 2] else "you connect left and right"


def _card(one_hot: Array) -> str:
    return "JQK"[int(np.argmax(one_hot))] if one_hot.any() else "none"
