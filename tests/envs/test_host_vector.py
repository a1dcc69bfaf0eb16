from __future__ import annotations

import gymnasium
import numpy as np
import pytest
import tests.envs.host_probes  # noqa: F401 - registers its envs
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from rows import alone_as_among_others, play

from evolute.envs.host_vector import VectorHostEnv


def vectorised(count):
    return gymnasium.make_vec("CartPole-v1", num_envs=count)


def test_a_member_is_the_same_alone_as_among_others():
    alone_as_among_others(VectorHostEnv(vectorised))


def test_each_member_steps_as_its_own_vector_env():
    obs, rewards, *_ = play(VectorHostEnv(vectorised), [[5, 6, 7], [8]], length=3)
    assert (obs.shape, obs.dtype, rewards.dtype) == ((4, 4, 4), np.float32, np.float32)
    np.testing.assert_array_equal(obs[0, :3], vectorised(3).reset(seed=5)[0])


def test_a_member_that_raises_takes_no_other_with_it():
    makers = [lambda: gymnasium.make("probes/TimeLimit-v0"), lambda: gymnasium.make("probes/Raises-v0")]
    counts = []

    def make(count):
        counts.append(count)
        return SyncVectorEnv([makers[len(counts) == 2]] * count)

    vector = VectorHostEnv(make).vector([[1, 2], [3, 4]])
    vector.reset()
    rewards = np.array([vector.step(np.zeros(4, int))[1] for _ in range(80)])
    assert {row: str(error) for row, error in vector.failures.items()} == {0: "the 50th step", 1: "the 50th step"}
    assert np.isnan(rewards[-1]).tolist() == [True, True, False, False]
    assert np.isfinite(rewards[:, 2:]).all()


def test_envs_that_reset_in_the_same_step_are_refused():
    def make(count):
        return SyncVectorEnv([lambda: gymnasium.make("probes/TrueEnd-v0")] * count, autoreset_mode=AutoresetMode.SAME_STEP)

    with pytest.raises(ValueError, match=r"SAME_STEP.*need AutoresetMode.NEXT_STEP"):
        VectorHostEnv(make)
