"""Environments of Gymnasium and PettingZoo as games: the same episodes, asked for instead of stepped."""

from __future__ import annotations

import contextlib

import gymnasium
import numpy as np
import pytest

from evolute.core.rng import derive
from evolute.envs.lockstep import Lockstep
from evolute.games import from_gymnasium, from_host_game, from_pettingzoo
from evolute.testing import check_async_game


def cartpole():
    return gymnasium.make("CartPole-v1", max_episode_steps=20)


def test_cartpole_goes_as_if_it_were_stepped():
    seeds, rng = [11, 12], np.random.default_rng(0)
    with contextlib.closing(Lockstep(from_gymnasium(cartpole).host_env().pool([seeds]))) as vector:
        envs, episode = [cartpole(), cartpole()], [1, 1]
        expected = [env.reset(seed=derive(seed, "episode", 0))[0] for env, seed in zip(envs, seeds, strict=True)]
        np.testing.assert_array_equal(vector.reset(), expected)
        ended = [False, False]
        for _ in range(120):
            actions = rng.integers(0, 2, 2)
            obs, reward, terminated, truncated = vector.step(actions)
            for row, env in enumerate(envs):
                if ended[row]:
                    seen, facts = env.reset(seed=derive(seeds[row], "episode", episode[row]))[0], (0, False, False)
                    episode[row] += 1
                else:
                    seen, *facts, _ = env.step(int(actions[row]))
                np.testing.assert_array_equal(obs[row], seen)
                told = (reward[row], terminated[row], truncated[row] and not terminated[row])
                assert told == (facts[0], facts[1], facts[2] and not facts[1])
                ended[row] = facts[1] or facts[2]
        assert min(episode) > 3


def test_a_gymnasium_game_keeps_the_laws():
    check_async_game(from_gymnasium(cartpole))
    check_async_game(from_gymnasium(lambda: gymnasium.make("Pendulum-v1", max_episode_steps=10)), episodes=2)


def test_games_of_pettingzoo_keep_the_laws():
    pytest.importorskip("pettingzoo")
    from tests.envs.own_zoo import Counting

    game = from_pettingzoo(lambda: Counting(length=5))
    assert game.seats == ("player_0", "player_1")
    check_async_game(game)
    check_async_game(from_pettingzoo(lambda: Counting(length=4), plays="player_1"))


def test_a_game_on_the_host_keeps_the_laws():
    pytest.importorskip("pettingzoo")
    from tests.envs import own_zoo

    from evolute.envs.pettingzoo_game import PettingZooGame

    game = from_host_game(PettingZooGame("counting", own_zoo.Counting))
    assert game.seats == ("seat_0", "seat_1")
    check_async_game(game)
