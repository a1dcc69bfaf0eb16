"""Vector Pong in JAX, for one policy against the built-in opponent or for two policies.

Sizes, speeds, the serve and the hit are those of the two-player Pong of a course by Zhou, Peng et al. (`competitive-rl`).
There the bats stand 16 from the edges and every round puts them back in the middle, with which random play reaches a fitness
of 0.04. Here they stand at the edges, stay where they are between rounds and, in the built-in opponent's hands, rest while
the ball flies away or is level with them: the simplest reading found that has our reference's fitness of 0.15 for random
play and 0.14 for standing still. Its 0.52 for the rule itself no symmetric game can have; this one has 0.5.
Bats move before the ball, and a round that runs out of time scores for nobody. Positions are of centres, y grows downwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from evolute.envs.adapter import OurEnv
from evolute.envs.game import Bot, Situation, Tick, View
from evolute.envs.interface import Step

ARENA = 160
BAT_WIDTH, BAT_HEIGHT, BAT_SPEED = 5, 15, 4
BALL, BALL_SPEED = 4, 4
SERVE = (1.2, 4.0)  # |vy| of a serve lies between
SPIN = 0.7  # share of the bat's velocity that a hit adds to the ball's vy
ROUNDS, ROUND_LIMIT = 20, 1000
SEEN = 4  # ball positions in an observation
UP, STOP, DOWN = 0, 1, 2

_MIDDLE = ARENA / 2
_FRONT = BAT_WIDTH + BALL / 2  # the ball's x when it touches the left bat
_REACH = (BAT_HEIGHT + BALL) / 2  # a bat hits a ball whose centre is no farther from its own
_LEVEL = BAT_HEIGHT / 2 / _MIDDLE  # as far as a ball is level with a bat, in the units of an observation


class State(NamedTuple):
    """A game. `score` counts the points of left and right; `ball` is [position, (x, y)], the newest first."""

    bats: jax.Array
    ball: jax.Array
    velocity: jax.Array
    time: jax.Array
    rounds: jax.Array
    score: jax.Array
    seed: jax.Array


class Played(NamedTuple):
    """A step of a game as both seats see it. `reward` is left's; right's is its negative."""

    state: State
    left: jax.Array
    right: jax.Array
    reward: jax.Array
    terminated: jax.Array


def start(key: jax.Array) -> State:
    """A new game. All its randomness is one number drawn here, so that steps need no key."""
    seed = jax.random.bits(key)
    none = jnp.int32(0)
    velocity = _serve(seed, none)
    return State(jnp.full(2, _MIDDLE), _before(velocity), velocity, none, none, jnp.zeros(2, jnp.int32), seed)


def play(state: State, left_action: jax.Array, right_action: jax.Array) -> Played:
    """One step of both seats: `UP`, `STOP` or `DOWN` each."""
    moves = jnp.stack([left_action, right_action]).astype(jnp.float32) - STOP
    bats = jnp.clip(state.bats + BAT_SPEED * moves, BAT_HEIGHT / 2, ARENA - BAT_HEIGHT / 2)
    ball, velocity = _fly(state, bats)
    points = jnp.stack([ball[0] > ARENA - BALL / 2, ball[0] < BALL / 2])
    over = points.any() | (state.time + 1 >= ROUND_LIMIT)
    rounds = state.rounds + over
    serve = _serve(state.seed, rounds)
    after = State(
        bats,
        jnp.where(over, _before(serve), jnp.concatenate([ball[None], state.ball[:-1]])),
        jnp.where(over, serve, velocity),
        jnp.where(over, 0, state.time + 1),
        rounds,
        state.score + points,
        state.seed,
    )
    reward = points[0].astype(jnp.float32) - points[1]
    return Played(after, view(after, "left"), view(after, "right"), reward, rounds >= ROUNDS)


def view(state: State, seat: Literal["left", "right"]) -> jax.Array:
    """What a seat sees, scaled to [-1, 1]: its own bat, the other's, then (x, y) of the ball now and in the 3 steps before.

    The right seat sees the arena mirrored, so both play from the left.
    """
    bats = state.bats if seat == "left" else state.bats[::-1]
    mirror = jnp.array([1.0 if seat == "left" else -1.0, 1.0])
    ball = (state.ball - _MIDDLE) * mirror
    return jnp.concatenate([bats - _MIDDLE, ball.ravel()]) / _MIDDLE


def built_in(obs: jax.Array) -> jax.Array:
    """The built-in opponent as a policy of either seat: chase the ball while it approaches, rest when level with it."""
    distance = obs[..., 3] - obs[..., 0]
    approaches = obs[..., 2] < obs[..., 4]
    chase = approaches & (jnp.abs(distance) > _LEVEL)
    return jnp.where(chase, STOP + jnp.sign(distance), STOP).astype(jnp.int32)


def fitness(difference: jax.Array) -> jax.Array:
    """The fitness in [0, 1] of a game's point difference, which is also its return."""
    return (difference + ROUNDS) / (2 * ROUNDS)


