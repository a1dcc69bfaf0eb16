"""Checks that any plug-in should pass, for those who write one: call them from a test.

Each raises AssertionError with a sentence when a law of the design is broken.
"""

from evolute.testing.async_game import check_async_game
from evolute.testing.engine import check_engine
from evolute.testing.game import check_game
from evolute.testing.host_game import check_host_game
from evolute.testing.learner import check_learner
from evolute.testing.strategy import check_strategy

__all__ = ["check_async_game", "check_engine", "check_game", "check_host_game", "check_learner", "check_strategy"]
