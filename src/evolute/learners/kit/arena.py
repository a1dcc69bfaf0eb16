"""Games inside a compiled program: a member takes one seat of each game, frozen states, bots or itself take the others.

Games come in groups, called tables, each with one line-up of other players, so that the players of a table act by one product.
Seen from the member's seat a game is an environment like any other: a step is its own action and all that the others do until
it is to act again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evolute.envs.game import Bot, Game, Situation, Tick, View
from evolute.envs.host_game import HostGame
from evolute.envs.interface import Step
from evolute.envs.places import Places, taken
from evolute.learners.kit import acting, networks
from evolute.learners.kit.acting import PolicySpec
from evolute.learners.kit.actions import Gaussian, masked
from evolute.learners.kit.evaluation import Player
from evolute.learners.kit.jax_envs import picked, where

LIVE, RANDOM = 0, -1
"""In a line-up: the learning member itself, and the bot that plays at random. Frozen players are 1, 2, …; the game's own bots
are -2, -3, …"""


class Opponents(NamedTuple):
    """Frozen players [player, …], and the line-ups: who takes the other seats at each table [table, other], mates first."""

    players: Player
    lineups: Any


class Seated(NamedTuple):
    """Games in play [game, …]: their states, what is seen, the member's seat in each, and the memory of the other players."""

    state: Any
    view: View
    seat: jax.Array
    memory: jax.Array


@dataclass(frozen=True)
class Seating:
    """Who sits where. For each seat that the member may have: which seats the others take, and whose action a seat takes."""

    others: np.ndarray[Any, np.dtype[np.int32]]
    """[own seat, place of the line-up]; a place that is empty for this seat has the own seat, and nobody asks what it does."""
    place: np.ndarray[Any, np.dtype[np.int32]]
    """[own seat, seat]: 0 for the member itself, 1 + place of the line-up for the others."""
    rivals: np.ndarray[Any, np.dtype[np.float32]]
    """[own seat, seat]: weights that make a mean over the seats of other teams."""

    @classmethod
    def of(cls, teams: Sequence[int]) -> Seating:
        seats, places = len(teams), len(Places.of(teams))
        others = np.repeat(np.arange(seats, dtype=np.int32)[:, None], places, axis=1)
        place = np.zeros((seats, seats), np.int32)
        for own in range(seats):
            for seat, number in taken(teams, own).items():
                others[own, number], place[own, seat] = seat, 1 + number
        rivals = np.not_equal.outer(teams, teams).astype(np.float32)
        rivals /= np.maximum(rivals.sum(axis=1, keepdims=True), 1)
        return cls(others, place, rivals)


