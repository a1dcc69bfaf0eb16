from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Text, Tuple
from rows import play
from tests.envs import host_probes

from evolute.envs.host_sync import SyncHostEnv


def cartpole():
    return gymnasium.make("CartPole-v1", disable_env_checker=True)


def test_steps_as_gymnasiums_vector_env_does():
    vector = SyncHostEnv(cartpole).vector([[3, 4], [5, 6]])
    other = gymnasium.vector.SyncVectorEnv([cartpole] * 4)
    np.testing.assert_array_equal(vector.reset(), other.reset(seed=[3, 4, 5, 6])[0])
    rng = np.random.default_rng(0)
    for _ in range(120):
        actions = rng.integers(0, 2, 4)
        for ours, theirs in zip(vector.step(actions), other.step(actions)[:4], strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_what_was_returned_does_not_change_later():
    vector = SyncHostEnv(cartpole).vector([[1]])
    returned = [vector.reset(), vector.step(np.array([0]))[0]]
    kept = np.array(returned)
    vector.step(np.array([0]))
    np.testing.assert_array_equal(returned, kept)


@pytest.mark.parametrize(
    ("name", "ends"),
    [("probes/TimeLimit-v0", (False, True)), ("probes/TrueEnd-v0", (True, False)), ("probes/ActionByObs-v0", (True, False))],
)
def test_the_end_of_time_truncates_and_a_true_end_terminates(name, ends):
    _, rewards, terminated, truncated = play(SyncHostEnv(lambda: gymnasium.make(name)), [[1]], length=12)
    last = np.flatnonzero(terminated[:, 0] | truncated[:, 0])[0]
    assert (terminated[last, 0], truncated[last, 0]) == ends
    assert (rewards[last + 1, 0], terminated[last + 1, 0], truncated[last + 1, 0]) == (0.0, False, False)


def test_actions_are_repeated_until_the_end():
    env = SyncHostEnv(lambda: gymnasium.make("probes/TimeLimit-v0"), action_repeat=4)
    _, rewards, _, truncated = play(env, [[1]], length=5)
    assert rewards[:, 0].tolist() == [4.0, 4.0, 2.0, 0.0, 4.0]
    assert truncated[:, 0].tolist() == [False, False, True, False, False]
    assert env.time_limit == 3


def test_an_env_that_raises_takes_no_other_with_it():
    made = []

    def make():
        made.append(gymnasium.make("probes/Raises-v0" if len(made) == 2 else "probes/TimeLimit-v0"))
        return made[-1]

    vector = SyncHostEnv(make).vector([[1, 2], [3]])
    vector.reset()
    rewards = np.array([vector.step(np.zeros(3, int))[1] for _ in range(80)])
    assert {row: str(error) for row, error in vector.failures.items()} == {1: "the 50th step"}
    assert np.isnan(rewards[:, 1]).sum() == 80 - (49 + 4)  # a reset after every 10 steps is not one of its 50
    assert np.isfinite(rewards[:, [0, 2]]).all()


def test_rewards_that_are_nan_are_passed_on():
    rewards = play(SyncHostEnv(lambda: gymnasium.make("probes/NanRewards-v0")), [[1]], length=6)[1]
    assert np.isnan(rewards[:, 0]).tolist() == [False] * 4 + [True] * 2


def test_spaces_no_learner_can_use_are_told_at_once():
    class Reads(host_probes.HostProbe):
        observation_space = Text(5)

    with pytest.raises(ValueError, match="observations are Text"):
        SyncHostEnv(Reads)


PARTS = Dict({"place": Box(0, 1, (2,)), "pair": Tuple((Discrete(3), Box(0, 1, (1,))))})
PLACE, PAIR = np.zeros(2), (0, np.zeros(1))


@pytest.mark.parametrize(
    ("space", "obs", "said"),
    [
        (PARTS, {"place": PLACE}, "obs has no 'pair'"),
        (PARTS, {"place": np.zeros(3), "pair": PAIR}, "obs['place'] has the shape (3,), and should have (2,)"),
        (PARTS, {"place": PLACE, "pair": (0, np.zeros(4))}, "obs['pair'][1] has the shape (4,), and should have (1,)"),
        (PARTS, {"place": PLACE, "pair": (0,)}, "obs['pair'] should be a tuple of 2"),
        (PARTS, PLACE, "obs is a ndarray, and should be a dict"),
        (Box(0, 1, (4,)), np.zeros(1), "obs has the shape (1,), and should have (4,)"),  # numpy would broadcast it
    ],
)
def test_an_observation_that_is_not_of_the_space_is_told_by_its_part(space, obs, said):
    class Odd(host_probes.HostProbe):
        observation_space = space

        def reset(self, *, seed=None, options=None):
            return obs, {}

    vector = SyncHostEnv(Odd).vector([[1]])
    vector.reset()
    assert str(vector.failures[0]) == f"an observation is not of the environment's observation_space: {said}"


def test_an_observation_may_turn_out_wrong_in_a_later_step():
    class Late(host_probes.HostProbe):
        observation_space = Dict({"place": Box(0, 1, (2,))})
        action_space = Discrete(2)

        def reset(self, *, seed=None, options=None):
            return {"place": PLACE}, {}

        def step(self, action):
            return {}, 0.0, False, False, {}

    vector = SyncHostEnv(Late).vector([[1]])
    vector.reset()
    assert not vector.failures
    vector.step(np.array([0]))
    assert "obs has no 'place'" in str(vector.failures[0])
