"""Brax and the Playground compile slowly, so each is stepped once. They are tested where they are installed."""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evolute.envs.make import make_env
from evolute.envs.spec import EnvSpec

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.mark.parametrize(
    ("library", "name"),
    [
        pytest.param("brax", "brax:inverted_pendulum", marks=pytest.mark.slow(reason="Brax compiles for half a minute")),
        ("mujoco_playground", "playground:CartpoleBalance"),
    ],
)
def test_steps_and_is_cut_by_the_time_limit_only(library, name):
    pytest.importorskip(library)
    env = make_env(EnvSpec(name, time_limit=3))

    def step(state, key):
        taken = env.step(key, state, jnp.zeros(env.action_space.shape))
        return taken.state, taken

    state, obs = env.reset(jax.random.key(0))
    _, steps = jax.lax.scan(step, state, jax.random.split(jax.random.key(1), 3))
    assert env.observation_space.contains(np.asarray(obs))
    assert np.isfinite(steps.obs).all()
    assert (steps.terminated.tolist(), steps.truncated.tolist()) == ([False] * 3, [False, False, True])
    assert steps.reward.min() > 0.9


@pytest.mark.parametrize(("library", "name"), [("brax", "brax:antt"), ("mujoco_playground", "playground:CartpoleBalans")])
def test_an_unknown_name_is_told_with_the_closest(library, name):
    pytest.importorskip(library)
    with pytest.raises(ValueError, match=r"has no environment .*did you mean"):
        make_env(EnvSpec(name))


@pytest.mark.parametrize(("library", "name"), [("brax", "brax:ant"), ("mujoco_playground", "playground:CartpoleBalance")])
def test_a_missing_library_is_told_with_the_extra(library, name, monkeypatch):
    for loaded in [loaded for loaded in sys.modules if loaded.split(".")[0] == library]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, library, None)
    source = name.partition(":")[0]
    with pytest.raises(ValueError, match=rf"is not installed; pip install 'evolute\[{source}\]'"):
        make_env(EnvSpec(name))
