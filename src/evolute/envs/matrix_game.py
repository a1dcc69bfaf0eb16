"""Repeated matrix games: all seats choose at once, and a tensor says what each of them gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from evolute.envs.game import Bot, Tick, View


class State(NamedTuple):
    """The actions of the last round [seat], -1 before the first, and the rounds played."""

    last: jax.Array
    rounds: jax.Array


class MatrixGame:
    """A game of some rounds, by its payoffs [seat, action of seat 0, action of seat 1, …].

    A seat sees the last joint action as one-hots, its own first and then those of the seats after it, and zeros in the first
    round; a game of one round shows a constant. Where the seats are not alike, a one-hot of the seat is added. If some seats
    have fewer actions, the others' last ones are illegal for them.
    """

    channels: tuple[str, ...] = ()

    def __init__(self, payoff: Any, *, rounds: int, moves: Sequence[str] = ()) -> None:
        self.payoff, self.rounds = checked_payoff(payoff), rounds
        self._counts = self.payoff.shape[1:]
        seats, most = len(self._counts), max(self._counts)
        self.teams, self.actors = tuple(range(seats)), seats
        self.zero_sum = bool(np.allclose(self.payoff.sum(axis=0), 0))
        self.bots: Mapping[str, Bot] = {}
        self._alike = seats_are_alike(self.payoff)
        self.legal = np.arange(most) < np.array(self._counts)[:, None]
        size = self._obs(jnp.zeros(seats, jnp.int32)).shape[1]
        self.observation_space: gymnasium.Space[Any] = gymnasium.spaces.Box(0.0, 1.0, (size,))
        self.action_space: gymnasium.Space[Any] = gymnasium.spaces.Discrete(most)
        self._names = tuple(moves) or tuple(map(str, range(most)))

    def reset(self, key: jax.Array) -> tuple[State, View]:
        state = State(jnp.full(self.actors, -1, jnp.int32), jnp.int32(0))
        return state, self._view(state)

    def step(self, key: jax.Array, state: State, actions: jax.Array) -> Tick:
        after = State(actions.astype(jnp.int32), state.rounds + 1)
        reward = jnp.asarray(self.payoff)[(slice(None), *actions)]
        return Tick(after, self._view(after), reward, after.rounds >= self.rounds, jnp.bool_(False))

    def moves(self, state: State, seat: int) -> dict[str, int]:
        return {name: action for action, name in enumerate(self._names[: self._counts[seat]])}

    def text(self, state: State, seat: int) -> str:
        number, last = int(state.rounds), np.asarray(state.last)
        if number == 0:
            return f"round 1 of {self.rounds}"
        gained = float(self.payoff[(seat, *last)])
        others = ", ".join(self._names[action] for other, action in enumerate(last) if other != seat)
        told = f"you played {self._names[last[seat]]} against {others}: {gained:+g}"
        return told if number >= self.rounds else f"{told}\nround {number + 1} of {self.rounds}"

    def frame(self, state: State) -> np.ndarray[Any, np.dtype[np.uint8]]:
        from evolute.envs.render import text_frame

        return text_frame(self.text(state, 0))

    def situations(self) -> np.ndarray[Any, Any]:
        """All that can be seen, [seat, situation, …]: the first round, then every last joint action in C order."""
        every = np.stack(np.unravel_index(np.arange(np.prod(self._counts)), self._counts), axis=-1)
        last = np.concatenate([np.full((1, self.actors), -1), every if self.rounds > 1 else every[:0]])
        return np.swapaxes(np.asarray(jax.vmap(self._obs)(jnp.asarray(last, jnp.int32))), 0, 1)

    def _view(self, state: State) -> View:
        legal = None if self.legal.all() else jnp.asarray(self.legal)
        return View(self._obs(state.last), jnp.arange(self.actors, dtype=jnp.int32), legal)

    def _obs(self, last: jax.Array) -> jax.Array:
        """What all seats see after a joint action, [seat, …]."""
        seats = self.actors
        parts = [] if self._alike else [jnp.eye(seats)]
        if self.rounds > 1:
            others = (jnp.arange(seats)[:, None] + jnp.arange(seats)) % seats
            parts.append(jax.nn.one_hot(last, max(self._counts))[others].reshape(seats, -1))
        return jnp.concatenate(parts, axis=1) if parts else jnp.ones((seats, 1))


def checked_payoff(payoff: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
    """A tensor of payoffs, or a ValueError that says what one looks like."""
    needs = "must be numbers [seat, action of seat 0, action of seat 1, …], one axis of actions for each of 2 or more seats"
    try:
        tensor = np.array(payoff, np.float32)
    except (TypeError, ValueError) as error:
        raise ValueError(f"payoff={payoff}: {needs} ({error})") from error
    if tensor.ndim < 3 or tensor.ndim != 1 + len(tensor) or tensor.size == 0 or not np.isfinite(tensor).all():
        raise ValueError(f"payoff of shape {list(tensor.shape)}: {needs}")
    return tensor


def seats_are_alike(payoff: np.ndarray[Any, Any]) -> bool:
    """Whether the game stays the same when any two neighbouring seats change places, and therefore any seats."""
    for seat in range(len(payoff) - 1):
        order = np.arange(len(payoff))
        order[[seat, seat + 1]] = seat + 1, seat
        swapped = np.swapaxes(payoff, 1 + seat, 2 + seat)[order]
        if swapped.shape != payoff.shape or not np.array_equal(swapped, payoff):
            return False
    return True