def frame(state: State) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """A picture of the game, [160, 160, 3]."""
    picture = np.zeros((ARENA, ARENA, 3), np.uint8)
    left, right = np.asarray(state.bats)
    _draw(picture, (BAT_WIDTH / 2, left), (BAT_WIDTH, BAT_HEIGHT), (92, 186, 92))
    _draw(picture, (ARENA - BAT_WIDTH / 2, right), (BAT_WIDTH, BAT_HEIGHT), (213, 130, 74))
    _draw(picture, np.asarray(state.ball)[0], (BALL, BALL), (236, 236, 236))
    return picture


class Pong:
    """A game of 20 rounds against the built-in opponent: ±1 a point, 10 numbers to see, up, stop or down to do.

    With `habits` the reward has two more channels: `lazy`, 1 in a step in which stop is chosen, and `busy`, 1 in a step in
    which the bat moves. A bat that runs against the edge is neither.
    """

    def __init__(self, *, seat: Literal["left", "right"] = "left", habits: bool = False) -> None:
        if seat not in ("left", "right"):
            raise ValueError(f"seat={seat!r}: a game has the seats 'left' and 'right', choose one of them")
        self._left = seat == "left"
        self.channels: tuple[str, ...] = ("point", "lazy", "busy") if habits else ()
        self.observation_space: gymnasium.Space[Any] = gymnasium.spaces.Box(-1.1, 1.1, (2 + 2 * SEEN,))
        self.action_space: gymnasium.Space[Any] = gymnasium.spaces.Discrete(3)

    def reset(self, key: jax.Array) -> tuple[State, jax.Array]:
        state = start(key)
        return state, view(state, "left" if self._left else "right")

    def step(self, key: jax.Array, state: State, action: jax.Array) -> Step:
        answer = built_in(view(state, "right" if self._left else "left"))
        played = play(state, action, answer) if self._left else play(state, answer, action)
        obs, reward = (played.left, played.reward) if self._left else (played.right, -played.reward)
        if self.channels:
            bat = 0 if self._left else 1
            reward = jnp.stack([reward, action == STOP, played.state.bats[bat] != state.bats[bat]]).astype(jnp.float32)
        return Step(played.state, obs, reward, played.terminated, jnp.bool_(False))

    def frame(self, state: State) -> np.ndarray[Any, np.dtype[np.uint8]]:
        return frame(state)


