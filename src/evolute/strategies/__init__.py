"""Strategies decide the orders. Each is composed from an exploit rule, an explore rule and a score."""

from evolute.strategies.bg_pbt import bg_pbt
from evolute.strategies.ga import ga
from evolute.strategies.ipbt import ipbt
from evolute.strategies.map_elites import map_elites
from evolute.strategies.mf_pbt import mf_pbt
from evolute.strategies.nsga2 import nsga2
from evolute.strategies.pb2 import pb2
from evolute.strategies.pb2_mix import pb2_mix
from evolute.strategies.pb2_mult import pb2_mult
from evolute.strategies.pb2_rand import pb2_rand
from evolute.strategies.pbt import pbt
from evolute.strategies.pbt_marl import pbt_marl
from evolute.strategies.random_search import random_search
from evolute.strategies.winner_takes_all import winner_takes_all

__all__ = [
    "bg_pbt",
    "ga",
    "ipbt",
    "map_elites",
    "mf_pbt",
    "nsga2",
    "pb2",
    "pb2_mix",
    "pb2_mult",
    "pb2_rand",
    "pbt",
    "pbt_marl",
    "random_search",
    "winner_takes_all",
]
