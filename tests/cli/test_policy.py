"""From a run to a policy: train, show, play, record and export, as a user types it; kill and resume in between."""

import json
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import evolute
from evolute.policy import Policy, load

SMALL = {"envs": 4, "unroll": 64, "minibatches": 2, "widths": [16], "lr": "log[1e-3, 1e-2]"}


def evolute_cli(*arguments, cwd, ok=True):
    done = subprocess.run([sys.executable, "-m", "evolute", *map(str, arguments)], cwd=cwd, capture_output=True, text=True)
    assert (done.returncode == 0) is ok, done.stderr
    return done.stdout if ok else done.stderr


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a short run in it."""
    folder = tmp_path_factory.mktemp("policy")
    settings = [f"ppo.{key}={json.dumps(value) if key != 'lr' else value}" for key, value in SMALL.items()]
    out = evolute_cli(
        "run", "-m", "learner=ppo", "env=CartPole-v1", "population=4", "interval=1024", "stop.turns=3", *settings,
        "--folder", "a", cwd=folder,
    )  # fmt: skip
    assert "compiling" in out
    assert "evaluated: " in out
    assert "100 fresh episodes" in out
    return folder


def test_a_member_plays_fresh_episodes(place):
    result = json.loads(evolute_cli("play", "a", "--episodes", 7, "--json", cwd=place))
    assert result["episodes"] == 7
    assert 8 <= result["lowest"] <= result["mean"] <= result["highest"] <= 500
    assert "fresh episodes" in evolute_cli("play", "a", "--member", 2, "--episodes", 3, cwd=place)


@pytest.mark.slow(reason="renders a whole episode as a video and as a GIF")
def test_an_episode_is_recorded_as_a_video(place):
    result = json.loads(evolute_cli("play", "a", "--episodes", 1, "--video", "b.gif", "--json", cwd=place))
    with Image.open(place / "b.gif") as video:
        assert video.n_frames > 1
        assert video.size == (300, 200)
    assert result["frames"] > 5
    evolute_cli("play", "a", "--episodes", 1, "--film", "b.mp4", cwd=place)
    assert (place / "b.mp4").stat().st_size > 1000
    assert "call it .gif or .mp4" in evolute_cli("play", "a", "--episodes", 1, "--video", "b.avi", cwd=place, ok=False)
    assert "--film" not in evolute_cli("play", "--help", cwd=place)


def test_an_exported_policy_needs_numpy_alone(place):
    assert "policy.npz" in evolute_cli("export", "a", cwd=place)
    code = """
import sys
for name in ("jax", "gymnasium", "scipy", "pydantic"):
    sys.modules[name] = None
from evolute.policy import load
print(load("policy.npz")([0.0, 0.0, 0.2, 0.0], greedy=True))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=place, capture_output=True, text=True, check=True)
    run = evolute.load(place / "a")
    assert int(done.stdout) == run.best.policy(np.array([0.0, 0.0, 0.2, 0.0]), greedy=True)
    assert load(place / "policy.npz").about["network"]["widths"] == [16]
    (place / "text.npz").write_text("no policy")
    with pytest.raises(ValueError, match=r"text.npz is not a policy that Evolute exported"):
        load(place / "text.npz")
    assert "a .npz file" in evolute_cli("export", "a", "policy.txt", cwd=place, ok=False)


def test_a_policy_takes_one_observation_or_a_batch_and_says_what_it_cannot_take(place):
    policy = evolute.load(place / "a").best.policy
    assert np.shape(policy(np.zeros(4))) == ()
    assert np.shape(policy(np.zeros((1, 4)))) == (1,)
    assert np.shape(policy(np.zeros((3, 4)))) == (3,)
    with pytest.raises(ValueError, match=r"an observation is 4 numbers, and this is an array \(5,\)"):
        policy(np.zeros(5))
    with pytest.raises(ValueError, match=r"4 numbers, and this is dict; .*flatten\(space, observation, numpy\)"):
        policy({"a": np.zeros(4)})


