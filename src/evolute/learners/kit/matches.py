"""Games of members against line-ups of other players, all inside one compiled program: how good is a finished state?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evolute.core.protocols import Progress
from evolute.envs.game import Game
from evolute.learners.kit import acting, networks
from evolute.learners.kit.acting import PolicySpec
from evolute.learners.kit.actions import masked
from evolute.learners.kit.arena import Arena, Opponents
from evolute.learners.kit.evaluation import LIMIT, Player
from evolute.learners.kit.layout import layout
from evolute.learners.kit.programs import Programs
from evolute.learners.kit.stacking import stacked


class Fixture(NamedTuple):
    """One member's games: who plays, against whom, which of the line-ups count [table], the data of a random key, and whether
    the member takes its likeliest actions; the others sample theirs."""

    player: Player
    opponents: Opponents
    counts: Any
    key: Any
    greedy: Any


class GameResults(NamedTuple):
    """A member's returns, and by how much they are above the mean of its opponents' returns: [table, game]."""

    returns: Any
    leads: Any


def play(
    game: Game, programs: Programs, spec: PolicySpec, fixtures: Sequence[Fixture], games: int, progress: Progress
) -> list[GameResults]:
    """How each member's games ended. The games of a table come in groups with the same key, one per seat."""
    places = layout(len(fixtures))
    zeros = np.zeros((len(fixtures[0].counts), games), np.float32)
    results = places.spread(stacked([GameResults(zeros, zeros)] * len(fixtures)))
    inputs = places.spread(stacked(fixtures))
    name = ("matches", spec, games)
    results = programs.call(name, partial(_play, game, spec), places, results, inputs, (), progress)
    return places.unstacked(results)


def _play(game: Game, spec: PolicySpec, results: GameResults, fixture: Fixture, shared: tuple[()]) -> GameResults:
    """One game in each of several copies at once."""
    key = jax.random.wrap_key_data(fixture.key)
    copies = results.returns.shape[1]
    arena = Arena.of(game, spec, fixture.player, fixture.opponents, copies, paired=True)
    weights = networks.unpacked(spec.network, fixture.player.weights)
    seen = acting.preprocessing(spec, fixture.player.moments, fixture.player.normalize_obs)
    states, obs = arena.reset(jax.random.fold_in(key, 0))

    def runs(carried: tuple[Any, ...]) -> Any:
        time, _, _, _, alive, _ = carried
        return jnp.any(alive) & (time < LIMIT)

    def step(carried: tuple[Any, ...]) -> tuple[Any, ...]:
        time, states, obs, memory, alive, results = carried
        stepping, drawing = jax.random.split(jax.random.fold_in(key, time + 1))
        outputs, memory = networks.policy(spec.network, weights, seen(obs), memory)
        outputs = masked(outputs, arena.legal(states))
        noise = jnp.where(fixture.greedy, 0.0, spec.actions.noise(drawing, (arena.envs,)))
        action = spec.actions.sample(weights, outputs, noise)
        moved = arena.step(stepping, states, spec.actions.to_env(action))
        results = GameResults(*(total + gained * alive for total, gained in zip(results, moved.reward.T, strict=True)))
        return time + 1, moved.state, moved.obs, memory, alive & ~(moved.terminated | moved.truncated), results

    memory = jnp.zeros((arena.envs, spec.network.units))
    blank = GameResults(jnp.zeros(arena.envs), jnp.zeros(arena.envs))
    alive = jnp.repeat(fixture.counts > 0, copies)
    played: GameResults = jax.lax.while_loop(runs, step, (jnp.int32(0), states, obs, memory, alive, blank))[-1]
    return GameResults(*(leaf.reshape((arena.tables, copies)) for leaf in played))
