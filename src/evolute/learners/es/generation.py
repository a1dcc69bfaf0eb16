"""Generations of evolution strategies (Salimans et al. 2017, arXiv 1703.03864), as a pure function of one member.

Each generation perturbs the weights, every perturbation in both directions, lets all candidates play on the same seeds, turns
their returns into ranks, and takes a step of Adam along the perturbations, weighted by these ranks.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evolute.envs.interface import JaxEnv, Step, channels_of
from evolute.learners.es.spec import ESSpec
from evolute.learners.es.train_state import TrainState
from evolute.learners.kit import acting, adam, networks, normalise
from evolute.learners.kit.evaluation import LIMIT
from evolute.learners.kit.jax_envs import picked, where
from evolute.learners.kit.normalise import Moments

ADAM_EPS = 1e-8


class Stats(NamedTuple):
    """What happened in a turn: steps and generations so far, and of the last generation the mean and highest return of
    candidates and the mean length of their episodes; and whether all was `finite`."""

    used: Any
    generations: Any
    mean: Any
    highest: Any
    length: Any
    finite: Any


class Row(NamedTuple):
    """A member inside the program."""

    train: TrainState
    stats: Stats


class Inputs(NamedTuple):
    """What a turn asks of a member: a key's data, the settings of `TRACED`, and how many steps to use."""

    key: Any
    hparams: Any
    budget: Any


class Hparams(NamedTuple):
    """The settings that are values."""

    lr: Any
    sigma: Any
    decay: Any
    normalize_obs: Any


def blank() -> Stats:
    """Before a turn, on the host."""
    zero = np.float32(0)
    return Stats(np.int32(0), np.int32(0), zero, zero, zero, np.float32(1))


def generations(spec: ESSpec, env: JaxEnv, row: Row, inputs: Inputs, count: jax.Array) -> Row:
    """The row after at most `count` generations; none begins once the steps are used up, or a number is not finite."""

    def goes_on(carried: tuple[jax.Array, Row]) -> jax.Array:
        done, row = carried
        more: jax.Array = (done < count) & (row.stats.used < inputs.budget) & (row.stats.finite > 0)
        return more

    def one(carried: tuple[jax.Array, Row]) -> tuple[jax.Array, Row]:
        done, row = carried
        return done + 1, generation(spec, env, row, inputs)

    after: Row = jax.lax.while_loop(goes_on, one, (jnp.int32(0), row))[1]
    return after


def generation(spec: ESSpec, env: JaxEnv, row: Row, inputs: Inputs) -> Row:
    """The row after one more generation."""
    h = Hparams(*(inputs.hparams[place] for place in range(len(Hparams._fields))))
    state, stats = row.train.adam, row.stats
    drawing, playing = jax.random.split(jax.random.fold_in(jax.random.wrap_key_data(inputs.key), stats.generations))
    half = jax.random.normal(drawing, (spec.candidates // 2, state.weights.shape[0]))
    shifts = jnp.concatenate([half, -half])
    played = play(spec, env, state.weights + h.sigma * shifts, row.train.obs, h.normalize_obs, playing)
    returns = played.returns.reshape((spec.candidates, spec.episodes)).mean(axis=1)
    ascent = centred_ranks(returns) @ shifts / (spec.candidates * h.sigma) - h.decay * state.weights
    rate, root = adam.rates(h.lr, state.count)
    after = adam.step(state, -ascent, rate, root, eps=jnp.float32(ADAM_EPS), max_norm=jnp.float32(jnp.inf))
    finite = jnp.isfinite(returns).all() & jnp.isfinite(after.weights).all()
    steps = jnp.sum(played.lengths).astype(jnp.int32)
    told = Stats(
        stats.used + steps,
        stats.generations + 1,
        returns.mean(),
        returns.max(),
        played.lengths.mean(),
        finite.astype(jnp.float32),
    )
    return Row(TrainState(after, played.obs), told)


def centred_ranks(returns: jax.Array) -> jax.Array:
    """Returns as ranks from -0.5 to 0.5; equal returns share theirs, so that nothing is learnt if all are: [candidate]."""
    below = jnp.sum(returns[:, None] > returns[None, :], axis=1)
    equal = jnp.sum(returns[:, None] == returns[None, :], axis=1)
    return (below + (equal - 1) / 2) / (len(returns) - 1) - 0.5


class Played(NamedTuple):
    """Returns and lengths of all episodes [candidate * episode], and the moments of observations after them."""

    returns: jax.Array
    lengths: jax.Array
    obs: Moments


def play(spec: ESSpec, env: JaxEnv, vectors: jax.Array, moments: Moments, normalised: jax.Array, key: jax.Array) -> Played:
    """The episodes of candidates [candidate, weight], the n-th episode of each on the same seed.

    All see observations by the moments before; what they see counts for the next generation.
    """
    network, actions = spec.policy.network, spec.policy.actions
    count = spec.candidates * spec.episodes
    seen = acting.preprocessing(spec.policy, moments, normalised)

    def keys(time: jax.Array) -> jax.Array:
        """A key for each environment."""
        return jnp.tile(jax.random.split(jax.random.fold_in(key, time), spec.episodes), spec.candidates)

    def act(vector: jax.Array, obs: jax.Array) -> jax.Array:
        weights = networks.unpacked(network, vector)
        outputs, _ = networks.policy(network, weights, seen(obs), jnp.zeros((len(obs), network.units)))
        return actions.mode(weights, outputs)

    def runs(carried: tuple[Any, ...]) -> jax.Array:
        time, _, _, alive, _ = carried
        more: jax.Array = jnp.any(alive) & (time < LIMIT)
        return more

    def step(carried: tuple[Any, ...]) -> tuple[Any, ...]:
        time, states, obs, alive, played = carried
        action = jax.vmap(act)(vectors, obs.reshape((spec.candidates, spec.episodes, *obs.shape[1:])))
        moved = _stepped(env, keys(time + 1), states, actions.to_env(action.reshape((count, -1))))
        learnt = played.obs if spec.policy.image else _counted(played.obs, obs, alive)
        played = Played(played.returns + moved.reward * alive, played.lengths + alive, learnt)
        states, obs = jax.tree.map(partial(where, alive), (moved.state, moved.obs), (states, obs))
        return time + 1, states, obs, alive & ~(moved.terminated | moved.truncated), played

    states, obs = jax.vmap(env.reset)(keys(jnp.int32(0)))
    begun = Played(jnp.zeros(count), jnp.zeros(count), moments)
    last: Played = jax.lax.while_loop(runs, step, (jnp.int32(0), states, obs, jnp.ones(count, bool), begun))[-1]
    return last


def _counted(moments: Moments, obs: jax.Array, alive: jax.Array) -> Moments:
    return normalise.updated(moments, obs.reshape((len(obs), -1)).astype(jnp.float32), alive.astype(jnp.float32))


def _stepped(env: JaxEnv, keys: jax.Array, states: Any, action: jax.Array) -> Step:
    """A step of all environments; of rewards with channels the first counts."""
    moved: Step = jax.vmap(env.step)(keys, states, action)
    return moved._replace(reward=picked(moved.reward, ())) if channels_of(env) else moved
