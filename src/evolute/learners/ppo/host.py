"""Turns and evaluations in environments on the host: all members' are stepped together, with one inference for each step
and one update for each rollout.

Environments start each turn afresh, from seeds that follow from the order's, since their inner state cannot be saved.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evolute.core.protocols import Progress
from evolute.core.rng import derive
from evolute.envs.interface import HostEnv, Vector
from evolute.learners.kit import members, networks, normal
from evolute.learners.kit.programs import Programs
from evolute.learners.ppo.episodes import Array, Episodes
from evolute.learners.ppo.evaluate import LIMIT, Played, Player
from evolute.learners.ppo.model import Learnt, Model, Rollout
from evolute.learners.ppo.rollout import normalised, outputs_of, view
from evolute.learners.ppo.settings import Traced
from evolute.learners.ppo.state import Assignment, State, Trained, key_data, stacked, unstacked
from evolute.learners.ppo.update import LOSSES, improve

COPIES = 8
"""Environments of each member in an evaluation; they play as many episodes one after another as are asked for."""


class Acted(NamedTuple):
    """What a member did in one step, [env, …]: the action and the policy's outputs side by side, and its memory."""

    done: Any
    memory: Any


class Sight(NamedTuple):
    """What a member has to act upon, [env, …]: its weights, chance for several steps [time, env, …], and what it sees.

    `first` is 1 where an episode begins.
    """

    weights: Any
    moments: normal.Moments
    normalize_obs: Any
    noise: Any
    obs: Any
    first: Any


class Growing(NamedTuple):
    """A member during a turn: what it has learnt, its running discounted returns [env], and sums of losses."""

    learnt: Learnt
    discounted: Any
    losses: Any
    sound: Any


class Lived(NamedTuple):
    """What a member lived through in one rollout, [time, env, …], with one observation more; memory is that before it."""

    key: Any
    hparams: Traced
    updates: Any
    obs: Any
    done: Any
    reward: Any
    terminated: Any
    ends: Any
    first: Any
    valid: Any
    memory: Any


def act(model: Model, greedy: bool, acted: Acted, sight: Sight, time: jax.Array) -> Acted:
    """One member's actions; `time` counts the steps for which there is noise."""
    weights = networks.unpacked(model.network, sight.weights)
    memory = acted.memory * (1 - sight.first)[:, None]
    obs = view(model, sight.moments, sight.normalize_obs)(sight.obs)
    if model.network.memory:
        outputs, memory = networks.policy(model.network, weights, obs, memory)
    else:
        outputs = outputs_of(model, weights, obs)
    action = model.actions.mode(weights, outputs) if greedy else model.actions.sample(weights, outputs, sight.noise[time])
    return Acted(jnp.concatenate([action, outputs], axis=-1), memory)


def draw(model: Model, noise: jax.Array, key: jax.Array, number: jax.Array) -> jax.Array:
    """One member's chance in the steps of the rollout of this number: [time, env, …]."""
    return model.actions.noise(jax.random.fold_in(jax.random.wrap_key_data(key), number), noise.shape[:2])


def grow(model: Model, growing: Growing, lived: Lived, number: jax.Array) -> Growing:
    """One member's update after its rollout of this number; one whose turn is over stays as it is."""
    grown: Growing = jax.lax.cond(number < lived.updates, lambda: _grown(model, growing, lived, number), lambda: growing)
    return grown


def _grown(model: Model, growing: Growing, lived: Lived, number: jax.Array) -> Growing:
    weights = networks.unpacked(model.network, growing.learnt.optimiser.weights)
    value = _values(model, growing.learnt, weights, lived)
    width = model.actions.width
    rollout = Rollout(
        lived.obs[:-1],
        lived.done[..., :width],
        lived.done[..., width:],
        value[:-1],
        lived.reward,
        jnp.zeros_like(lived.reward),
        1 - lived.terminated,
        lived.ends,
        lived.first[:-1],
        lived.valid,
    )
    learnt, rollout, discounted = normalised(model, growing.learnt, rollout, growing.discounted, lived.hparams)
    key = jax.random.fold_in(jax.random.wrap_key_data(lived.key), -1 - number)
    learnt, losses = improve(model, learnt, rollout, value[-1], lived.memory, lived.hparams, key)
    return Growing(learnt, discounted, growing.losses + losses, growing.sound * jnp.isfinite(jnp.sum(value)))


def _values(model: Model, learnt: Learnt, weights: networks.Weights, lived: Lived) -> jax.Array:
    """The values of all observations, [time + 1, env]."""
    flat = lived.obs.reshape((-1, *lived.obs.shape[2:]))
    seen = view(model, learnt.obs, lived.hparams.normalize_obs)(flat)
    if model.network.memory:
        seen = seen.reshape((*lived.obs.shape[:2], *seen.shape[1:]))
        return networks.along(model.network, weights, seen, lived.first, lived.memory)[1]
    memory = jnp.zeros((flat.shape[0], model.network.units))
    return networks.value(model.network, weights, seen, memory).reshape(lived.obs.shape[:2])


