"""Plays the same actions in a JAX env and in Gymnasium's, from the same start, and compares every step."""

from __future__ import annotations

import gymnasium
import jax
import numpy as np


def compare(env, twin: str, body, *, seed: int, tolerance: float = 1e-4) -> int:
    """Assert that an episode of random actions is the same in both; `body(state)` is what Gymnasium's env calls its state.

    Returns the number of steps.
    """
    rng = np.random.default_rng(seed)
    other = gymnasium.make(twin, disable_env_checker=True)
    other.reset(seed=seed)
    state, _ = jax.jit(env.reset)(jax.random.key(seed))
    other.unwrapped.state = np.array(body(state), np.float64)
    advance = jax.jit(env.step)
    other.action_space.seed(seed)
    for time in range(1000):
        action = other.action_space.sample()
        step = advance(jax.random.key(rng.integers(2**31)), state, action)
        seen, reward, terminated, truncated, _ = other.step(action)
        np.testing.assert_allclose(step.obs, seen, atol=tolerance, rtol=tolerance)
        np.testing.assert_allclose(step.reward, reward, atol=tolerance, rtol=tolerance)
        assert (bool(step.terminated), bool(step.truncated)) == (terminated, truncated), f"at step {time}"
        if terminated or truncated:
            return time + 1
        state = step.state
    raise AssertionError("the episode did not end in 1000 steps")
