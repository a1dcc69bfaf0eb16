"""The laws that a game must keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from evolute.envs.game import Bot, Game, Situation, Tick, View

TOLERANCE = 1e-4


def check_game(game: Game, *, games: int = 64, limit: int = 20_000, mirrored: bool = False, seed: int = 0) -> None:
    """Play whole games at random and with each bot, and look at every tick of them.

    Games must be over after `limit` ticks. With `mirrored`, it must not matter which team's seats a player has: two players
    that go by what they see alone get the same, whichever side they are on.
    """
    _check_description(game)
    _check_types(game)
    _check_purity(game, jax.random.key(seed))
    players: dict[str, Bot] = {"random": _random(game), **game.bots}
    play = _player_of_games(game, list(players.values()), limit)
    keys = jax.random.split(jax.random.key(seed), games)
    for number, name in enumerate(players):
        _check_played(name, play(keys, _everywhere(game, number), _weights(game, keys[0])), limit)
    if mirrored:
        _check_mirrored(game, play, keys)


def _check_description(game: Game) -> None:
    seats = len(game.teams)
    assert isinstance(game, Game), "a game has everything that evolute.envs.game.Game lists"
    assert seats >= 2, f"teams={game.teams}: a game has two seats or more"
    assert sorted(set(game.teams)) == list(range(len(set(game.teams)))), f"teams={game.teams}: teams are numbered from 0 on"
    assert game.actors in (1, seats), f"actors={game.actors}: all {seats} seats act in a tick, or one of them"
    assert len(set(game.channels)) == len(game.channels), f"channels={game.channels}: each has a name of its own"
    assert "random" not in game.bots, "every game knows random, so it is no bot of one game"


def _check_types(game: Game) -> None:
    key = jax.eval_shape(lambda: jax.random.key(0))
    state, view = jax.eval_shape(game.reset, key)
    _check_view(game, view)
    actions = jax.eval_shape(lambda: jnp.stack([_sample(game.action_space, jax.random.key(0), None)] * game.actors))
    tick: Tick = jax.eval_shape(game.step, key, state, actions)
    _check_view(game, tick.view)
    assert (view.legal is None) == (tick.view.legal is None), "legal is None always or never"
    assert _types(state) == _types(tick.state), "a state keeps its structure, shapes and types from tick to tick"
    shape = (len(game.teams), len(game.channels)) if game.channels else (len(game.teams),)
    assert tick.reward.shape == shape, (
        f"reward is of shape {tick.reward.shape}: it must be [seat], with channels [seat, channel]"
    )
    assert tick.reward.dtype == jnp.float32, f"reward is {tick.reward.dtype}: it must be float32"
    for name, flag in {"terminated": tick.terminated, "truncated": tick.truncated}.items():
        assert (flag.shape, flag.dtype) == ((), jnp.bool_), f"{name} is one bool, not {flag.dtype} of shape {flag.shape}"


def _check_view(game: Game, view: View) -> None:
    shape = (game.actors, *(game.observation_space.shape or ()))
    obs, dtype = view.obs, game.observation_space.dtype
    assert obs.shape == shape, f"view.obs is of shape {obs.shape}: [actor, …] of the observation space is {shape}"
    assert obs.dtype == dtype, f"view.obs is {obs.dtype}, and the observation space is of {dtype}"
    assert view.seat.shape == (game.actors,), f"view.seat is of shape {view.seat.shape}: it must be [actor]"
    assert jnp.issubdtype(view.seat.dtype, jnp.integer), f"view.seat is {view.seat.dtype}: seats are whole numbers"
    if view.legal is not None:
        assert isinstance(game.action_space, gymnasium.spaces.Discrete), "only Discrete actions can be illegal"
        legal, needed = view.legal, (game.actors, int(game.action_space.n))
        assert (legal.shape, legal.dtype) == (needed, jnp.bool_), f"view.legal must be bools of shape {needed}"


def _check_purity(game: Game, key: jax.Array) -> None:
    def opening(key: jax.Array) -> Any:
        state, view = game.reset(key)
        first = Situation(state, view.seat[0], view.obs[0], None if view.legal is None else view.legal[0])
        tick = game.step(key, state, jnp.stack([_random(game)(key, first)] * game.actors))
        return _raw((state, view, tick))

    alone = jax.jit(opening)(key)
    both = jax.jit(jax.vmap(opening))(jnp.stack([key, key]))
    assert _same(alone, jax.tree.map(lambda leaf: leaf[0], both)), (
        "a game follows from its key and nothing else: traced again and mapped over, it went otherwise"
    )


Seen = dict[str, Any]
Play = Callable[[Any, Any, Any], Seen]
"""`play(keys [game], who [team], weights [team, obs, output])`: what held in every tick of whole games, [game, …]."""


def _player_of_games(game: Game, players: list[Bot], limit: int) -> Play:
    """One program for all games; `who` says which of the players a team is, and one past them is `_by_sight`."""

    def play(key: jax.Array, who: jax.Array, weights: jax.Array) -> Seen:
        def act(key: jax.Array, situation: Situation) -> jax.Array:
            team = jnp.asarray(game.teams)[situation.seat]
            everyone = [*players, _by_sight(game, weights[team])]
            action: jax.Array = jax.lax.switch(who[team], everyone, key, situation)
            return action

        return _whole_game(game, act, key, limit)

    compiled = jax.jit(jax.vmap(play, in_axes=(0, None, None)))
    return lambda keys, who, weights: jax.device_get(compiled(keys, who, weights))


def _whole_game(game: Game, bot: Bot, key: jax.Array, limit: int) -> Seen:
    state, view = game.reset(jax.random.fold_in(key, limit))
    start = {**{law: jnp.bool_(True) for law in _LAWS}, "total": jnp.zeros(_teams(game))}

    def running(carry: Any) -> Any:
        return ~carry[3] & (carry[2] < limit)

    def tick(carry: Any) -> Any:
        state, view, time, _, seen = carry
        act, move = jax.random.split(jax.random.fold_in(key, time))
        actions = _actions(game, bot, act, state, view)
        after = game.step(move, state, actions)
        ended = after.terminated | after.truncated
        gains = _gains(game, after.reward)
        held = _held(game, view, actions, after, gains)
        seen = {**{law: seen[law] & held[law] for law in _LAWS}, "total": seen["total"] + gains}
        return after.state, after.view, time + 1, ended, seen

    _, _, _, ended, seen = jax.lax.while_loop(running, tick, (state, view, jnp.int32(0), jnp.bool_(False), start))
    return {**seen, "ends": ended}


_LAWS = {
    "seat": "view.seat names a seat twice, or one that the game does not have",
    "legal": "a game that runs has no legal action",
    "obs": "an observation lies outside the observation space",
    "finite": "a reward is not finite",
    "zero_sum": "zero_sum is said, but the teams' rewards do not add up to 0",
    "action": "an action is illegal or outside the action space",
}


def _held(game: Game, view: View, actions: jax.Array, after: Tick, gains: jax.Array) -> Seen:
    """Which laws held in a tick."""
    space: Any = game.observation_space
    low, high = (jnp.asarray(bound) for bound in (space.low, space.high))
    seats = jnp.zeros(len(game.teams), jnp.int32).at[view.seat].add(1, mode="drop")
    return {
        "seat": (seats.sum() == game.actors) & (seats <= 1).all() & (view.seat >= 0).all(),
        "legal": jnp.bool_(True) if view.legal is None else view.legal.any(axis=1).all(),
        "obs": ((view.obs >= low) & (view.obs <= high)).all(),
        "finite": jnp.isfinite(after.reward).all(),
        "zero_sum": jnp.bool_(True) if not game.zero_sum else jnp.abs(gains.sum()) < TOLERANCE,
        "action": _allowed(game.action_space, actions, view.legal),
    }


def _check_played(name: str, seen: Seen, limit: int) -> None:
    for law, broken in _LAWS.items():
        assert seen[law].all(), f"{name} in all seats: {broken}"
    ends = seen["ends"]
    assert ends.all(), f"{name} in all seats: after {limit} ticks {np.sum(~ends)} of {len(ends)} games run on"


def _check_mirrored(game: Game, play: Play, keys: jax.Array) -> None:
    assert _teams(game) == 2, f"teams={game.teams}: mirrored seats are checked in games of two teams"
    by_sight = _everywhere(game, 1 + len(game.bots))
    for pair in range(2):
        weights = _weights(game, keys[pair])
        here = play(keys, by_sight, weights)["total"][:, 0]
        there = play(keys, by_sight, weights[::-1])["total"][:, 1]
        error = np.sqrt((here.var() + there.var()) / len(keys))
        assert abs(here.mean() - there.mean()) <= 4 * error + TOLERANCE, (
            f"mirrored is said, but one player gets {here.mean():.3g} a game on one side and {there.mean():.3g} on the other"
        )


def _everywhere(game: Game, player: int) -> jax.Array:
    return jnp.full(_teams(game), player, jnp.int32)


def _weights(game: Game, key: jax.Array) -> jax.Array:
    """Of a player by sight for each team."""
    size, outputs = int(np.prod(game.observation_space.shape or ())), int(gymnasium.spaces.flatdim(game.action_space))
    weights: jax.Array = jax.random.normal(key, (_teams(game), size, outputs))
    return 3 / float(np.sqrt(size)) * weights


def _by_sight(game: Game, weights: jax.Array) -> Bot:
    """A player that draws from a linear function of what it sees."""
    return lambda key, situation: _sample(game.action_space, key, situation.legal, situation.obs.ravel() @ weights)


def _random(game: Game) -> Bot:
    return lambda key, situation: _sample(game.action_space, key, situation.legal)


def _actions(game: Game, bot: Bot, key: jax.Array, state: Any, view: View) -> jax.Array:
    """The actions of all who act."""

    def act(key: jax.Array, seat: jax.Array, obs: jax.Array, legal: jax.Array | None) -> jax.Array:
        return bot(key, Situation(state, seat, obs, legal))

    actions: jax.Array = jax.vmap(act)(jax.random.split(key, game.actors), view.seat, view.obs, view.legal)
    return actions


def _sample(space: gymnasium.Space[Any], key: jax.Array, legal: jax.Array | None, favour: Any = 0.0) -> jax.Array:
    """A random action, from what is legal; `favour` [output] makes some more likely."""
    match space:
        case gymnasium.spaces.Discrete():
            logits = jnp.zeros(int(space.n)) + favour
            return jax.random.categorical(key, logits if legal is None else jnp.where(legal, logits, -jnp.inf)).astype(
                jnp.int32
            )
        case gymnasium.spaces.Box():
            low, high = np.maximum(space.low, -1), np.minimum(space.high, 1)
            return jnp.clip(jax.random.uniform(key, space.shape, minval=low, maxval=high) + jnp.tanh(favour), low, high)
        case gymnasium.spaces.MultiDiscrete():
            return (jax.random.uniform(key, space.shape) * space.nvec).astype(jnp.int32)
    raise AssertionError(f"actions are {space}: they must be Discrete, MultiDiscrete or a Box")


def _allowed(space: gymnasium.Space[Any], actions: jax.Array, legal: jax.Array | None) -> jax.Array:
    match space:
        case gymnasium.spaces.Discrete():
            inside = (actions >= 0) & (actions < int(space.n))
            if legal is not None:
                inside &= jnp.take_along_axis(legal, actions[:, None], axis=1, mode="clip")[:, 0]
            return jnp.all(inside)
        case gymnasium.spaces.MultiDiscrete():
            return jnp.all((actions >= 0) & (actions < jnp.asarray(space.nvec)))
        case gymnasium.spaces.Box():
            low, high = jnp.asarray(space.low), jnp.asarray(space.high)
            return jnp.all((actions >= low) & (actions <= high))
    return jnp.zeros((), bool)


def _gains(game: Game, reward: jax.Array) -> jax.Array:
    """What each team wins in a tick: the mean of its seats, of the first channel."""
    first = reward[:, 0] if game.channels else reward
    members = np.array([[seat == team for seat in game.teams] for team in range(_teams(game))], np.float32)
    return jnp.asarray(members / members.sum(axis=1, keepdims=True)) @ first


def _teams(game: Game) -> int:
    return len(set(game.teams))


def _types(tree: Any) -> Any:
    leaves, structure = jax.tree.flatten(tree)
    return structure, [(leaf.shape, leaf.dtype) for leaf in leaves]


def _raw(tree: Any) -> Any:
    """Keys among the leaves as numbers."""
    return jax.tree.map(
        lambda leaf: jax.random.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf, tree
    )


def _same(one: Any, other: Any) -> bool:
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.allclose(left, right, atol=TOLERANCE, rtol=TOLERANCE, equal_nan=True) for left, right in pairs)
