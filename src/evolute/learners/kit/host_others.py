"""The other players in games on the host: frozen states, bots, and the members themselves, in one call for all games.

A row is one player at one table: it takes the same seat, counted from the member's own, in all copies there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evolute.core.protocols import Progress
from evolute.core.rng import derive
from evolute.learners.kit import acting, members, networks
from evolute.learners.kit.acting import PolicySpec
from evolute.learners.kit.actions import masked
from evolute.learners.kit.arena import LIVE, RANDOM, Opponents, at_random
from evolute.learners.kit.evaluation import Player
from evolute.learners.kit.jax_envs import where
from evolute.learners.kit.layout import layout
from evolute.learners.kit.programs import Programs
from evolute.learners.kit.stacking import key_data, stacked

Array = np.ndarray[Any, Any]


class Asked(NamedTuple):
    """What one row is asked, [copy, …]: what it sees, what is legal, whether it is to act, and where its game is new."""

    obs: Any
    legal: Any
    acts: Any
    first: Any


class _Acted(NamedTuple):
    """Actions as the environment takes them, and memories, [copy, …]."""

    action: Any
    memory: Any


class _Inputs(NamedTuple):
    player: Player
    at_random: Any
    key: Any
    asked: Asked


def _act(spec: PolicySpec, acted: _Acted, inputs: _Inputs, when: jax.Array) -> _Acted:
    """What one row does; `when` are the numbers of the member's step and of the round of moves in it."""
    player, asked, copies = inputs.player, inputs.asked, len(acted.memory)
    key = jax.random.wrap_key_data(inputs.key)
    drawing, guessing = jax.random.split(jax.random.fold_in(jax.random.fold_in(key, when[0]), when[1]))
    weights = networks.unpacked(spec.network, player.weights)
    obs = acting.preprocessing(spec, player.moments, player.normalize_obs)(asked.obs)
    before = acted.memory * (1 - asked.first)[:, None]
    if spec.network.memory:
        outputs, after = networks.policy(spec.network, weights, obs, before)
    else:
        outputs, after = acting.outputs(spec, weights, obs), before
    sampled = spec.actions.sample(weights, masked(outputs, asked.legal), spec.actions.noise(drawing, (copies,)))
    guess = partial(at_random, spec)
    legal = None if asked.legal is None else 0
    guessed = jax.vmap(guess, in_axes=(0, legal))(jax.random.split(guessing, copies), asked.legal)
    action = jnp.where(inputs.at_random > 0, guessed, spec.actions.to_env(sampled)).astype(acted.action.dtype)
    return _Acted(action, where(asked.acts > 0, after, before))


class OtherPlayers:
    """Acts for everybody but the members in their own seats. Those who learn play as they did when `begin` was last called."""

    def __init__(
        self,
        programs: Programs,
        spec: PolicySpec,
        own: Sequence[Player],
        opponents: Sequence[Opponents],
        *,
        copies: int,
        seeds: Sequence[int],
        progress: Progress,
    ) -> None:
        self.programs, self.spec, self.copies, self.progress = programs, spec, copies, progress
        tables, others = opponents[0].lineups.shape
        self.shape = (len(own), others, tables)
        places = list(np.ndindex(self.shape))
        numbers = [int(opponents[member].lineups[table, other]) for member, other, table in places]
        self._rows, self._alone = len(places), not spec.image and jax.default_backend() == "cpu"
        self._places = layout(self._rows).on_one_device if self._alone else layout(self._rows)
        frozen = zip(numbers, places, strict=True)
        self._players: Player = stacked([_player(number, own[m], opponents[m]) for number, (m, _, _) in frozen])
        self._live = np.array([row for row, number in enumerate(numbers) if number == LIVE], np.int64)
        self._members = np.array([member for member, _, _ in places], np.int64)
        self._at_random = stacked([np.float32(number == RANDOM) for number in numbers])
        keys = [key_data(derive(seeds[member], "others", other, table)) for member, other, table in places]
        self._keys = stacked(keys)
        width = np.zeros((self._rows, copies, spec.actions.width), np.float32)
        memory = np.zeros((self._rows, copies, spec.network.units), np.float32)
        self._acted = self._places.spread(_Acted(spec.actions.to_env(width), memory))
        self._placed_players = self._places.spread((self._players, self._at_random, self._keys))

    def begin(self, live: Player) -> None:
        """From now on the members play against themselves as they are now, [member, …] on the host."""
        if not len(self._live):
            return
        now = jax.tree.map(lambda leaf: leaf[self._members[self._live]], live)

        def renewed(rows: Array, new: Array) -> Array:
            rows = rows.copy()
            rows[self._live] = new
            return rows

        self._players = jax.tree.map(renewed, self._players, now)
        self._placed_players = self._places.spread((self._players, self._at_random, self._keys))

    def __call__(self, asked: Asked, when: tuple[int, int]) -> Array:
        """Their actions [member, other, table, copy, …], of which only those count who are to act."""
        rows: Asked = self._places.placed(jax.tree.map(lambda leaf: leaf.reshape((self._rows, *leaf.shape[3:])), asked))
        player, at_random, key = self._placed_players
        inputs = _Inputs(player, at_random, key, rows)
        arguments = (self._places.filled, self._acted, inputs, np.array(when, np.int32))
        lift = members.on_one_device if self._alone else members.over_members
        program = self.programs.compiled(("others", self.spec), partial(_act, self.spec), arguments, self.progress, lift)
        self._acted = program(*arguments)
        action = self._places.view(self._acted.action)
        return action.reshape((*self.shape, *action.shape[1:]))


def _player(number: int, own: Player, opponents: Opponents) -> Player:
    """A player in a line-up; in a bot's place nobody in particular."""
    if number <= LIVE:
        return own
    player: Player = jax.tree.map(lambda leaf: leaf[number - 1], opponents.players)
    return player