@dataclass(frozen=True)
class Host:
    """Trains and plays in environments that are stepped on the host."""

    env: HostEnv
    programs: Programs
    enough: int = 20

    @property
    def time_limit(self) -> int | None:
        return self.env.time_limit

    def turn(
        self, model: Model, states: Sequence[State], tasks: Sequence[Assignment], ring: int, progress: Progress
    ) -> list[Trained]:
        """One turn of each member under its assignment."""
        turn = _Turn(self, model, states, tasks, progress)
        with contextlib.closing(self.env.vector(_seeds([task.seed for task in tasks], model.envs))) as vector:
            return turn.run(vector, ring)

    def play(
        self, model: Model, players: Sequence[Player], episodes: int, *, greedy: bool, seed: int, progress: Progress
    ) -> list[Played]:
        """Episodes of each member, on luck that is common to all."""
        copies = min(episodes, COPIES)
        with contextlib.closing(self.env.vector(_seeds([seed] * len(players), copies))) as vector:
            return self._play(vector, model, players, episodes, copies, greedy, seed, progress)

    def _play(
        self,
        vector: Vector,
        model: Model,
        players: Sequence[Player],
        episodes: int,
        copies: int,
        greedy: bool,
        seed: int,
        progress: Progress,
    ) -> list[Played]:
        each = [len(range(copy, episodes, copies)) for copy in range(copies)]
        capacity, shape = members.capacity(len(players)), (len(players), copies)
        keys = np.tile(key_data(seed), (capacity, 1))
        actor = Actor(self.programs, model, len(players), copies, greedy, keys, progress)
        learnt, normalize = stacked(players, capacity)
        episodes_of = Episodes(*shape)
        obs, first, valid = vector.reset(), np.ones(shape, np.float32), np.ones(shape, np.float32)
        for number in range(LIMIT * max(each)):
            if number % model.unroll == 0:
                actor.begin(learnt, normalize, number // model.unroll)
            done = actor(obs.reshape((*shape, *obs.shape[1:])), first, number % model.unroll)
            obs, _, ends, _ = episodes_of.stepped(vector, _to_env(model, done), valid)
            first, valid = 1 - valid, 1 - ends
            if episodes_of.errors:
                raise RuntimeError(next(iter(episodes_of.errors.values())))
            if ends.any() and episodes_of.enough(each):
                break
        return [episodes_of.first(member, each) for member in range(len(players))]


class Actor:
    """Chooses actions of all members, one call for each step; their memories stay where they are computed."""

    def __init__(
        self, programs: Programs, model: Model, rows: int, envs: int, greedy: bool, keys: Array, progress: Progress
    ) -> None:
        self.programs, self.model, self.rows, self.greedy, self.progress = programs, model, rows, greedy, progress
        self.capacity = members.capacity(rows)
        self.alone = not model.image and jax.default_backend() == "cpu"
        self.filled = np.array([rows], np.int32) if self.alone else members.spread(members.filled(rows))
        width = model.actions.width + model.actions.outputs
        blank = np.zeros((self.capacity, envs, width), np.float32)
        memory = np.zeros((self.capacity, envs, model.network.units), np.float32)
        self.acted = self._placed(Acted(blank, memory))
        self.keys = members.spread(keys)
        self.noise = members.spread(np.zeros((self.capacity, model.unroll, envs, model.actions.noises), np.float32))
        self.sight: tuple[Any, normal.Moments, Any, Any] | None = None
        self._program: Callable[..., Any] | None = None

    def begin(self, learnt: Learnt, normalize: Any, number: int) -> None:
        """Get ready for the steps of the rollout of this number."""
        if not self.greedy or not number:
            call = self.programs.call
            name = ("draw", self.model, self.acted.done.shape[1])
            self.noise = call(
                name, partial(draw, self.model), self.rows, self.noise, self.keys, np.int32(number), self.progress
            )
        self.sight = self._placed((learnt.optimiser.weights, learnt.obs, normalize, self.noise))

    def __call__(self, obs: Array, first: Array, time: int) -> Array:
        """Actions and outputs side by side, [member, env, …]."""
        assert self.sight is not None
        sight = Sight(*self.sight, _padded(obs, self.capacity), _padded(first, self.capacity))
        arguments = (self.filled, self.acted, sight, np.int32(time))
        if self._program is None:
            function, name = partial(act, self.model, self.greedy), ("act", self.model, self.greedy)
            lift = members.on_one_device if self.alone else members.over_members
            self._program = self.programs.compiled(name, function, arguments, self.progress, lift)
        self.acted = self._program(*arguments)
        return np.asarray(self.acted.done)[: self.rows]

    def _placed(self, tree: Any) -> Any:
        return jax.device_put(tree, jax.local_devices()[0]) if self.alone else members.spread(tree)


class _Turn:
    """One turn of a cohort: rollouts and updates, in turn."""

    def __init__(
        self, host: Host, model: Model, states: Sequence[State], tasks: Sequence[Assignment], progress: Progress
    ) -> None:
        self.host, self.model, self.tasks, self.progress = host, model, tasks, progress
        self.rows, self.capacity = len(states), members.capacity(len(states))
        zeros = np.zeros(model.envs, np.float32)
        losses = np.zeros(len(LOSSES), np.float32)
        growing = [Growing(state.learnt, zeros, losses, np.float32(1)) for state in states]
        self.growing = members.spread(stacked(growing, self.capacity))
        self.hparams = stacked([task.hparams for task in tasks], self.capacity)
        self.keys = stacked([key_data(task.seed) for task in tasks], self.capacity)
        self.updates = stacked([np.int32(task.updates) for task in tasks], self.capacity)
        self.episodes = Episodes(self.rows, model.envs)
        self.actor = Actor(host.programs, model, self.rows, model.envs, False, self.keys, progress)

    def run(self, vector: Vector, ring: int) -> list[Trained]:
        obs = vector.reset()
        first, valid = np.ones((self.rows, self.model.envs), np.float32), np.ones((self.rows, self.model.envs), np.float32)
        total = max(task.updates for task in self.tasks)
        for number in range(total):
            self.episodes.over = self.updates[: self.rows] <= number
            lived, obs, first, valid = self._live(vector, obs, first, valid, number)
            function = partial(grow, self.model)
            name = ("grow", self.model)
            call = self.host.programs.call
            self.growing = call(name, function, self.rows, self.growing, lived, np.int32(number), self.progress)
            self.progress((number + 1) / total, "")
        made = unstacked(self.growing, self.rows)
        return [self._trained(member, new, ring) for member, new in enumerate(made)]

    def _trained(self, member: int, new: Growing, ring: int) -> Trained:
        tally = self.episodes.tally(member, ring, new.losses, self.tasks[member].updates, new.sound)
        return Trained(new.learnt, None, tally, self.episodes.errors.get(member))

    def _live(self, vector: Vector, obs: Array, first: Array, valid: Array, number: int) -> tuple[Lived, Array, Array, Array]:
        """One rollout of all members; returns it with the observations, and what is first and valid, after it."""
        model, shape = self.model, (self.rows, self.model.envs)
        width = model.actions.width + model.actions.outputs
        grid = (self.capacity, model.unroll, model.envs)
        seen = np.zeros((self.capacity, model.unroll + 1, model.envs, *obs.shape[1:]), obs.dtype)
        done = np.zeros((*grid, width), np.float32)
        reward, terminated, ends, counted = (np.zeros(grid, np.float32) for _ in range(4))
        firsts = np.zeros((self.capacity, model.unroll + 1, model.envs), np.float32)
        memory = np.array(self.actor.acted.memory)
        self.actor.begin(self.growing.learnt, self.hparams.normalize_obs, number)
        for time in range(model.unroll):
            now = obs.reshape((*shape, *obs.shape[1:]))
            seen[: self.rows, time], firsts[: self.rows, time] = now, first
            step = self.actor(now, first, time)
            obs, gained, ended, over = self.episodes.stepped(vector, _to_env(model, step), valid)
            done[: self.rows, time], reward[: self.rows, time] = step, gained
            terminated[: self.rows, time], ends[: self.rows, time] = over, ended
            counted[: self.rows, time] = valid
            first, valid = 1 - valid, 1 - ended
        seen[: self.rows, model.unroll] = obs.reshape((*shape, *obs.shape[1:]))
        firsts[: self.rows, model.unroll] = first
        lived = Lived(self.keys, self.hparams, self.updates, seen, done, reward, terminated, ends, firsts, counted, memory)
        return lived, obs, first, valid


def _seeds(seeds: Sequence[int], envs: int) -> list[list[int]]:
    return [[derive(seed, "env", env) for env in range(envs)] for seed in seeds]


def _to_env(model: Model, done: Array) -> Any:
    """The actions of all members in one row, as environments take them."""
    action = model.actions.to_env(done[..., : model.actions.width])
    return action.reshape((-1, *action.shape[2:]))


def _padded(rows: Array, capacity: int) -> Array:
    missing = capacity - len(rows)
    return rows if missing == 0 else np.concatenate([rows, np.zeros((missing, *rows.shape[1:]), rows.dtype)])
