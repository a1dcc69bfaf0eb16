"""Fresh episodes of members in JAX environments, all inside one compiled program."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evolute.core.protocols import Progress
from evolute.envs.interface import JaxEnv
from evolute.learners.kit import acting, networks
from evolute.learners.kit.acting import PolicySpec
from evolute.learners.kit.jax_envs import Copies, where
from evolute.learners.kit.layout import layout
from evolute.learners.kit.normalise import Moments
from evolute.learners.kit.programs import Programs
from evolute.learners.kit.stacking import key_data, stacked

LIMIT = 20_000
"""Steps after which an episode that does not end counts as it is."""


class EpisodeResults(NamedTuple):
    """The returns and lengths of a member's episodes: [episode]."""

    returns: Any
    lengths: Any


class Player(NamedTuple):
    """A member as it plays: its weights, the moments of its observations, and whether it normalises by them."""

    weights: Any
    moments: Moments
    normalize_obs: Any


def evaluate(
    env: JaxEnv,
    programs: Programs,
    spec: PolicySpec,
    players: Sequence[Player],
    episodes: int,
    *,
    greedy: bool,
    seed: int,
    progress: Progress,
) -> list[EpisodeResults]:
    """Episodes of each member, on a seed that all share."""
    places = layout(len(players))
    zeros = np.zeros(episodes, np.float32)
    results = places.spread(stacked([EpisodeResults(zeros, zeros)] * len(players)))
    inputs = places.spread(stacked(players))
    function, name = partial(_play, spec, env, greedy), ("evaluate", spec, greedy)
    results = programs.call(name, function, places, results, inputs, key_data(seed), progress)
    return places.unstacked(results)


def _play(
    spec: PolicySpec, env: JaxEnv, greedy: bool, results: EpisodeResults, player: Player, seed: jax.Array
) -> EpisodeResults:
    """One episode of a member in each of several environments at once; `seed` is a key's data."""
    key = jax.random.wrap_key_data(seed)
    count = results.returns.shape[0]
    weights = networks.unpacked(spec.network, player.weights)
    seen = acting.preprocessing(spec, player.moments, player.normalize_obs)
    world = Copies(env, count)
    states, obs = world.reset(jax.random.fold_in(key, 0))

    def runs(carried: tuple[Any, ...]) -> Any:
        time, _, _, _, alive, _ = carried
        return jnp.any(alive) & (time < LIMIT)

    def step(carried: tuple[Any, ...]) -> tuple[Any, ...]:
        time, states, obs, memory, alive, results = carried
        stepping, drawing = jax.random.split(jax.random.fold_in(key, time + 1))
        outputs, memory = networks.policy(spec.network, weights, seen(obs), memory)
        noise = spec.actions.noise(drawing, (count,))
        action = spec.actions.mode(weights, outputs) if greedy else spec.actions.sample(weights, outputs, noise)
        moved = world.step(stepping, states, spec.actions.to_env(action))
        states, obs = jax.tree.map(lambda new, old: where(alive, new, old), (moved.state, moved.obs), (states, obs))
        results = EpisodeResults(results.returns + moved.reward * alive, results.lengths + alive)
        return time + 1, states, obs, memory, alive & ~(moved.terminated | moved.truncated), results

    memory = jnp.zeros((count, spec.network.units))
    blank = EpisodeResults(jnp.zeros(count), jnp.zeros(count))
    begin = (jnp.int32(0), states, obs, memory, jnp.ones(count, bool), blank)
    return jax.lax.while_loop(runs, step, begin)[-1]
