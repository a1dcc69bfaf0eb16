"""JaxMARL's games, if it is installed."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from evolute.envs.make import make_game
from evolute.envs.spec import EnvSpec
from evolute.testing import check_game

pytest.importorskip("jaxmarl")


@pytest.mark.parametrize(
    ("name", "teams"),
    [("MPE_simple_tag_v3", (0, 0, 0, 1)), ("MPE_simple_push_v3", (0, 1)), ("coin_game", (0, 1))],
)
def test_it_is_a_game(name, teams):
    game = make_game(EnvSpec(f"jaxmarl:{name}"))
    assert game.teams == teams
    check_game(game, games=4, limit=200)


def test_roles_are_told_apart_and_short_observations_padded():
    game = make_game(EnvSpec("jaxmarl:MPE_simple_tag_v3"))
    obs = np.asarray(game.reset(jax.random.key(0))[1].obs)
    assert obs.shape == (4, 16 + 2)
    assert obs[:, -2:].tolist() == [[1, 0], [1, 0], [1, 0], [0, 1]]
    assert obs[3, 14:16].tolist() == [0, 0]


def test_what_is_wrong_is_told():
    with pytest.raises(ValueError, match="did you mean 'coin_game'"):
        make_game(EnvSpec("jaxmarl:coins_game"))
    with pytest.raises(ValueError, match=r"set jaxmarl\.max_steps instead"):
        make_game(EnvSpec("jaxmarl:MPE_simple_tag_v3", time_limit=5))
    with pytest.raises(ValueError, match="with the settings"):
        make_game(EnvSpec("jaxmarl:coin_game", {"speed": 5}))
