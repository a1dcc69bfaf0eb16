from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from rows import alone_as_among_others, play
from tests.envs import host_probes

from evolute.envs.from_maker import from_maker
from evolute.envs.host_sync import SyncHostEnv
from evolute.envs.interface import HostEnv, JaxEnv


def single(size=10):
    env = host_probes.ActionByObs()
    env.size = size
    return env


def together(num_envs, name="CartPole-v1"):
    return gymnasium.make_vec(name, num_envs=num_envs)


def ready():
    return SyncHostEnv(host_probes.TrueEnd)


def limited(time_limit=3):
    return gymnasium.wrappers.TimeLimit(host_probes.HostProbe(), time_limit)


def vector_without_a_number():
    return together(2)


def nothing():
    return None


def broken(size):
    return {}[size]


not_callable = 3


@pytest.mark.parametrize("name", ["single", "together", "ready"])
def test_host_envs_of_any_kind_are_taken(name):
    env = from_maker(f"test_from_maker:{name}", {})
    assert isinstance(env, HostEnv)
    alone_as_among_others(env)


def test_jax_envs_are_taken():
    env = from_maker("probes:true_end", {})
    assert isinstance(env, JaxEnv)
    assert env.length == 10


def test_options_are_keywords():
    assert isinstance(from_maker("test_from_maker:single", {"size": 3}), SyncHostEnv)
    with pytest.raises(ValueError, match=r"\{'sise': 3\}: got an unexpected keyword argument 'sise'; it takes size"):
        from_maker("test_from_maker:single", {"sise": 3})


@pytest.mark.parametrize("name", ["limited", "single"])
def test_a_time_limit_goes_to_a_maker_that_takes_it_and_around_one_that_does_not(name):
    env = from_maker(f"test_from_maker:{name}", {}, time_limit=1)
    assert play(env, [[1]], length=1)[3].tolist() == [[True]]


@pytest.mark.parametrize("name", ["together", "ready"])
@pytest.mark.parametrize("asked", [{"time_limit": 5}, {"action_repeat": 2}])
def test_copies_stepped_together_cannot_be_limited_from_outside(name, asked):
    with pytest.raises(ValueError, match="stepped together cannot be limited or repeated one by one"):
        from_maker(f"test_from_maker:{name}", {}, **asked)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("vector_without_a_number", "made a CartPoleVectorEnv: it must be .*parameter num_envs"),
        ("nothing", "made a NoneType: it must be a gymnasium.Env"),
        ("not_callable", "is a int: name a function or class"),
        ("singel", "did you mean 'single'"),
    ],
)
def test_what_is_not_an_environment_is_told(name, says):
    with pytest.raises(ValueError, match=says):
        from_maker(f"test_from_maker:{name}", {})


def test_what_a_maker_raises_is_told_in_one_sentence_with_its_place():
    with pytest.raises(
        ValueError, match=r"broken' with the options {'size': 3} raised KeyError: 3 .*test_from_maker.py, line \d+"
    ):
        from_maker("test_from_maker:broken", {"size": 3})


def test_members_of_an_own_vector_env_have_their_own_copies():
    obs = play(from_maker("test_from_maker:together", {}), [[1, 2], [3, 4]], length=1)[0]
    assert len(np.unique(obs[0, :, 0])) == 4