@dataclass(frozen=True)
class Arena:
    """A world of games: `copies` at each table. The member sits in each seat in turn, and moves on with every game.

    If they are `paired`, the games of all seats begin from the same keys, as do those of all tables, and a reward is a pair:
    the member's own, and by how much it is above the mean of its opponents' rewards.
    """

    game: Game
    spec: PolicySpec
    players: Sequence[Sequence[Player]]
    """Those in the line-ups [table][other], with their weights as named arrays; bots have nobody's in particular."""
    lineups: jax.Array
    copies: int
    paired: bool = False
    channels: tuple[int, ...] = ()
    """Which channels of the reward it gives, on a last axis; the first alone, without it, if there are none."""

    @classmethod
    def of(
        cls,
        game: Game,
        spec: PolicySpec,
        live: Player,
        opponents: Opponents,
        copies: int,
        *,
        paired: bool = False,
        channels: tuple[int, ...] = (),
    ) -> Arena:
        """The world of a member that is `live`, with its opponents."""
        rows = jnp.maximum(opponents.lineups, LIVE)
        everyone = jax.tree.map(lambda own, rest: jnp.concatenate([jnp.asarray(own)[None], rest]), live, opponents.players)

        def seated(table: int, other: int) -> Player:
            player: Player = jax.tree.map(lambda leaf: leaf[rows[table, other]], everyone)
            return player._replace(weights=networks.unpacked(spec.network, player.weights))

        tables, others = opponents.lineups.shape
        players = [[seated(table, other) for other in range(others)] for table in range(tables)]
        return cls(game, spec, players, opponents.lineups, copies, paired, channels)

    @property
    def seats(self) -> int:
        return len(self.game.teams)

    @property
    def tables(self) -> int:
        return len(self.players)

    @property
    def envs(self) -> int:
        return self.tables * self.copies

    @cached_property
    def _seating(self) -> Seating:
        return Seating.of(self.game.teams)

    def reset(self, key: jax.Array) -> tuple[Seated, jax.Array]:
        return self._begun(key, jnp.arange(self.envs, dtype=jnp.int32) % self.copies % self.seats)

    def restart(self, key: jax.Array, states: Seated) -> tuple[Seated, jax.Array]:
        return self._begun(key, (states.seat + 1) % self.seats)

    def step(self, key: jax.Array, states: Seated, action: jax.Array) -> Step:
        """The member's action, and what the others do until it is to act again or the game has ended."""
        acting_key, stepping = jax.random.split(key)
        if self.game.actors == 1:
            tick = self._ticked(stepping, states.state, action[:, None])
            after = Seated(tick.state, tick.view, states.seat, states.memory)
            return self._others_moved(acting_key, after, self._own_reward(tick, states.seat), tick.terminated, tick.truncated)
        actions, memory = self._others_actions(acting_key, states)
        every = jnp.stack([action, *actions], axis=1)
        joint = jax.vmap(lambda row, place: row[place])(every, jnp.asarray(self._seating.place)[states.seat])
        tick = self._ticked(stepping, states.state, joint)
        after = Seated(tick.state, tick.view, states.seat, memory)
        return Step(after, self._obs(after), self._own_reward(tick, states.seat), tick.terminated, tick.truncated)

    def legal(self, states: Seated) -> jax.Array | None:
        legal = states.view.legal
        return None if legal is None else _of_actor(legal, self._own_actor(states))

    def _begun(self, key: jax.Array, seat: jax.Array) -> tuple[Seated, jax.Array]:
        """New games in which the member sits here and is to act; one that ends before it could is begun again."""
        memory = jnp.zeros((self.envs, len(self.players[0]), self.spec.network.units))

        def dealt(key: jax.Array) -> Seated:
            state, view = jax.vmap(self.game.reset)(self._keys(key))
            return Seated(state, view, seat, memory)

        if self.game.actors > 1:
            states = dealt(key)
            return states, self._obs(states)
        width = 2 if self.paired else len(self.channels)
        nothing, no = jnp.zeros((self.envs, width) if width else self.envs), jnp.zeros(self.envs, bool)

        def begun(number: jax.Array) -> tuple[Seated, jax.Array]:
            dealing, moving = jax.random.split(jax.random.fold_in(key, number))
            moved = self._others_moved(moving, dealt(dealing), nothing, no, no)
            return moved.state, moved.terminated | moved.truncated

        def again(carried: tuple[jax.Array, Seated, jax.Array]) -> tuple[jax.Array, Seated, jax.Array]:
            number, states, over = carried
            fresh, over_again = begun(number)
            states = jax.tree.map(partial(where, over), fresh, states)
            return number + 1, states, over & over_again

        first = (jnp.int32(1), *begun(jnp.int32(0)))
        _, states, _ = jax.lax.while_loop(lambda carried: jnp.any(carried[2]), again, first)
        return states, self._obs(states)

    def _others_moved(
        self, key: jax.Array, states: Seated, reward: jax.Array, terminated: jax.Array, truncated: jax.Array
    ) -> Step:
        """A turn-based game after the others' moves; rewards meanwhile, and an end, belong to the member's own step."""

        def waiting(step: Step) -> Any:
            return (step.state.view.seat[:, 0] != step.state.seat) & ~(step.terminated | step.truncated)

        def runs(carried: tuple[jax.Array, Step]) -> Any:
            return jnp.any(waiting(carried[1]))

        def move(carried: tuple[jax.Array, Step]) -> tuple[jax.Array, Step]:
            number, step = carried
            states, moving = step.state, waiting(step)
            acting_key, stepping = jax.random.split(jax.random.fold_in(key, number))
            place = jax.vmap(lambda row, seat: row[seat])(jnp.asarray(self._seating.place)[states.seat], states.view.seat[:, 0])
            actions, memory = self._others_actions(acting_key, states)
            action = actions[0]
            for other, theirs in enumerate(actions[1:], start=2):
                action = where(place == other, theirs, action)
            tick = self._ticked(stepping, states.state, action[:, None])
            after = Seated(tick.state, tick.view, states.seat, memory)
            kept = jax.tree.map(partial(where, moving), after, states)
            gained = self._own_reward(tick, states.seat)
            own = where(moving, gained, jnp.zeros_like(gained))
            terminated, truncated = step.terminated | moving & tick.terminated, step.truncated | moving & tick.truncated
            return number + 1, Step(kept, self._obs(kept), step.reward + own, terminated, truncated)

        begin = (jnp.int32(0), Step(states, self._obs(states), reward, terminated, truncated))
        moved: Step = jax.lax.while_loop(runs, move, begin)[1]
        return moved

    def _others_actions(self, key: jax.Array, states: Seated) -> tuple[list[jax.Array], jax.Array]:
        """What each of the other players does [game, …], and their memory afterwards; in a turn-based game, if it is to act."""
        actions, memories = [], []
        for other in range(len(self.players[0])):
            seat = jnp.asarray(self._seating.others)[states.seat, other]
            actor = seat if self.game.actors > 1 else jnp.zeros_like(seat)
            obs = _of_actor(states.view.obs, actor)
            legal = None if states.view.legal is None else _of_actor(states.view.legal, actor)
            drawing = jax.random.fold_in(key, other)
            action, memory = self._acted(drawing, other, obs, legal, states.memory[:, other])
            situation = Situation(states.state, seat, obs, legal)
            actions.append(self._by_bots(drawing, other, situation, action))
            memories.append(memory)
        return actions, jnp.stack(memories, axis=1)

    def _acted(
        self, key: jax.Array, other: int, obs: jax.Array, legal: jax.Array | None, memory: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """The actions of those who sit at the same place of each table, drawn from their policies."""
        spec, copies = self.spec, self.copies
        noise = spec.actions.noise(key, (self.envs,))
        actions, memories = [], []
        for table in range(self.tables):
            rows = slice(table * copies, (table + 1) * copies)
            player = self.players[table][other]
            seen = acting.preprocessing(spec, player.moments, player.normalize_obs)(obs[rows])
            if spec.network.memory:
                outputs, after = networks.policy(spec.network, player.weights, seen, memory[rows])
            else:
                outputs, after = acting.outputs(spec, player.weights, seen), memory[rows]
            outputs = masked(outputs, None if legal is None else legal[rows])
            actions.append(spec.actions.to_env(spec.actions.sample(player.weights, outputs, noise[rows])))
            memories.append(after)
        return jnp.concatenate(actions), jnp.concatenate(memories)

    def _by_bots(self, key: jax.Array, other: int, situation: Situation, action: jax.Array) -> jax.Array:
        """The actions with those of bots in their places; a bot that sits nowhere is not asked."""
        lineup = jnp.repeat(self.lineups[:, other], self.copies)
        bots: list[Bot] = [lambda key, asked: at_random(self.spec, key, asked.legal), *self.game.bots.values()]
        for number, bot in enumerate(bots):
            chosen = lineup == RANDOM - number
            asked = partial(self._asked, bot, jax.random.fold_in(key, 1 + number), situation, chosen)
            action = jax.lax.cond(jnp.any(chosen), asked, lambda action: action, action)
        return action

    def _asked(self, bot: Bot, key: jax.Array, situation: Situation, chosen: jax.Array, action: jax.Array) -> jax.Array:
        theirs = jax.vmap(bot)(jax.random.split(key, self.envs), situation)
        return where(chosen, theirs.astype(action.dtype), action)

    def _ticked(self, key: jax.Array, state: Any, actions: jax.Array) -> Tick:
        return jax.vmap(self.game.step)(self._keys(key), state, actions)

    def _keys(self, key: jax.Array) -> jax.Array:
        """A key for each game."""
        if not self.paired:
            return jax.random.split(key, self.envs)
        pair = np.arange(self.envs) % self.copies // self.seats
        return jax.random.split(key, self.copies)[pair]

    def _own_actor(self, states: Seated) -> jax.Array:
        return states.seat if self.game.actors > 1 else jnp.zeros_like(states.seat)

    def _obs(self, states: Seated) -> jax.Array:
        return _of_actor(states.view.obs, self._own_actor(states))

    def _own_reward(self, tick: Tick, seat: jax.Array) -> jax.Array:
        """The member's rewards [game(, channel)], or [game, 2] with its lead if the games are paired."""
        reward = (picked(tick.reward, self.channels) if self.game.channels else tick.reward).astype(jnp.float32)
        own = _of_actor(reward, seat)
        if not self.paired:
            return own
        rivals = jnp.sum(reward * jnp.asarray(self._seating.rivals)[seat], axis=1)
        return jnp.stack([own, own - rivals], axis=1)


def lineup_numbers(
    game: Game | HostGame, lineups: Sequence[Sequence[Any]], frozen: Sequence[Any]
) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Line-ups of players as numbers; `frozen` are the states, in order. Raises ValueError for a bot that the game has not."""
    bots = {"random": RANDOM, **{name: RANDOM - 1 - place for place, name in enumerate(game.bots)}}
    numbers: dict[Any, int] = {None: LIVE, **bots, **{ref: 1 + place for place, ref in enumerate(frozen)}}
    if unknown := [player for lineup in lineups for player in lineup if player not in numbers]:
        raise ValueError(f"this game has no bot {unknown[0]!r}; there are {', '.join(bots)}")
    return np.array([[numbers[player] for player in lineup] for lineup in lineups], np.int32)


def has_legal(game: Game | HostGame) -> bool:
    """Whether a game says which actions are legal."""
    return game.has_legal if isinstance(game, HostGame) else jax.eval_shape(game.reset, jax.random.key(0))[1].legal is not None


def at_random(spec: PolicySpec, key: jax.Array, legal: jax.Array | None) -> jax.Array:
    """A random action that is legal, each as likely as any other; of continuous ones, each number between its bounds."""
    actions = spec.actions
    if isinstance(actions, Gaussian):
        low, high = np.asarray(actions.low, np.float32), np.asarray(actions.high, np.float32)
        return jax.random.uniform(key, low.shape, minval=low, maxval=high).reshape(actions.shape)
    outputs = masked(jnp.zeros(actions.outputs), legal)
    drawn: jax.Array = actions.to_env(actions.sample({}, outputs, actions.noise(key, ())))
    return drawn


def _of_actor(rows: jax.Array, actor: jax.Array) -> jax.Array:
    """What belongs to one actor of each game: [game, actor, …] to [game, …]."""
    picked: jax.Array = jax.vmap(lambda row, place: row[place])(rows, actor)
    return picked
