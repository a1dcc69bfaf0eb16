from __future__ import annotations

import numpy as np
import pytest
from rows import alone_as_among_others, play

from evolute.envs.adapters.envpool import EnvPoolEnv, ids

pytest.importorskip("envpool")


def test_a_member_is_the_same_alone_as_among_others():
    alone_as_among_others(EnvPoolEnv("CartPole-v1", {}))


def test_the_number_of_threads_changes_nothing():
    one, two = (
        play(EnvPoolEnv("CartPole-v1", {"num_threads": threads}), [[1, 2, 3], [4, 5, 6]], length=60) for threads in (1, 2)
    )
    for ours, theirs in zip(one, two, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_an_env_resets_in_the_step_after_its_end():
    obs, rewards, terminated, truncated = play(EnvPoolEnv("CartPole-v1", {}), [[1, 2]], length=60)
    last = np.flatnonzero(terminated[:, 0])[0]
    assert (rewards[last + 1, 0], terminated[last + 1, 0]) == (0.0, False)
    assert np.abs(obs[last + 2, 0]).max() <= 0.05
    assert np.abs(obs[last + 1, 0, 2]) > 0.2
    assert not truncated.any()


def test_the_time_limit_replaces_the_envs_own_and_truncates():
    env = EnvPoolEnv("CartPole-v1", {}, time_limit=7)
    _, _, terminated, truncated = play(env, [[1]], length=8)
    assert (env.time_limit, EnvPoolEnv("CartPole-v1", {}).time_limit) == (7, 500)
    assert (truncated[:, 0].tolist(), terminated.any()) == ([False] * 6 + [True, False], False)


def test_actions_are_repeated_until_the_end_and_not_in_the_step_of_a_reset():
    env = EnvPoolEnv("CartPole-v1", {}, time_limit=7, action_repeat=3)
    obs, rewards, _, truncated = play(env, [[1, 2]], length=6)
    assert rewards[:, 0].tolist() == [3.0, 3.0, 1.0, 0.0, 3.0, 3.0]
    assert truncated[:, 0].tolist() == [False, False, True, False, False, False]
    assert np.abs(obs[4]).max() <= 0.05
    assert env.time_limit == 3


def test_images_stay_bytes_with_the_channel_last():
    env = EnvPoolEnv("Breakout-v5", {})
    assert (env.observation_space.shape, env.observation_space.dtype) == ((84, 84, 4), np.uint8)
    obs = play(env, [[1, 2]], length=2)[0]
    assert (obs.shape, obs.dtype) == ((3, 2, 84, 84, 4), np.uint8)


@pytest.mark.parametrize("name", ["FrozenLake-v1", "HalfCheetah-v5", "MiniGrid-Empty-5x5-v0"])
def test_any_observation_becomes_one_array(name):
    env = EnvPoolEnv(name, {})
    obs = play(env, [[1]], length=1)[0]
    assert env.observation_space.contains(obs[0, 0])


def test_seeds_of_any_size_are_taken():
    assert play(EnvPoolEnv("CartPole-v1", {}), [[2**40 + 1]], length=1)[0].shape == (2, 1, 4)


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("CartPole-v9", {}, "did you mean 'CartPole-v1'"),
        ("CartPole-v1", {"speed": 3}, r"does not take the options \{'speed': 3\}"),
    ],
)
def test_what_is_not_there_is_told(name, options, says):
    with pytest.raises(ValueError, match=says):
        EnvPoolEnv(name, options)


def test_knows_many_names():
    assert {"CartPole-v1", "Pong-v5", "HalfCheetah-v5"} <= set(ids())
