from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import probes
import pytest

from evolute.envs.interface import JaxEnv
from evolute.envs.make import make_env
from evolute.envs.spec import EnvSpec


def returns(probe, policy, *, count=64):
    """The undiscounted returns of episodes of a policy `(obs, cue, time) -> action`; `cue` is the first observation."""

    def episode(key):
        state, cue = probe.reset(key)
        obs, total = cue, 0.0
        for time in range(probe.length):
            step = probe.step(key, state, policy(obs, cue, time))
            state, obs, total = step.state, step.obs, total + step.reward
        return total, step.terminated, step.truncated

    total, terminated, truncated = jax.vmap(episode)(jax.random.split(jax.random.key(0), count))
    assert (terminated.all(), truncated.all()) == (not probe.truncates, probe.truncates)
    return np.asarray(total)


def match(obs, cue, time):
    return (cue[0] > 0).astype(jnp.int32)


@pytest.mark.parametrize("make", probes.ALL, ids=lambda make: make.__name__)
def test_each_is_an_environment_and_found_by_name(make):
    assert isinstance(make(), JaxEnv)
    found = make_env(EnvSpec(f"probes:{make.__name__}"))
    assert found.observation_space.contains(np.asarray(found.reset(jax.random.key(0))[1]))


@pytest.mark.parametrize(
    ("make", "policy", "expected"),
    [
        (probes.value_only, lambda obs, cue, time: 0, 1.0),
        (probes.discounting, lambda obs, cue, time: 0, 1.0),
        (probes.action_choice, lambda obs, cue, time: 1, 1.0),
        (probes.action_choice, lambda obs, cue, time: 0, -1.0),
        (probes.action_by_obs, match, 1.0),
        (probes.credit, lambda obs, cue, time: jnp.int32(time == 0), 1.0),
        (probes.credit, lambda obs, cue, time: jnp.int32(time != 0), -1.0),
        (probes.memory, match, 1.0),
        (probes.time_limit, lambda obs, cue, time: 0, 10.0),
        (probes.true_end, lambda obs, cue, time: 0, 10.0),
        (probes.continuous, lambda obs, cue, time: jnp.array([0.3]), 0.0),
        (probes.multi_discrete, lambda obs, cue, time: jnp.array([2, 0]), 1.0),
        (probes.multi_discrete, lambda obs, cue, time: jnp.array([2, 1]), 0.0),
    ],
)
def test_the_answer_is_known(make, policy, expected):
    np.testing.assert_allclose(returns(make(), policy), expected, atol=1e-6)


def test_cues_are_even_and_ignoring_them_gains_nothing():
    for make in (probes.action_by_obs, probes.memory, probes.value_of_obs):
        assert abs(returns(make(), lambda obs, cue, time: 1, count=2000).mean()) < 0.1


def test_the_cue_of_memory_is_shown_once():
    state, first = probes.memory().reset(jax.random.key(0))
    assert abs(float(first[0])) == 1.0
    assert probes.memory().step(jax.random.key(0), state, 0).obs[0] == 0.0