class PongGame:
    """The same game with both seats to be played: left and right, each of which sees itself on the left.

    With `distance` there is a second channel of the reward, which misleads: how far a bat is from being level with the ball, in
    halves of the arena.
    """

    teams = (0, 1)
    actors = 2
    zero_sum = True

    def __init__(self, *, distance: bool = False) -> None:
        self.channels: tuple[str, ...] = ("point", "distance") if distance else ()
        alone = Pong()
        self.observation_space, self.action_space = alone.observation_space, alone.action_space
        self.bots: Mapping[str, Bot] = {"built_in": _rule}

    def reset(self, key: jax.Array) -> tuple[State, View]:
        state = start(key)
        return state, _both(view(state, "left"), view(state, "right"))

    def step(self, key: jax.Array, state: State, actions: jax.Array) -> Tick:
        played = play(state, actions[0], actions[1])
        reward = jnp.stack([played.reward, -played.reward])
        if self.channels:
            reward = jnp.stack([reward, jnp.abs(played.state.bats - played.state.ball[0, 1]) / _MIDDLE], axis=1)
        return Tick(played.state, _both(played.left, played.right), reward, played.terminated, jnp.bool_(False))

    def frame(self, state: State) -> np.ndarray[Any, np.dtype[np.uint8]]:
        return frame(state)


def _both(left: jax.Array, right: jax.Array) -> View:
    return View(jnp.stack([left, right]), jnp.arange(2, dtype=jnp.int32))


def _rule(key: jax.Array, situation: Situation) -> jax.Array:
    return built_in(situation.obs)


def _fly(state: State, bats: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Position and velocity of the ball after a step, bounced off walls and bats."""
    (x, y), (vx, vy) = state.ball[0], state.velocity
    right = vx > 0
    front = jnp.where(right, ARENA - _FRONT, _FRONT)
    share = (front - x) / vx  # of this step, until the ball is level with the bat's front
    met, met_vy = _bounce(y + share * vy, vy)
    bat = jnp.where(right, bats[1], bats[0])
    moved = bat - jnp.where(right, state.bats[1], state.bats[0])
    hit = (share > 0) & (share <= 1) & (jnp.abs(met - bat) <= _REACH)
    free, free_vy = _bounce(y + vy, vy)
    position = jnp.stack([jnp.where(hit, front, x + vx), jnp.where(hit, met, free)])
    return position, jnp.stack([jnp.where(hit, -vx, vx), jnp.where(hit, met_vy + SPIN * moved, free_vy)])


def _bounce(y: jax.Array, vy: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Reflect at the upper and lower wall. A ball is never fast enough (27 hits a round) to need more than one."""
    low, high = BALL / 2, ARENA - BALL / 2
    outside = (y < low) | (y > high)
    return jnp.where(y < low, 2 * low - y, jnp.where(y > high, 2 * high - y, y)), jnp.where(outside, -vy, vy)


def _serve(seed: jax.Array, rounds: jax.Array) -> jax.Array:
    """The velocity of a round's serve, hashed from the game's seed: far cheaper in every step than a draw from a key."""
    bits = seed + rounds.astype(jnp.uint32) * jnp.uint32(0x9E3779B9)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):  # the final mix of MurmurHash3
        bits = (bits ^ (bits >> shift)) * jnp.uint32(factor)
    bits = bits ^ (bits >> 16)
    speed = SERVE[0] + (SERVE[1] - SERVE[0]) * (bits >> 8).astype(jnp.float32) / 2**24
    sides = jnp.stack([bits & 1, (bits >> 1) & 1]).astype(jnp.float32) * 2 - 1
    return sides * jnp.stack([jnp.float32(BALL_SPEED), speed])


def _before(velocity: jax.Array) -> jax.Array:
    """The ball in the middle, as if it had come there in a straight line, so that a player sees where it is served to."""
    return _MIDDLE - jnp.arange(SEEN)[:, None] * velocity


def _draw(picture: np.ndarray[Any, Any], centre: Any, size: tuple[int, int], colour: tuple[int, int, int]) -> None:
    left, top = (round(float(middle) - length / 2) for middle, length in zip(centre, size, strict=True))
    picture[max(top, 0) : top + size[1], max(left, 0) : left + size[0]] = colour


pong = OurEnv(Pong, game=PongGame)
