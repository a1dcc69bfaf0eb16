"""Strategies decide the orders. Each is composed from an exploit rule, an explore rule and a score."""

from evolute.strategies.pbt import pbt
from evolute.strategies.random_search import random_search
from evolute.strategies.winner_takes_all import winner_takes_all

__all__ = ["pbt", "random_search", "winner_takes_all"]
