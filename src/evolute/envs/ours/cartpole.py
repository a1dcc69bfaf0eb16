"""CartPole-v1 in JAX: the equations of Barto, Sutton and Anderson (1983) as Gymnasium integrates them."""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from evolute.envs.adapter import OurEnv
from evolute.envs.interface import Step

GRAVITY = 9.8
CART, POLE = 1.0, 0.1
HALF_LENGTH = 0.5
FORCE = 10.0
TAU = 0.02
EDGE = 2.4
TILT = 12 * 2 * np.pi / 360


class State(NamedTuple):
    """Position, velocity, angle and angular velocity; and the steps since the reset."""

    body: jax.Array
    time: jax.Array


class CartPole:
    """Balance a pole on a cart: +1 a step, until it falls, leaves the track, or 500 steps are over."""

    dt = TAU

    def __init__(self, *, time_limit: int = 500) -> None:
        self._time_limit = time_limit
        high = np.array([2 * EDGE, np.inf, 2 * TILT, np.inf], np.float32)
        self.observation_space: gymnasium.Space[Any] = gymnasium.spaces.Box(-high, high)
        self.action_space: gymnasium.Space[Any] = gymnasium.spaces.Discrete(2)

    def reset(self, key: jax.Array) -> tuple[State, jax.Array]:
        body = jax.random.uniform(key, (4,), minval=-0.05, maxval=0.05)
        return State(body, jnp.int32(0)), body

    def step(self, key: jax.Array, state: State, action: jax.Array) -> Step:
        _, x_dot, theta, theta_dot = state.body
        force = jnp.where(action == 1, FORCE, -FORCE)
        cos, sin = jnp.cos(theta), jnp.sin(theta)
        pole = POLE * HALF_LENGTH
        push = (force + pole * theta_dot**2 * sin) / (CART + POLE)
        theta_acc = (GRAVITY * sin - cos * push) / (HALF_LENGTH * (4.0 / 3.0 - POLE * cos**2 / (CART + POLE)))
        x_acc = push - pole * theta_acc * cos / (CART + POLE)
        body = state.body + TAU * jnp.stack([x_dot, x_acc, theta_dot, theta_acc])
        time = state.time + 1
        terminated = (jnp.abs(body[0]) > EDGE) | (jnp.abs(body[2]) > TILT)
        return Step(State(body, time), body, jnp.float32(1.0), terminated, time >= self._time_limit)

    def frame(self, state: State) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The cart on its track and the pole, from the side."""
        height, width = 200, 300
        x, angle = float(state.body[0]), float(state.body[2])
        rows, columns = np.mgrid[:height, :width]
        middle, ground = width / 2 + x / EDGE * width * 0.45, height * 0.8
        up, across = ground - rows, columns - middle
        along = up * np.cos(angle) + across * np.sin(angle)
        beside = up * np.sin(angle) - across * np.cos(angle)
        picture = np.full((height, width, 3), 250, np.uint8)
        picture[np.abs(rows - ground) < 1] = 90
        picture[(np.abs(across) < 22) & (np.abs(up) < 11)] = (40, 40, 60)
        picture[(np.abs(beside) < 4) & (along > 0) & (along < 100)] = (217, 95, 2)
        return picture


cartpole = OurEnv(CartPole, same_as=("CartPole-v1",))
