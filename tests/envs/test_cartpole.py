from __future__ import annotations

import jax
import numpy as np
import pytest
from twins import compare

from evolute.envs.ours.cartpole import CartPole


@pytest.mark.parametrize("seed", range(5))
def test_moves_and_ends_as_gymnasiums(seed):
    steps = compare(CartPole(), "CartPole-v1", lambda state: state.body, seed=seed)
    assert steps > 8


def test_starts_near_the_middle_and_differently():
    bodies = jax.vmap(lambda key: CartPole().reset(key)[1])(jax.random.split(jax.random.key(0), 200))
    assert np.abs(bodies).max() <= 0.05
    assert bodies.std(axis=0) == pytest.approx([0.05 / 3**0.5] * 4, rel=0.15)


def test_an_episode_is_cut_at_the_time_limit_only():
    env = CartPole(time_limit=3)
    state, _ = env.reset(jax.random.key(0))
    flags = []
    for _ in range(3):
        step = env.step(jax.random.key(0), state, 1)
        state = step.state
        flags.append((bool(step.terminated), bool(step.truncated)))
    assert flags == [(False, False), (False, False), (False, True)]
