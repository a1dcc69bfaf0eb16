"""A small 2D soccer in JAX, one against one or two against two: players and ball are discs that push each other.

A game ends with the first goal, or without one after 300 steps. Beside the goal there are the two shaping rewards of Liu et al.
(2019), "Emergent coordination through competition", as channels of their own: nearer to the ball, and the ball nearer to the
goal. The field is 2 long and 1.3 wide, with its centre at 0; team 0 attacks towards positive x.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from evolute.envs.adapter import OurEnv
from evolute.envs.game import Bot, Situation, Tick, View

FIELD = np.array([1.0, 0.65], np.float32)  # half of its length and width
GOAL = 0.25  # half of its width
PLAYER, BALL = 0.06, 0.04  # radii
PUSH, DRAG = 0.012, 0.7  # a player's velocity is DRAG of what it was, plus PUSH in the direction of the move
ROLL, BOUNCE, KICK, FASTEST = 0.97, 0.8, 1.8, 0.15  # of the ball
STEPS = 300
MOVES = np.array(
    [(0, 0)] + [(np.cos(turn), np.sin(turn)) for turn in np.arange(8) * np.pi / 4],
    np.float32,
)
"""Stay, or run in one of eight directions: forwards, then on counter-clockwise."""
STAND = 0.1
"""How far behind the ball's centre the chaser aims."""


class State(NamedTuple):
    """Positions and velocities of players [player, (x, y)] and ball [(x, y)]; team 0 comes first."""

    position: jax.Array
    velocity: jax.Array
    ball: jax.Array
    ball_velocity: jax.Array
    time: jax.Array


class Soccer:
    """A game of `players` a side. What a team sees is turned so that it plays from left to right."""

    channels = ("goal", "to_ball", "ball_to_goal")
    zero_sum = True

    def __init__(self, *, players: int = 2, time_limit: int = STEPS) -> None:
        if players not in (1, 2):
            raise ValueError(f"players={players}: must be 1 or 2 a side")
        self._limit = time_limit
        self.actors = 2 * players
        self.teams = (0,) * players + (1,) * players
        self.bots: Mapping[str, Bot] = {"chase": chase}
        size = 8 + 4 * (self.actors - 1)
        self.observation_space: gymnasium.Space[Any] = gymnasium.spaces.Box(-3.0, 3.0, (size,))
        self.action_space: gymnasium.Space[Any] = gymnasium.spaces.Discrete(len(MOVES))
        self._others = np.array([_others(seat, players) for seat in range(self.actors)])
        self._facing = np.where(np.array(self.teams) == 0, 1.0, -1.0).astype(np.float32)[:, None]

    def reset(self, key: jax.Array) -> tuple[State, View]:
        """Each player anywhere in its own half, the ball near the centre."""
        place = jax.random.uniform(key, (self.actors + 1, 2), minval=-1.0, maxval=1.0)
        own_half = (place[:-1] * np.array([0.4, 0.5]) - np.array([0.5, 0])) * self._facing
        none = jnp.zeros((self.actors, 2))
        state = State(_apart(own_half), none, 0.05 * place[-1], jnp.zeros(2), jnp.int32(0))
        return state, self._view(state)

    def step(self, key: jax.Array, state: State, actions: jax.Array) -> Tick:
        velocity = DRAG * state.velocity + PUSH * jnp.asarray(MOVES)[actions] * self._facing
        position = _apart(state.position + velocity)
        ball, ball_velocity = _kicked(state, position, velocity)
        after = State(position, velocity, ball, ball_velocity, state.time + 1)
        scored = jnp.where(jnp.abs(ball[0]) > FIELD[0], jnp.sign(ball[0]), 0.0)
        reward = self._reward(state, after, scored)
        return Tick(after, self._view(after), reward, scored != 0, after.time >= self._limit)

    def frame(self, state: State) -> np.ndarray[Any, np.dtype[np.uint8]]:
        return frame(state, self.teams)

    def _reward(self, before: State, after: State, scored: jax.Array) -> jax.Array:
        """[seat, channel]; the shaping rewards are by how much a distance became smaller."""
        goal = scored * self._facing[:, 0]
        to_ball = _distance(before.position, before.ball) - _distance(after.position, after.ball)
        goals = jnp.asarray(self._facing * np.array([FIELD[0], 0], np.float32))
        far, near = (_distance(goals, jnp.clip(state.ball, -FIELD, FIELD)) for state in (before, after))
        return jnp.stack([goal, to_ball, far - near], axis=1)

    def _view(self, state: State) -> View:
        """Own position and velocity, then the ball and the others, mates first: where they are from here, and how they move."""
        ball = jnp.broadcast_to(state.ball, (self.actors, 1, 2)), jnp.broadcast_to(state.ball_velocity, (self.actors, 1, 2))
        where = jnp.concatenate([ball[0], state.position[self._others]], axis=1) - state.position[:, None]
        speed = jnp.concatenate([ball[1], state.velocity[self._others]], axis=1)
        own = jnp.concatenate([state.position, 10 * state.velocity], axis=1)
        others = jnp.concatenate([where, 10 * speed], axis=2).reshape(self.actors, -1)
        obs = jnp.concatenate([own, others], axis=1) * self._facing
        return View(obs, jnp.arange(self.actors, dtype=jnp.int32))


