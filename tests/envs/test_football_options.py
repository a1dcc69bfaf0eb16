"""The settings of football are read, and refused, without football itself."""

import pytest

from evolute.envs.adapters.football import Options


def test_what_is_no_number_of_players_is_refused():
    for value in ("two", 1.5, True, None):
        with pytest.raises(ValueError, match=rf"football.left={value}: must be a whole number of players, such as 1"):
            Options.read({"left": value})
    with pytest.raises(ValueError, match=r"football.left=0, football.right=0: at least one player must be a seat"):
        Options.read({"left": 0})
    with pytest.raises(ValueError, match=r"football.rewards=1: there are scoring and checkpoints"):
        Options.read({"rewards": 1})
    assert Options.read({"left": 2}, right=1).seats == 3