CATCH = """
import gymnasium, numpy as np
from gymnasium import spaces
class Catch(gymnasium.Env):
    observation_space = spaces.Dict({"me": spaces.Discrete(5), "ball": spaces.Box(0, 4, (2,), np.float32)})
    action_space = spaces.Discrete(3)
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._obs(), {}
    def step(self, action):
        return self._obs(), float(action), self.np_random.random() < 0.2, False, {}
    def _obs(self):
        return {"me": int(self.np_random.integers(5)), "ball": self.np_random.random(2, np.float32)}
"""


def test_an_exported_policy_flattens_dict_observations_itself_in_numpy(tmp_path, monkeypatch):
    (tmp_path / "catch.py").write_text(CATCH)
    monkeypatch.syspath_prepend(tmp_path)
    arguments = {"population": 2, "interval": 256, "stop": {"turns": 1}, "ppo": SMALL, "display": "none"}
    run = evolute.run("ppo", env="catch:Catch", folder=tmp_path / "run", **arguments)
    evolute_cli("export", "run", cwd=tmp_path)
    code = """
import sys
for name in ("jax", "gymnasium", "scipy", "pydantic"):
    sys.modules[name] = None
from evolute.policy import load
policy = load("policy.npz")
print(int(policy({"ball": [0.5, 0.25], "me": 3})), policy({"ball": [[0.5, 0.25]] * 2, "me": [3, 4]}).tolist())
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    flat = np.array([[0.5, 0.25, 0, 0, 0, 1, 0], [0.5, 0.25, 0, 0, 0, 0, 1]], np.float32)
    both = run.best.policy(flat).tolist()
    assert done.stdout == f"{both[0]} {both}\n"
    about = {key: value for key, value in run.best.policy.about.items() if key != "observation"}
    Policy(run.best.policy.arrays, about, run.best.policy.mean, run.best.policy.variance).save(tmp_path / "old.npz")
    old = load(tmp_path / "old.npz")
    assert old(flat).tolist() == both
    with pytest.raises(ValueError, match="7 numbers, and this is dict"):
        old({"ball": [0.5, 0.25], "me": 3})


def test_a_run_that_was_left_in_the_middle_ends_in_the_same_weights(tmp_path, stopped_at):
    arguments = {
        "env": "CartPole-v1", "population": 4, "interval": 512, "stop": {"turns": 4}, "ppo": SMALL, "display": "none",
    }  # fmt: skip
    whole = evolute.run("ppo", folder=tmp_path / "whole", **arguments)
    stopped_at(12, lambda: evolute.run("ppo", folder=tmp_path / "left", **arguments))
    left = evolute.run("ppo", folder=tmp_path / "left", **arguments)
    for slot in range(4):
        one, other = whole.member(slot).turn.report, left.member(slot).turn.report
        assert (one.digest, one.metrics) == (other.digest, other.metrics)


@pytest.mark.slow(reason="compiles twice, here and in a child, and compares the weights")
def test_a_time_limit_trains_in_a_child_with_the_same_result(tmp_path):
    arguments = {"env": "cartpole", "population": 2, "interval": 512, "stop": {"turns": 2}, "ppo": SMALL, "display": "none"}
    here = evolute.run("ppo", folder=tmp_path / "here", **arguments)
    there = evolute.run("ppo", folder=tmp_path / "there", limit=200, **arguments)
    assert here.best.turn.report.digest == there.best.turn.report.digest


@pytest.mark.slow(reason="trains on the host by the command line for one warning")
def test_a_short_turn_on_the_host_is_warned_about(tmp_path):
    out = evolute_cli(
        "run", "-m", "learner=ppo", "env=gym:CartPole-v1", "population=2", "interval=512", "stop.turns=1", "ppo.envs=4",
        "ppo.unroll=32", "--folder", "c", cwd=tmp_path,
    )  # fmt: skip
    assert "an episode may take 500" in out


def test_learners_without_a_policy_say_so(tmp_path):
    evolute_cli("run", "toy", "--folder", "t", cwd=tmp_path)
    assert "has no policy" in evolute_cli("export", "t", cwd=tmp_path, ok=False)
    assert "cannot be played" in evolute_cli("play", "t", cwd=tmp_path, ok=False)
