"""Games that run by themselves: their seats ask for actions when they need them, and nobody steps them.

A game is a class with a coroutine `play`, which is one episode. All games of a worker run in one asyncio loop (`stage.py`).
"""

from evolute.games.game import Game, Seat
from evolute.games.wrap import from_gymnasium, from_host_game, from_pettingzoo

__all__ = ["Game", "Seat", "from_gymnasium", "from_host_game", "from_pettingzoo"]
