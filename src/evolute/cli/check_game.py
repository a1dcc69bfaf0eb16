"""The command `check-game`: whether a game that connects over a socket keeps to the messages and to the laws of games."""

from __future__ import annotations

import json

from evolute.config.error import ConfigError
from evolute.envs.spaces import describe
from evolute.games.connect import ConnectedGame
from evolute.games.messages import schema
from evolute.games.server import close_servers
from evolute.testing import check_async_game


def print_schema() -> None:
    """The JSON schemas of all messages."""
    print(json.dumps(schema(), indent=2))


def check(where: str, *, episodes: int, limit: float) -> None:
    """Play a game at a port or of a command at random, and say what is wrong with it."""
    try:
        game = ConnectedGame(where, wait=limit, stall=min(60.0, limit))
        print(f"hello   {', '.join(game.seats)}: {_sees(game)}")
        check_async_game(game, episodes=episodes, limit=limit)
    except (AssertionError, ValueError) as error:
        raise ConfigError(str(error)) from error
    finally:
        close_servers()
    twice = ", the same when they were played again" if game.repeatable else ""
    print(f"played  {episodes} episodes of each seat in two games at a time, with random actions{twice}")
    print("all is well")


def _sees(game: ConnectedGame) -> str:
    channels = f"; rewards in {', '.join(game.channels)}" if game.channels else ""
    return f"sees {describe(game.observation_space)}, does {describe(game.action_space)}{channels}"
