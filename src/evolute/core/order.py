"""The records that pass between strategy, engine and store: orders, reports and the names of states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

Json = Any
Hparams = Mapping[str, Any]
CONTROL_AHEAD = "control_ahead"
"""The reason of an order that tells, once, for how many turns the control group has led, its best score and the others'.

With several objectives there are no such scores: None."""
LinkName = Literal["own", "others", "teacher", "opponents"]
"""What an order may link to besides its start state."""


class Ref(NamedTuple):
    """The name of an immutable state: what `member` was after `turn`."""

    member: int
    turn: int

    def __str__(self) -> str:
        return f"member {self.member} after turn {self.turn}"


Player = Ref | str | None
"""Who takes a seat: a state, a bot by its name, or None for the learning member itself."""
Lineup = tuple[Player, ...]
"""Who takes the other seats of a game, team-mates first."""


class Match(NamedTuple):
    """Games of a turn's finished state against one line-up: the mean result in [0, 1] (a draw is 0.5), and the mean return.

    `spread` is the standard deviation of the returns, where it is of use.
    """

    against: Lineup
    score: float
    games: int = 1
    gain: float | None = None
    spread: float | None = None

    def to_json(self) -> Json:
        body = [_players_json(self.against), self.score, self.games, self.gain]
        return body if self.spread is None else [*body, self.spread]

    @classmethod
    def from_json(cls, body: Json) -> Match:
        against, *rest = body
        return cls(_players(against), *rest)


class PlayedGames(NamedTuple):
    """The same games one by one: which seat the state had in each, how it ended (1 won, 0.5 drawn, 0 lost), and its return."""

    against: Lineup
    seats: tuple[int, ...]
    results: tuple[float, ...]
    returns: tuple[float, ...]

    @property
    def match(self) -> Match:
        games = len(self.results)
        return Match(self.against, sum(self.results) / games, games, sum(self.returns) / games)


@dataclass(frozen=True, slots=True)
class Order:
    """What a member does next.

    `start` names the state to continue from, None means fresh weights. `own` is the member's own last state, for what
    it keeps when it inherits; `others` are the last states of all other members, for what a population shares. `steps` of 0
    asks for the run's interval and `seed` of 0 for one of the run's own: a strategy fills in none of these four, unless it
    replays. `teacher` is a state to imitate, and `teacher_weight` how much that counts, 0 to 1, at the turn's first and last
    update, linear between. `opponents` are the line-ups it plays with, a group of games each; those beyond the number of its
    tables it only plays afterwards, to be rated. `why` is the strategy's reason, kept in the journal.
    """

    member: int
    turn: int
    hparams: Hparams
    start: Ref | None = None
    steps: int = 0
    seed: int = 0
    own: Ref | None = None
    teacher: Ref | None = None
    teacher_weight: tuple[float, float] = (0.0, 0.0)
    opponents: tuple[Lineup, ...] = ()
    why: Mapping[str, Json] = field(default_factory=dict)
    others: tuple[Ref, ...] = ()

    @property
    def ref(self) -> Ref:
        """The name of the state that this order makes."""
        return Ref(self.member, self.turn)

    @property
    def links(self) -> tuple[Ref, ...]:
        """Every state that must exist before this order can run."""
        played = dict.fromkeys(player for lineup in self.opponents for player in lineup if isinstance(player, Ref))
        refs = (self.start, self.own, self.teacher, *self.others, *played)
        return tuple(dict.fromkeys(ref for ref in refs if ref is not None))

    @property
    def named(self) -> tuple[str, ...]:
        """Every bot and guest that it plays with."""
        return tuple(dict.fromkeys(player for lineup in self.opponents for player in lineup if isinstance(player, str)))

    @property
    def link_names(self) -> list[LinkName]:
        """The kinds of links that this order has, besides its start state."""
        links: dict[LinkName, Any] = {
            "own": self.own,
            "others": self.others or None,
            "teacher": self.teacher,
            "opponents": self.opponents or None,
        }
        return [name for name, linked in links.items() if linked is not None]

    def to_json(self) -> dict[str, Json]:
        """The order without its name, which the journal keeps in columns; what is not set is left out."""
        body: dict[str, Json] = {"hparams": dict(self.hparams), "steps": self.steps, "seed": self.seed}
        for key in ("start", "own", "teacher"):
            if (ref := getattr(self, key)) is not None:
                body[key] = list(ref)
        if self.others:
            body["others"] = [list(ref) for ref in self.others]
        if self.teacher is not None:
            body["teacher_weight"] = list(_weights(self.teacher_weight))
        if self.opponents:
            body["opponents"] = [_players_json(lineup) for lineup in self.opponents]
        if self.why:
            body["why"] = dict(self.why)
        return body

    @classmethod
    def from_json(cls, member: int, turn: int, body: Mapping[str, Json]) -> Order:
        """The inverse of `to_json`."""
        return cls(
            member,
            turn,
            body["hparams"],
            steps=body["steps"],
            seed=body["seed"],
            start=_ref(body.get("start")),
            own=_ref(body.get("own")),
            others=tuple(Ref(*pair) for pair in body.get("others", ())),
            teacher=_ref(body.get("teacher")),
            teacher_weight=_weights(body.get("teacher_weight", (0.0, 0.0))),
            opponents=tuple(_players(lineup) for lineup in body.get("opponents", ())),
            why=body.get("why", {}),
        )


@dataclass(frozen=True, slots=True)
class Report:
    """What came of an order: metrics and the digest of the new state, or the error that left no state behind.

    `objectives` are what the metrics add up to for each of the run's objectives; () if it has none, or no episode ended.
    `seconds` is how long the turn took, `timing` what else its speed was, such as samples per second, and `incidents` what went
    wrong and was put right, a sentence each. They are not part of the canonical record, since they differ from run to run.
    """

    order: Order
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    steps: int = 0
    matches: tuple[Match, ...] = ()
    digest: str | None = None
    error: str | None = None
    seconds: float = 0.0
    objectives: tuple[float, ...] = ()
    timing: Mapping[str, float] = field(default_factory=dict)
    incidents: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        return self.error is not None

    @property
    def reason(self) -> str:
        """The error's last line, which names the exception."""
        return last_line(self.error or "")

    def to_json(self) -> dict[str, Json]:
        """The report without its order's name; what is not set is left out."""
        body: dict[str, Json] = {"metrics": dict(self.metrics), "steps": self.steps}
        if self.objectives:
            body["objectives"] = list(self.objectives)
        if self.matches:
            body["matches"] = [match.to_json() for match in self.matches]
        if self.digest is not None:
            body["digest"] = self.digest
        if self.error is not None:
            body["error"] = self.error
        if self.timing:
            body["timing"] = dict(self.timing)
        if self.incidents:
            body["incidents"] = list(self.incidents)
        return body

    @property
    def canonical(self) -> Report:
        """The report without what differs from run to run."""
        return replace(self, seconds=0.0, timing={}, incidents=())

    @classmethod
    def from_json(cls, order: Order, body: Mapping[str, Json], *, seconds: float = 0.0) -> Report:
        """The inverse of `to_json`."""
        return cls(
            order,
            metrics=body["metrics"],
            steps=body["steps"],
            matches=tuple(Match.from_json(match) for match in body.get("matches", ())),
            digest=body.get("digest"),
            error=body.get("error"),
            seconds=seconds,
            objectives=tuple(body.get("objectives", ())),
            timing=body.get("timing", {}),
            incidents=tuple(body.get("incidents", ())),
        )


def last_line(error: str) -> str:
    """The last line of an error's text."""
    lines = error.strip().splitlines()
    return lines[-1] if lines else ""


def _ref(pair: list[int] | None) -> Ref | None:
    return None if pair is None else Ref(*pair)


def _weights(pair: Sequence[float]) -> tuple[float, float]:
    first, last = pair
    return float(first), float(last)


def _players_json(lineup: Lineup) -> list[Json]:
    return [list(player) if isinstance(player, Ref) else player for player in lineup]


def _players(lineup: list[Json]) -> Lineup:
    return tuple(Ref(*player) if isinstance(player, list) else player for player in lineup)
