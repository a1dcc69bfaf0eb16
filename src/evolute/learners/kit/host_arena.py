"""Games on the host as environments: a member takes one seat of each game, and others play until it is to act again.

It is the counterpart of `arena.py`. Rows are [member * env], a member's envs being copies of one table after another. A reward
that comes while the others act, or when they end the game, belongs to the member's own last step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from evolute.core.rng import derive
from evolute.envs.host_game import HostGame, Moment
from evolute.learners.kit.arena import Seating
from evolute.learners.kit.evaluation import Player
from evolute.learners.kit.host_others import Asked, OtherPlayers

Array = np.ndarray[Any, Any]
TRIES = 100
"""How many games in a row may end before the member was to act."""


class HostArena:
    """A Vector of games. The member sits in each seat in turn, and moves on with every game.

    `seeds` is [member][env]; every game has a seed of its own that follows from them. Those that are played `once` stay as
    they ended; otherwise a new game begins in the step after.
    """

    def __init__(self, game: HostGame, others: OtherPlayers, seeds: Sequence[Sequence[int]], *, once: bool = False) -> None:
        self._others, self._seeds, self._once = others, [seed for member in seeds for seed in member], once
        self._seating, self._seats = Seating.of(game.teams), len(game.teams)
        self._envs = len(seeds[0])
        rows, space, action = len(self._seeds), game.observation_space, game.action_space
        self._copies = [game.copy() for _ in self._seeds]
        self._seat = np.arange(rows) % self._envs % others.copies % self._seats
        self._begun = np.zeros(rows, np.int64)
        self._moments: list[Moment] = [_nothing(game)] * rows
        self._over = np.zeros(rows, bool)
        self._steps = 0
        grid = (*others.shape, others.copies)
        self._asked_obs = np.zeros((*grid, *(space.shape or ())), space.dtype)
        self._asked_legal = np.ones((*grid, int(getattr(action, "n", 0))), bool) if game.has_legal else None
        self._first = np.ones(grid, np.float32)
        self._early = np.zeros(rows, np.int64)
        self._gained = np.zeros(rows)
        self._totals = np.zeros((rows, self._seats))
        self.failures: dict[int, Exception] = {}

    @property
    def legal(self) -> Array | None:
        """What the members may do [member * env, action]; None if everything always is legal."""
        if self._asked_legal is None:
            return None
        return np.stack([_legal(moment)[seat] for moment, seat in zip(self._moments, self._seat, strict=True)])

    @property
    def leads(self) -> Array:
        """By how much the members are above the mean of their opponents in each game, [member * env]."""
        rivals = np.sum(self._totals * self._seating.rivals[self._seat], axis=1)
        lead: Array = self.returns - rivals
        return lead

    @property
    def returns(self) -> Array:
        """What the members have got in each game, [member * env]."""
        own: Array = self._totals[np.arange(len(self._seat)), self._seat]
        return own

    @property
    def done(self) -> bool:
        """Whether all games are over that have not failed."""
        return bool(all(self._over[row] or row in self.failures for row in range(len(self._over))))

    def begin(self, players: Player) -> None:
        """A rollout begins; the members play against themselves as they are now, [member, …]."""
        self._others.begin(players)

    def skip(self, rows: Iterable[int]) -> None:
        """Leave games out: they are over before they begin."""
        self._over[list(rows)] = True

    def reset(self) -> Array:
        rows = [row for row in range(len(self._copies)) if not self._over[row]]
        for row in rows:
            self._attempt(row, self._start)
        self._played_on({}, rows)
        return self._obs()

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array]:
        self._steps += 1
        chosen = np.asarray(actions)
        alive = [row for row in range(len(self._copies)) if row not in self.failures]
        ended = [row for row in alive if self._over[row]]
        moving = [row for row in alive if not self._over[row]]
        self._gained[:] = 0
        if not self._once:
            for row in ended:
                self._seat[row] = (self._seat[row] + 1) % self._seats
                self._attempt(row, self._start)
        self._played_on({row: chosen[row] for row in moving}, [] if self._once else ended)
        reward = np.zeros(len(chosen), np.float32)
        terminated, truncated = np.zeros(len(chosen), bool), np.zeros(len(chosen), bool)
        reward[moving] = self._gained[moving]
        reward[list(self.failures)] = np.nan
        for row in moving:
            terminated[row] = self._over[row] and self._moments[row].terminated[self._seat[row]]
            truncated[row] = self._over[row] and not terminated[row]
        return self._obs(), reward, terminated, truncated

    def close(self) -> None:
        for copy in self._copies:
            copy.close()

    def _played_on(self, own: dict[int, Any], opening: Sequence[int]) -> None:
        """Play the members' `own` actions by row, and go on until they are to act again or their games are over.

        In games that are `opening` the member has not acted yet; one that ends before it could is begun again.
        """
        active, number = {*own, *(row for row in opening if not self._waits(row))}, 0
        self._early[:] = 0
        while active := {row for row in active if row not in self.failures}:
            others = self._actions(active, number)
            for row in sorted(active):
                seat = int(self._seat[row])
                acting = self._moments[row].acting
                actions = {one: own[row] if one == seat else others[self._place(row, one)] for one in acting}
                self._attempt(row, lambda row, actions=actions: self._tick(row, actions))
            for row in [row for row in opening if self._over[row] and row not in self.failures]:
                self._attempt(row, self._start_again)
            active = {row for row in active if not self._waits(row) and not self._over[row]}
            number += 1

    def _waits(self, row: int) -> bool:
        """Whether a game waits for the member's own action."""
        return int(self._seat[row]) in self._moments[row].acting

    def _start(self, row: int) -> None:
        """A new game."""
        moment = self._copies[row].reset(derive(self._seeds[row], "game", int(self._begun[row])))
        self._begun[row] += 1
        self._over[row], self._moments[row] = not moment.acting, moment
        self._totals[row] = moment.reward
        member, env = divmod(row, self._envs)
        table, copy = divmod(env, self._others.copies)
        self._first[member, :, table, copy] = 1

    def _start_again(self, row: int) -> None:
        self._early[row] += 1
        if self._early[row] == TRIES:
            raise RuntimeError(f"{TRIES} games in a row ended before the member was to act")
        self._start(row)

    def _tick(self, row: int, actions: dict[int, Any]) -> None:
        moment = self._copies[row].step(actions)
        self._gained[row] += moment.reward[self._seat[row]]
        self._over[row], self._moments[row] = not moment.acting, moment
        self._totals[row] += moment.reward

    def _attempt(self, row: int, what: Any) -> None:
        """Whatever a game raises is the failure of its row."""
        try:
            what(row)
        except Exception as error:
            self.failures[row] = error

    def _actions(self, active: set[int], number: int) -> Array:
        """What the others do in these games [member, other, table, copy, …]; `number` counts their moves in this step."""
        acts = np.zeros(self._first.shape, np.float32)
        for row in active:
            moment = self._moments[row]
            for seat in moment.acting:
                if seat != self._seat[row]:
                    place = self._place(row, seat)
                    acts[place] = 1
                    self._asked_obs[place] = moment.obs[seat]
                    if self._asked_legal is not None:
                        self._asked_legal[place] = _legal(moment)[seat]
        if not acts.any():
            return acts
        asked = Asked(self._asked_obs, self._asked_legal, acts, self._first.copy())
        actions = self._others(asked, (self._steps, number))
        self._first[acts > 0] = 0
        return actions

    def _place(self, row: int, seat: int) -> tuple[int, int, int, int]:
        """Who of the others takes a seat in a game: [member, other, table, copy]."""
        member, env = divmod(row, self._envs)
        table, copy = divmod(env, self._others.copies)
        return member, int(self._seating.place[self._seat[row], seat]) - 1, table, copy

    def _obs(self) -> Array:
        return np.stack([moment.obs[seat] for moment, seat in zip(self._moments, self._seat, strict=True)])


def _legal(moment: Moment) -> Array:
    assert moment.legal is not None
    return moment.legal


def _nothing(game: HostGame) -> Moment:
    """A game before it has begun."""
    seats, space = len(game.teams), game.observation_space
    obs = np.zeros((seats, *(space.shape or ())), space.dtype)
    legal = np.ones((seats, int(getattr(game.action_space, "n", 0))), bool) if game.has_legal else None
    return Moment((), obs, legal, np.zeros(seats), np.zeros(seats, bool))
