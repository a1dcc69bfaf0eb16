from __future__ import annotations

import sys

import gymnasium
import numpy as np
import pytest
import tests.envs.host_probes  # noqa: F401 - registers its envs
from rows import alone_as_among_others, play

from evolute.envs.adapters.gym import host
from evolute.envs.gym_cartpole import GymCartPole
from evolute.envs.host_sync import SyncHostEnv
from evolute.envs.host_vector import VectorHostEnv


@pytest.mark.parametrize(
    ("name", "kind"), [("CartPole-v1", GymCartPole), ("phys2d/CartPole-v1", VectorHostEnv), ("Acrobot-v1", SyncHostEnv)]
)
def test_takes_the_fastest_way_of_stepping_many(name, kind):
    assert isinstance(host(name, {}), kind)


@pytest.mark.parametrize("name", ["CartPole-v1", "probes/ActionByObs-v0", "phys2d/CartPole-v1"])
def test_a_member_is_the_same_alone_as_among_others(name):
    alone_as_among_others(host(name, {}))


def test_vectorised_cartpole_steps_as_single_ones_do():
    ours, single = host("CartPole-v1", {}), gymnasium.make("CartPole-v1")
    vector = ours.vector([[5, 6]])
    obs = vector.reset()
    single.reset()
    single.unwrapped.state = vector._env.state[:, 1].copy()
    for time in range(200):
        obs, reward, terminated, truncated = vector.step(np.array([1, time % 2]))
        expected = single.step(time % 2)
        np.testing.assert_allclose(obs[1], expected[0], rtol=1e-6)
        assert (reward[1], terminated[1], truncated[1]) == expected[1:4]
        if terminated[1]:
            break
    assert terminated[1]


def test_copies_of_cartpole_start_differently_and_anew_after_every_end():
    obs, _, terminated, _ = play(host("CartPole-v1", {}), [[1, 2], [3, 4]], length=100)
    starts = np.concatenate([obs[0], obs[2:][terminated[:-1]]])
    assert len(np.unique(starts[:, 0])) == len(starts) > 10
    assert np.abs(starts).max() <= 0.05


@pytest.mark.parametrize("name", ["CartPole-v1", "Acrobot-v1", "phys2d/CartPole-v1"])
def test_the_time_limit_replaces_the_registered_one(name):
    env = host(name, {}, time_limit=7)
    assert env.time_limit == 7
    *_, truncated = play(env, [[1]], length=7)
    assert truncated[:, 0].tolist() == [False] * 6 + [True]
    assert host(name, {}).time_limit == 500


@pytest.mark.parametrize("action_repeat", [1, 2])
def test_options_reach_the_env(action_repeat):
    env = host("CartPole-v1", {"sutton_barto_reward": True}, action_repeat=action_repeat)
    rewards = play(env, [[1]], length=9)[1]
    assert set(rewards[:, 0].tolist()) <= {0.0, -1.0}


def test_the_registered_options_are_kept():
    assert isinstance(host("CartPole-v0", {}), GymCartPole)
    assert host("CartPole-v0", {}).time_limit == 200


def test_a_module_that_registers_an_id_is_imported():
    assert isinstance(host("tests.envs.host_probes:probes/TrueEnd-v0", {}), SyncHostEnv)
    with pytest.raises(ValueError, match="no module 'nowhere' to import"):
        host("nowhere:Env-v0", {})


def test_an_unknown_id_is_told_with_the_closest():
    with pytest.raises(ValueError, match="Gymnasium has no environment 'CartPoel-v1'; did you mean 'CartPole-v1'"):
        host("CartPoel-v1", {})


@pytest.mark.parametrize("name", ["CartPole-v1", "Pendulum-v1"])
def test_a_setting_that_an_env_does_not_take_is_named(name):
    with pytest.raises(ValueError, match=rf"^gym\.foo: {name} takes no such setting$"):
        host(name, {"foo": 3})


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("LunarLander-v3", "Box2D", "box2d"),
        ("HalfCheetah-v5", "mujoco", "mujoco"),
        ("HalfCheetah-v5", "imageio", "mujoco"),
        ("ALE/Pong-v5", "ale_py", "atari"),
    ],
)
def test_a_missing_dependency_is_told_with_the_extra_that_has_it(name, module, extra, monkeypatch):
    for loaded in [
        loaded for loaded in sys.modules if loaded.split(".")[0] == module or loaded.startswith(f"gymnasium.envs.{extra}")
    ]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, module, None)
    for attached in [attached for attached in gymnasium.registry if attached.startswith("ALE/")]:
        monkeypatch.delitem(gymnasium.registry, attached)
    with pytest.raises(ValueError, match=rf"^{name} needs {module}, which is not installed; pip install 'evolute\[{extra}\]'$"):
        host(name, {})


def test_box2d_can_be_imported_although_warnings_are_errors():
    pytest.importorskip("pygame")
    assert host("LunarLander-v3", {}).observation_space.shape == (8,)


def test_mujoco_says_nothing_of_gymnasiums_old_models(capfd, tmp_path, monkeypatch):
    pytest.importorskip("mujoco")
    monkeypatch.chdir(tmp_path)
    assert host("HalfCheetah-v5", {}).observation_space.shape == (17,)
    assert (*capfd.readouterr(), list(tmp_path.iterdir())) == ("", "", [])