def chase(key: jax.Array, situation: Situation) -> jax.Array:
    """Run to behind the ball, round it if it is in the way, and push it towards the goal."""
    own, ball = situation.obs[:2], situation.obs[4:6]
    shot = jnp.array([FIELD[0], 0.0]) - own - ball
    behind = ball - STAND * shot / jnp.linalg.norm(shot)
    ahead = ball[0] < 0  # the ball lies between this player and its own goal
    beside = jnp.array([0.0, 2 * STAND]) * jnp.where(ball[1] > 0, -1, 1)
    near = jnp.linalg.norm(behind) < STAND / 2
    target = jnp.where(ahead, ball - jnp.array([STAND, 0.0]) + beside, jnp.where(near, ball, behind))
    return (1 + jnp.argmax(jnp.asarray(MOVES[1:]) @ target)).astype(jnp.int32)


def frame(state: State, teams: tuple[int, ...]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """A picture of the field, [150, 220, 3]: team 0 in green, team 1 in orange."""
    scale, margin = 100, 10
    width, height = (int(2 * scale * side) + 2 * margin for side in FIELD)
    rows, columns = np.mgrid[:height, :width]
    x, y = (columns - width / 2) / scale, (height / 2 - rows) / scale
    picture = np.full((height, width, 3), 40, np.uint8)
    picture[(np.abs(x) <= FIELD[0]) & (np.abs(y) <= FIELD[1])] = (28, 70, 40)
    picture[(np.abs(y) <= FIELD[1]) & (np.abs(x) < 0.005)] = (70, 110, 80)
    picture[(np.abs(x) > FIELD[0]) & (np.abs(y) <= GOAL)] = (200, 200, 200)
    for centre, team in zip(np.asarray(state.position), teams, strict=True):
        picture[np.hypot(x - centre[0], y - centre[1]) < PLAYER] = ((92, 186, 92), (213, 130, 74))[team]
    picture[np.hypot(x - float(state.ball[0]), y - float(state.ball[1])) < BALL] = (236, 236, 236)
    return picture


def _others(seat: int, players: int) -> list[int]:
    """The seats beside this one, mates first."""
    mates = [other for other in range(2 * players) if other // players == seat // players and other != seat]
    return mates + [other for other in range(2 * players) if other // players != seat // players]


def _apart(position: jax.Array) -> jax.Array:
    """Players that overlap give way by half of it each; nobody leaves the field."""
    away = position[:, None] - position
    distance = jnp.sqrt((away**2).sum(axis=-1) + 1e-12)
    overlap = jnp.maximum(2 * PLAYER - distance, 0) * (1 - np.eye(len(position), dtype=np.float32))
    moved = position + 0.5 * (away / distance[..., None] * overlap[..., None]).sum(axis=1)
    return jnp.clip(moved, PLAYER - FIELD, FIELD - PLAYER)


def _kicked(state: State, position: jax.Array, velocity: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The ball after a step: it rolls, is pushed by whom it touches, and bounces off the edges, but for the goals."""
    rolling = ROLL * state.ball_velocity
    ball = state.ball + rolling
    away = ball - position
    distance = jnp.sqrt((away**2).sum(axis=-1) + 1e-12)
    normal = away / distance[:, None]
    overlap = jnp.maximum(PLAYER + BALL - distance, 0)
    closing = ((velocity - rolling) * normal).sum(axis=-1)
    push = jnp.where(overlap > 0, KICK * jnp.maximum(closing, 0), 0)
    rolling = jnp.clip(rolling + (push[:, None] * normal).sum(axis=0), -FASTEST, FASTEST)
    ball = ball + (overlap[:, None] * normal).sum(axis=0)
    free = jnp.array([False, True]) | (jnp.abs(ball[1]) >= GOAL)  # the goals are holes in the ends
    edge = FIELD - BALL
    out = (jnp.abs(ball) > edge) & free
    inwards = jnp.where(out, -BOUNCE * jnp.sign(ball) * jnp.abs(rolling), rolling)
    return jnp.where(free, jnp.clip(ball, -edge, edge), ball), inwards


def _distance(one: jax.Array, other: jax.Array) -> jax.Array:
    return jnp.sqrt(((one - other) ** 2).sum(axis=-1) + 1e-12)


soccer = OurEnv(game=Soccer)
