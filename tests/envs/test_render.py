"""Films: what is drawn of an episode, and that a policy sees in it what it saw in training."""

import itertools

import gymnasium
import numpy as np
import pytest

from evolute.envs.make import make_env
from evolute.envs.render import render_episode
from evolute.envs.spec import EnvSpec


def undrawn():
    return gymnasium.make("CartPole-v1")


def drawn(render_mode=None):
    return gymnasium.make("CartPole-v1", render_mode=render_mode)


def rendered(spec, *, flat=True, limit=5):
    """The frames of an episode of random actions, and the observations that led to them."""
    env = make_env(spec)
    env.action_space.seed(0)
    seen = []

    def act(obs):
        seen.append(obs)
        return env.action_space.sample()

    return list(render_episode(spec, act, flat=flat, seed=0, limit=limit)), seen, env.observation_space


@pytest.mark.parametrize(
    "spec",
    [
        EnvSpec("cartpole"),
        EnvSpec("cartpole", frame_stack=3, action_repeat=2, obs_scale=0.5, time_limit=100),
        EnvSpec("pong"),
        EnvSpec("pong", frame_stack=2),
        EnvSpec("gymnax:Pendulum-v1", obs_scale=0.1),
        EnvSpec("gymnax:Breakout-MinAtar", frame_stack=2),
        EnvSpec("gym:CartPole-v1", frame_stack=2, action_repeat=2, obs_scale=0.5),
        EnvSpec("gym:FrozenLake-v1"),
        EnvSpec("envpool:CartPole-v1", frame_stack=2),
        EnvSpec("minatar:Breakout"),
        EnvSpec("procgen:coinrun"),
        EnvSpec("tests.envs.test_render:drawn", frame_stack=2),
    ],
    ids=lambda spec: spec.name + (" wrapped" if spec.frame_stack > 1 else ""),
)
def test_an_episode_is_drawn_and_a_policy_sees_what_it_is_trained_on(spec):
    frames, seen, space = rendered(spec)
    assert len(frames) >= 1
    for picture in frames:
        assert picture.dtype == np.uint8
        assert picture.ndim == 3
        assert min(picture.shape[:2]) >= 64
        assert len(np.unique(picture)) > 1
    assert {np.shape(obs) for obs in seen} == {space.shape}


def test_stacked_frames_begin_with_the_first_and_end_with_the_newest():
    _, seen, _ = rendered(EnvSpec("gym:CartPole-v1", frame_stack=2))
    np.testing.assert_array_equal(seen[0][:4], seen[0][4:])
    for before, after in itertools.pairwise(seen):
        np.testing.assert_array_equal(before[4:], after[:4])
    assert not np.array_equal(seen[1][:4], seen[1][4:])


def test_a_policy_that_takes_observations_as_they_come_is_given_them_so():
    _, seen, _ = rendered(EnvSpec("gym:FrozenLake-v1"), flat=False)
    assert {np.shape(obs) for obs in seen} == {()}


def test_what_cannot_be_drawn_says_so():
    with pytest.raises(ValueError, match="undrawn cannot be rendered: its render_mode is None, and must be 'rgb_array'"):
        rendered(EnvSpec("tests.envs.test_render:undrawn"))
    with pytest.raises(ValueError, match="cannot be rendered; without --video its scores are printed"):
        rendered(EnvSpec("gymnax:PointRobot-misc"))
