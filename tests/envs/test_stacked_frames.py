"""Environments that say that their observations are stacked frames: a step moves them on by one, a reset repeats the first."""

import numpy as np
import pytest
from rows import play

from evolute.envs.interface import stacked_frames_of
from evolute.envs.make import make_env
from evolute.envs.spec import EnvSpec

BREAKOUT = {"atari:Breakout": "ale_py", "envpool:Breakout-v5": "envpool"}


def check_frames(env, count, length):
    assert stacked_frames_of(env) == count
    obs, _, terminated, truncated = play(env, [[1, 2]], length=length)
    frames = np.stack(np.split(obs, count, axis=-1))
    begins = np.concatenate([np.ones((1, 2), bool), np.zeros((1, 2), bool), (terminated | truncated)[:-1]])
    assert begins[1:].any(), "no episode ended"
    assert (frames == frames[-1])[:, begins].all()
    assert (frames[:-1, 1:] == frames[1:, :-1])[:, ~begins[1:]].all()


@pytest.mark.parametrize("name", BREAKOUT)
def test_atari_stacks_its_frames(name):
    pytest.importorskip(BREAKOUT[name])
    check_frames(make_env(EnvSpec(name, time_limit=60)), 4, 150)


def test_a_wrapper_stacks_frames():
    check_frames(make_env(EnvSpec("gym:CartPole-v1", frame_stack=3, obs_scale=0.5)), 3, 60)


@pytest.mark.parametrize(
    ("name", "options", "wrap"),
    [
        ("atari:Breakout", {}, {"action_repeat": 2}),
        ("envpool:Breakout-v5", {}, {"action_repeat": 2}),
        ("envpool:Breakout-v5", {"episodic_life": True}, {}),
        ("envpool:Breakout-v5", {"gray_scale": False}, {}),
        ("cartpole", {}, {}),
        ("gym:CartPole-v1", {}, {}),
    ],
)
def test_other_observations_are_whole(name, options, wrap):
    pytest.importorskip(BREAKOUT.get(name, "gymnasium"))
    assert stacked_frames_of(make_env(EnvSpec(name, options=options, **wrap))) == 1
