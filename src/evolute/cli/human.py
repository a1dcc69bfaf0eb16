"""`evolute play RUN --against human`: a person plays a member, move by move, in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from evolute.config.error import ConfigError
from evolute.core.rng import derive
from evolute.envs.game import Game, Readable, Situation
from evolute.envs.host_game import HostGame
from evolute.report.formats import count
from evolute.runs.playthrough import Contestant, Moment, game_of, in_turns, member, moments

LISTED = 24
"""At most so many legal moves are listed without being asked for."""


class QuitError(Exception):
    """The person does not want to go on."""


def play_human(folder: Path, slot: int | None, *, games: int | None, seed: int, greedy: bool | None) -> None:
    """Play games with a person until that one has had enough, or so many."""
    rival = member(folder, slot, greedy=greedy)
    game = game_of(folder)
    board = board_of(game, folder)
    print(f"You play against {rival.name}. Type a move, ? for all legal moves, q to quit.")
    tally = {"won": 0, "drawn": 0, "lost": 0}
    try:
        number = 0
        while games is None or number < games:
            if number and games is None and not _again():
                break
            tally[_game(game, board, rival, number, derive(seed, "game", number))] += 1
            number += 1
    except (QuitError, EOFError, KeyboardInterrupt):
        print()
    print(f"{count(sum(tally.values()), 'game')}: {', '.join(f'{word} {number}' for word, number in tally.items())}")


def _game(game: Game | HostGame, board: Board, rival: Contestant, number: int, seed: int) -> str:
    """One game; the person changes seats with every game. Returns how it ended for the person."""
    seat = number % len(game.teams)
    person = Person(board, seat, rival.name)
    players = [person if one == seat else rival.player(one, seed) for one in range(len(game.teams))]
    print(f"\nGame {number + 1}")
    for moment in moments(game, players, seed=seed):
        person.see(moment)
    print(f"\n{board.text(moment.state, seat)}")
    ended = _ended(moment.returns, seat, game.teams)
    print(f"You {'drew' if ended == 'drawn' else ended}: {moment.returns[seat]:+g}.")
    return ended


def _ended(returns: np.ndarray[Any, Any], seat: int, teams: tuple[int, ...]) -> str:
    others = np.mean([value for value, team in zip(returns, teams, strict=True) if team != teams[seat]])
    return "won" if returns[seat] > others else "lost" if returns[seat] < others else "drawn"


def _again() -> bool:
    return input("Another game? [Y/n] ").strip().lower() in ("", "y", "yes")


@dataclass
class Person:
    """Asks for moves. What the others did meanwhile is said first."""

    board: Board
    seat: int
    rival: str
    _before: Moment | None = field(default=None)

    def see(self, moment: Moment) -> None:
        if self._before is not None:
            for seat, action in moment.moved:
                if seat != self.seat:
                    print(f"{self.rival} plays {self.board.name(self._before.state, seat, action)}")
        self._before = moment

    def __call__(self, situation: Situation) -> int:
        print(f"\n{self.board.text(situation.state, self.seat)}")
        moves = self.board.moves(situation)
        self._list(moves, LISTED)
        while True:
            typed = input("Your move: ").strip().lower()
            if typed in ("q", "quit", "exit"):
                raise QuitError
            if typed == "?":
                self._list(moves, len(moves))
            elif (found := {name.lower(): action for name, action in moves.items()}.get(typed)) is not None:
                return found
            else:
                print(f"{typed!r} is not legal here.")
                self._list(moves, LISTED)

    def _list(self, moves: Mapping[str, int], most: int) -> None:
        more = f" … (? lists all {len(moves)})" if len(moves) > most else ""
        print(f"Legal: {' '.join(list(moves)[:most])}{more}")


@dataclass(frozen=True)
class Board:
    """A game as a person sees it; one that has no text of its own shows its observations, and numbers as moves."""

    game: Game | HostGame
    readable: Readable | None

    def text(self, state: Any, seat: int) -> str:
        return "" if self.readable is None else self.readable.text(state, seat)

    def moves(self, situation: Situation) -> Mapping[str, int]:
        if self.readable is not None:
            return self.readable.moves(situation.state, int(situation.seat))
        print(f"You see: {np.array2string(np.asarray(situation.obs), precision=3, max_line_width=100, threshold=200)}")
        number = int(getattr(self.game.action_space, "n", 0))
        legal = range(number) if situation.legal is None else np.flatnonzero(np.asarray(situation.legal)).tolist()
        return {str(action): action for action in legal}

    def name(self, state: Any, seat: int, action: Any) -> str:
        if self.readable is None:
            return str(action)
        names = {number: name for name, number in self.readable.moves(state, seat).items()}
        return names.get(int(action), str(action))


def board_of(game: Game | HostGame, folder: Path) -> Board:
    described: object = game
    if isinstance(described, Readable):
        return Board(game, described)
    if not in_turns(game) or not isinstance(game.action_space, gymnasium.spaces.Discrete):
        raise ConfigError(
            f"--against human: the game of {folder} is not played move by move; board, card and matrix games are. "
            "Name a run or a bot, and --video to watch"
        )
    return Board(game, None)
