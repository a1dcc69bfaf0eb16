"""The frame for strategies whose members play one another: rates all players, keeps a pool of past states, and seats opponents.

It wraps any strategy. Before each decision it turns all games so far into ratings, which are the members' scores from then on,
lets the strategy decide, and adds to each order the line-ups its member plays with. Opponents are states, so they never change
in the middle of a turn. Ratings are made at decisions, when all engines know the same, and go into the journal with the orders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from evolute.core.order import Json, Order, Player, Ref
from evolute.core.population import Population, Rating
from evolute.core.protocols import Strategy
from evolute.core.ranking import rank_key
from evolute.envs.places import Places
from evolute.opponents import pool
from evolute.opponents.circles import circle_among
from evolute.opponents.field import Choose, Field, Roles
from evolute.opponents.payoff import win_share
from evolute.opponents.pool import Forget, Pool
from evolute.opponents.standings import Known, Rated, Rule, Standings, by_panel, rated_after, recent
from evolute.ratings.panel import SIZE

WATCHED = 32
"""So many of the best members, besides the pool, are watched for going round in circles."""


@dataclass(frozen=True)
class Seating:
    """How members meet: at how many tables, at which share of them against themselves, and how past states are kept."""

    tables: int = 4
    live: float = 0.5
    anchors: Sequence[str] = ("random",)
    rating: Rule = "descent"
    every: int = 2
    capacity: int = 32
    admit: Literal["every", "better"] = "every"
    forget: Literal["thin", "oldest", "easiest"] = "thin"


@dataclass(frozen=True)
class Seated:
    """A strategy for the seats of a game. `teams` is the team of each seat, `choose` finds an opponent for one table."""

    strategy: Strategy
    choose: Choose
    teams: tuple[int, ...]
    seating: Seating = Seating()
    guests: Callable[[], Sequence[str]] = tuple
    """Names the players from elsewhere that are there when a decision is made."""

    @property
    def places(self) -> Places:
        """The places of a line-up."""
        return Places.of(self.teams)

    @property
    def mates(self) -> int:
        """How many of them are team-mates'."""
        return self.places.mates

    @property
    def roles(self) -> Roles | None:
        """The chooser, if its members have roles."""
        choose: object = self.choose
        return choose if isinstance(choose, Roles) else None

    def init(self) -> Json:
        return {"strategy": self.strategy.init(), "pool": [], "since": {}, "turns": 0, "known": [], "compared": 0}

    def step(
        self, state: Json, population: Population, ready: Sequence[int], rng: np.random.Generator
    ) -> tuple[Json, list[Order]]:
        now, guests = self._standings(state, population), self.guests()
        rated = population.rated(_of_members(now, population))
        memory, orders = self.strategy.step(state["strategy"], rated, ready, rng)
        past, since = self._pool(state, rated, now, rng), state["since"]
        if self.roles is not None:
            before = self._field(rated, tuple(Ref(*pair) for pair in state["pool"]), now, guests)
            past, since, orders = self._by_roles(self.roles, state, before, now, orders, rng)
        field = self._field(rated, past, now, guests)
        seated = [self._seated(order, field, rated, rng) for order in orders]
        compared, seated = self._watched(state, rated, past, seated)
        kept = {*past, *(turn.ref for turn in recent(rated)), *_bots(now)}
        known = [[_plain(player), *rating] for player, rating in now.known.items() if player in kept]
        plain = [list(ref) for ref in past]
        after = {
            "strategy": memory,
            "pool": plain,
            "since": since,
            "turns": _turns(rated),
            "known": known,
            "compared": compared,
        }
        return after, seated

    def retain(self, state: Json, population: Population) -> Iterable[Ref]:
        return [*(Ref(*pair) for pair in state["pool"]), *self.strategy.retain(state["strategy"], population)]

    def completed(self, state: Json, population: Population, orders: Sequence[Order], rng: np.random.Generator) -> list[Order]:
        """Orders of members that a person steers, with whom they play and how they are rated."""
        now = self._standings(state, population)
        rated = population.rated(_of_members(now, population))
        field = self._field(rated, tuple(Ref(*pair) for pair in state["pool"]), now, self.guests())
        return [self._seated(order, field, rated, rng) for order in orders]

    def ratings(self, state: Json, population: Population) -> Mapping[int, Rating]:
        """The rating of each member's latest state after all games so far."""
        return _of_members(self._standings(state, population), population)

    def _standings(self, state: Json, population: Population) -> Standings:
        before: Known = {_player(player): (mean, deviation) for player, mean, deviation in state["known"]}
        how = self.seating
        past = [Ref(*pair) for pair in state["pool"]]
        if how.rating == "panel":
            return by_panel(population, before, tables=how.tables, anchors=how.anchors, pool=past)
        return rated_after(population, before, rule=how.rating, mates=self.mates, anchors=how.anchors, pool=past)

    def _pool(self, state: Json, population: Population, now: Standings, rng: np.random.Generator) -> Pool:
        """The pool after this decision."""
        how, latest = self.seating, _latest(population)
        past: Pool = tuple(Ref(*pair) for pair in state["pool"])
        due = pool.is_due(state["turns"], _turns(population), every=how.every, size=len(population))
        if self.roles is not None or not due:
            return past
        if how.admit == "every":
            new = pool.every(latest, [None if m.latest is None else m.latest.score for m in population.members], rng)
        else:
            new = pool.better(population, latest, past, lambda own, other: self._payoff(population, now, own, other))
        return pool.admitted(past, new, capacity=how.capacity, forget=self._forget(population, now))

    def _forget(self, population: Population, now: Standings) -> Forget:
        latest = _latest(population)

        def beaten(ref: Ref) -> float:
            return float(np.mean([self._payoff(population, now, own, ref) for own in latest.values()]))

        return {"thin": pool.thin, "oldest": pool.oldest, "easiest": pool.easiest(beaten)}[self.seating.forget]

    def _by_roles(
        self,
        roles: Roles,
        state: Json,
        field: Field,
        now: Standings,
        orders: Sequence[Order],
        rng: np.random.Generator,
    ) -> tuple[Pool, Json, list[Order]]:
        """The pool after members were admitted by their roles, the turns at which they last were, and the orders.

        Who begins again does so with the hyper-parameters it has. Who would inherit across roles goes on by itself.
        """
        population, past, since, kept = field.population, field.pool, dict(state["since"]), []
        for order in orders:
            slot, latest, after = order.member, population[order.member].latest, order
            if latest is not None and order.start is not None and roles.role(order.start.member) != roles.role(slot):
                after = population.draft(slot, latest.order.hparams, start=latest.ref)
            turns = population[slot].turns - since.get(str(slot), 0)
            if latest is not None and not population[slot].failed and roles.is_admitted(field, slot, turns):
                past = pool.admitted(past, [latest.ref], capacity=self.seating.capacity, forget=self._forget(population, now))
                since[str(slot)] = population[slot].turns
                if roles.begins_again(slot, rng):
                    after = population.draft(slot, latest.order.hparams, event="restart")
            kept.append(after)
        return past, since, kept

    def _field(self, population: Population, past: Pool, now: Standings, guests: Sequence[str]) -> Field:
        latest = _latest(population)

        def payoff(own: Ref, player: Player) -> float:
            return self._payoff(population, now, own, player)

        def expected(slot: int, player: Player) -> float:
            return payoff(latest[slot], player) if slot in latest else 0.5

        return Field(population, latest, past, tuple(guests), expected, payoff)

    def _payoff(self, population: Population, now: Standings, own: Ref, player: Player) -> float:
        """The share of games that a state is expected to win against a player."""
        if player is None or player == own:
            return 0.5
        return win_share(population, own, player, prior=now.expected(own, player), mates=self.mates)

    def _seated(self, order: Order, field: Field, population: Population, rng: np.random.Generator) -> Order:
        """The order with its line-ups, and with the rating of what its member did last."""
        latest = population[order.member].latest
        rating = None if latest is None or latest.deviation is None else [latest.score, latest.deviation]
        live = round(self.seating.live * self.seating.tables)
        chosen = [None if table < live else self.choose(field, order.member, rng) for table in range(self.seating.tables)]
        panel = field.pool[-SIZE:] if self.seating.rating == "panel" else ()
        lineups = tuple(map(self.places.lineup, (*chosen, *panel)))
        why = order.why if rating is None else {**order.why, "rating": rating}
        return replace(order, opponents=lineups, why=why)

    def _watched(self, state: Json, population: Population, past: Pool, orders: list[Order]) -> tuple[int | None, list[Order]]:
        """How many triples of players have been compared, and the orders; the first gives away a circle, once in a run.

        From then on the number is None. The population is looked at as often as the pool grows; not where members are rated
        by their returns, since then it does not matter who beats whom.
        """
        compared, now, how = state.get("compared", 0), _turns(population), self.seating
        due = how.rating != "panel" and pool.is_due(state["turns"], now, every=how.every, size=len(population))
        if compared is None or not due:
            return compared, orders
        latest = sorted(population.latest, key=lambda turn: rank_key(turn.score))[:WATCHED]
        players: dict[Rated, None] = dict.fromkeys([*past, *(turn.ref for turn in latest)])
        players.update(dict.fromkeys(self.seating.anchors))
        circle, compared = circle_among(population, list(players), mates=self.mates, compared=compared)
        if circle is None:
            return compared, orders
        return None, [replace(orders[0], why={**orders[0].why, "circle": circle.to_json()}), *orders[1:]]


def _of_members(now: Standings, population: Population) -> dict[int, Rating]:
    return {turn.ref.member: now.known[turn.ref] for turn in population.latest if turn.ref in now.known}


def _latest(population: Population) -> dict[int, Ref]:
    return {turn.ref.member: turn.ref for turn in population.latest}


def _turns(population: Population) -> int:
    return sum(member.turns for member in population.members)


def _bots(now: Standings) -> list[str]:
    return [player for player in now.known if isinstance(player, str)]


def _plain(player: Rated) -> Json:
    return player if isinstance(player, str) else list(player)


def _player(plain: Json) -> Rated:
    return plain if isinstance(plain, str) else Ref(*plain)
