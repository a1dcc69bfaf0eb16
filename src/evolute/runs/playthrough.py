"""One game, move by move, between players of any kind: members, bots, or a person."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evolute.config.error import ConfigError
from evolute.core.names import closest
from evolute.core.rng import derive
from evolute.envs.game import Game, Situation
from evolute.envs.host_game import GameCopy, HostGame
from evolute.envs.make import make_game
from evolute.policy import Policy
from evolute.runs import folders
from evolute.runs.result import Run
from evolute.runs.states import choices_of, remembered, states

Player = Callable[[Situation], Any]
"""Answers a situation with an action."""
LIMIT = 5000
"""Steps after which a game is broken off."""


@dataclass(frozen=True)
class Moment:
    """A game between two moves: its state, what each seat has got so far [seat], and who did what to get here.

    The state of a game on the host is the copy that is played, which moves on with the game.
    """

    state: Any
    returns: np.ndarray[Any, np.dtype[np.float64]]
    moved: tuple[tuple[int, Any], ...] = ()
    over: bool = False


def moments(game: Game | HostGame, players: Sequence[Player], *, seed: int, limit: int = LIMIT) -> Iterator[Moment]:
    """The moments of one game, the last one too. `players` are those of each seat."""
    if isinstance(game, HostGame):
        return host_moments(game.copy(), players, seed=seed, limit=limit)
    return _jax_moments(game, players, seed=seed, limit=limit)


def host_moments(copy: GameCopy, players: Sequence[Player], *, seed: int, limit: int = LIMIT) -> Iterator[Moment]:
    """The moments of one game of a copy on the host, which is closed then."""
    try:
        now = copy.reset(seed)
        moment = Moment(copy, np.asarray(now.reward, np.float64), over=not now.acting)
        for _ in range(limit):
            if moment.over:
                break
            yield moment
            legal = [None] * len(players) if now.legal is None else now.legal
            actions = {seat: players[seat](Situation(copy, seat, now.obs[seat], legal[seat])) for seat in now.acting}  # type: ignore[arg-type]
            now = copy.step(actions)
            moment = Moment(copy, moment.returns + now.reward, tuple(actions.items()), over=not now.acting)
        yield moment
    finally:
        copy.close()


def _jax_moments(game: Game, players: Sequence[Player], *, seed: int, limit: int) -> Iterator[Moment]:
    import jax

    key, step = jax.random.key(seed), jax.jit(game.step)
    state, view = jax.jit(game.reset)(jax.random.fold_in(key, 0))
    returns = np.zeros(len(game.teams))
    moment = Moment(state, returns)
    for number in range(limit):
        yield moment
        acting = [int(seat) for seat in view.seat]
        legal = [None] * len(acting) if view.legal is None else list(view.legal)
        asked = zip(acting, view.obs, legal, strict=True)
        actions = [players[seat](Situation(state, seat, obs, mask)) for seat, obs, mask in asked]  # type: ignore[arg-type]
        tick = step(jax.random.fold_in(key, number + 1), state, np.stack(actions))
        reward = np.asarray(tick.reward, np.float64)
        returns = returns + (reward[:, 0] if game.channels else reward)
        state, view = tick.state, tick.view
        over = bool(tick.terminated | tick.truncated)
        moment = Moment(state, returns, tuple(zip(acting, actions, strict=True)), over)
        if over:
            break
    yield moment


def game_of(folder: Path) -> Game | HostGame:
    """The game of a run; a ConfigError if its members train alone."""
    config = remembered(folder)
    if config.env is None or config.opponents is None:
        raise ConfigError(f"the members of {folder} train alone: only those of a game (opponents=…) can meet somebody")
    return make_game(config.env.with_name(str(choices_of(folder).get("env", config.env.name))))


def in_turns(game: Game | HostGame) -> bool:
    """Whether a single seat acts at a time, from the first move on."""
    if not isinstance(game, HostGame):
        return game.actors == 1
    copy = game.copy()
    try:
        return len(copy.reset(0).acting) == 1
    finally:
        copy.close()


@dataclass(frozen=True)
class Contestant:
    """Somebody who can take seats: a name, and a player for each seat, as one with memory needs it for itself.

    What a player draws at random follows from its seat and the seed of its game.
    """

    name: str
    player: Callable[[int, int], Player]


def member(folder: Path, slot: int | None, *, greedy: bool | None) -> Contestant:
    """A member of a run, by default the best; it takes the likeliest actions or samples them, by default as its policy does."""
    from evolute.runs.assemble import assembled

    run = Run.open(folder)
    agent = run.best if slot is None else run.member(slot)
    learner = assembled(remembered(folder), choices_of(folder), to_train=False).learner
    tree = states(folder, [agent.turn.ref])[agent.turn.ref]
    likeliest = agent.greedy if greedy is None else greedy

    def player(seat: int, seed: int) -> Player:
        policy, rng = learner.policy(tree), np.random.default_rng(derive(seed, "member", seat))
        if not isinstance(policy, Policy):
            raise ConfigError("the policies of this learner cannot be played move by move")

        def act(situation: Situation) -> Any:
            legal = None if situation.legal is None else np.asarray(situation.legal)
            return policy(np.asarray(situation.obs), greedy=likeliest, rng=rng, legal=legal)

        return act

    return Contestant(f"member {agent.member} of {folder.name}", player)


def opponent(game: Game | HostGame, other: str) -> Contestant:
    """The best member of another run, which samples as in games that are counted, or a bot of the game."""
    if folders.is_run(Path(other)):
        return member(Path(other), None, greedy=False)
    bots = ("random", *game.bots)
    if other not in bots:
        raise ConfigError(
            f"--against {other}: neither a run nor a bot of this game{closest(other, bots)}; bots are {', '.join(bots)}"
        )
    return Contestant(other, lambda seat, seed: _bot(game, other, derive(seed, "bot", seat)))


def _bot(game: Game | HostGame, name: str, seed: int) -> Player:
    if name == "random" or isinstance(game, HostGame):  # which has no other bots
        return _at_random(game, seed)
    import jax

    asked, key, number = jax.jit(game.bots[name]), jax.random.key(seed), iter(range(LIMIT))
    return lambda situation: np.asarray(asked(jax.random.fold_in(key, next(number)), situation))


def _at_random(game: Game | HostGame, seed: int) -> Player:
    rng = np.random.default_rng(seed)
    game.action_space.seed(seed)

    def act(situation: Situation) -> Any:
        if situation.legal is None:
            return game.action_space.sample()
        return rng.choice(np.flatnonzero(np.asarray(situation.legal)))

    return act
