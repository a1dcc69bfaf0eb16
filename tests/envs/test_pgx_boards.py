"""Games of pgx as a person sees them: boards, names of moves, cards, and pictures."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pgx")

import jax

from evolute.envs.adapters.pgx import PgxGame
from evolute.envs.game import Readable
from evolute.envs.pgx_boards import CELL, LETTERS, MINE, THEIRS, action_names, frame_of, grid_of, moved, text_of
from evolute.envs.render import Renders, text_frame


def played(game: PgxGame, *names: str):
    """The state after moves by name, whoever is to move."""
    step = jax.jit(game.step)
    state, view = jax.jit(game.reset)(jax.random.key(0))
    for name in names:
        action = game.moves(state, int(view.seat[0]))[name]
        tick = step(jax.random.key(1), state, np.array([action]))
        state, view = tick.state, tick.view
    return state, int(view.seat[0])


@pytest.fixture(scope="module")
def tic_tac_toe():
    return PgxGame("tic_tac_toe", {})


def test_a_seat_sees_itself_as_x(tic_tac_toe):
    assert isinstance(tic_tac_toe, Readable)
    state, seat = played(tic_tac_toe, "b2", "c1")
    assert tic_tac_toe.text(state, seat) == "   a b c\n 1 . . O\n 2 . X .\n 3 . . ."
    assert tic_tac_toe.text(state, 1 - seat) == "   a b c\n 1 . . X\n 2 . O .\n 3 . . ."
    assert "".join(tic_tac_toe.moves(state, seat)) == "a1b1a2c2a3b3c3"


def test_stones_fall_in_connect_four():
    game = PgxGame("connect_four", {})
    state, seat = played(game, "4", "4", "1")
    lines = game.text(state, seat).splitlines()
    assert lines[-3:] == [". . . X . . .", "O . . O . . .", "1 2 3 4 5 6 7"]
    assert len(lines) == 7


SLOW = pytest.mark.slow(reason="larger boards are compiled: a move is named by its cell there too")


@pytest.mark.parametrize("name", ["tic_tac_toe", pytest.param("othello", marks=SLOW), pytest.param("hex", marks=SLOW)])
def test_a_move_is_named_by_the_cell_that_it_takes(name):
    game, rng = PgxGame(name, {}), np.random.default_rng(0)
    step, reset = jax.jit(game.step), jax.jit(game.reset)
    state, view = reset(jax.random.key(0))
    for _ in range(5):
        seat = int(view.seat[0])
        moves = game.moves(state, seat)
        assert sorted(moves.values()) == np.flatnonzero(np.asarray(view.legal[0])).tolist()
        cell = str(rng.choice([move for move in moves if move not in ("pass", "swap")]))
        tick = step(jax.random.key(1), state, np.array([moves[cell]]))
        grid = grid_of(name, game.seen(tick.state, seat))
        assert grid[int(cell[1:]) - 1][LETTERS.index(cell[0])] == "X"
        state, view = tick.state, tick.view
        if tick.terminated:
            break


def test_hex_says_which_sides_to_connect():
    obs = np.zeros((11, 11, 4), bool)
    assert text_of("hex", obs).endswith("you connect left and right")
    obs[..., 2] = True
    assert text_of("hex", obs).endswith("you connect top and bottom")
    assert action_names("hex", 122, obs.shape)[-2:] == ["k11", "swap"]


@pytest.mark.slow(reason="compiles Kuhn poker: a seat is shown its own card and both bets")
def test_cards_are_shown_to_their_owner_only():
    game = PgxGame("kuhn_poker", {})
    state, seat = played(game, "bet")
    hands = [game.text(state, one) for one in (seat, 1 - seat)]
    assert hands[0].endswith("; bets: you 0, the other 1")
    assert hands[1].endswith("; bets: you 1, the other 0")
    assert hands[0][11] in "JQK"
    assert hands[0][11] != hands[1][11]


def test_leduc_has_a_public_card():
    obs = np.zeros(34, bool)
    obs[[1, 6 + 1, 20 + 3]] = True
    assert text_of("leduc_holdem", obs) == "your card: Q; public card: none; chips: you 1, the other 3"
    obs[3 + 2] = True
    assert "public card: K" in text_of("leduc_holdem", obs)
    assert action_names("leduc_holdem", 3, obs.shape) == ["call", "raise", "fold"]


def test_a_game_that_is_not_known_shows_what_the_network_sees():
    obs = np.arange(34)
    assert text_of("backgammon", obs).startswith("you see: [")
    assert frame_of("backgammon", obs) is None
    assert action_names("backgammon", 3, obs.shape) == ["0", "1", "2"]
    assert text_frame(text_of("backgammon", obs)).shape[2] == 3


def test_a_picture_has_a_disc_for_each_stone(tic_tac_toe):
    assert isinstance(tic_tac_toe, Renders)
    state, seat = played(tic_tac_toe, "b2", "c1", "a3")
    picture = tic_tac_toe.frame(state)
    assert picture.shape == (3 * CELL, 3 * CELL, 3)
    centres = [picture[CELL // 2 + CELL * row, CELL // 2 + CELL * column].tolist() for row, column in ((1, 1), (0, 2), (2, 0))]
    mine, theirs = ([colour == list(stone) for colour in centres] for stone in (MINE, THEIRS))
    first_moved = seat == 1  # after three moves the second is to move
    assert mine == [first_moved, not first_moved, first_moved]
    assert theirs == [not value for value in mine]


def board(text: str) -> list[list[str]]:
    return [list(line) for line in text.split("/")]


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ("../P.", "P./..", "a1a2"),
        (".n/P.", ".P/..", "a1b2"),
        ("P./..", "Q./..", ""),
        ("../P./..", "Q./../..", "a2a3=Q"),
        ("../..", "P./..", "P@a2"),
        ("K..R", ".RK.", "a1c1"),
    ],
)
def test_moves_of_pieces_are_named_by_what_they_do(before, after, name):
    if name:
        assert moved(board(before), board(after)) == name
    else:
        assert moved(board(before), board(before)) == ""


@pytest.mark.slow(reason="compiles chess on a small board: its first moves have the names that players use")
def test_the_first_moves_of_gardner_chess():
    game = PgxGame("gardner_chess", {})
    state, seat = played(game)
    moves = game.moves(state, seat)
    assert {"a2a3", "b2b3", "c2c3", "d2d3", "e2e3", "b1a3", "b1c3"} == set(moves)
    assert game.text(state, seat).splitlines()[-1] == " 1 R N B Q K"
