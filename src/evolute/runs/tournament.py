"""Everybody against everybody: games between states of one or several runs, and the bots of their game."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from evolute.config.error import ConfigError
from evolute.core.order import Hparams, PlayedGames, Player, Ref
from evolute.core.protocols import Progress, Seats, silently
from evolute.core.rng import derive, stream
from evolute.core.tree import Tree
from evolute.envs.places import Places
from evolute.ratings import bradley_terry, nash
from evolute.ratings.alpha_rank import alpha_rank
from evolute.ratings.bradley_terry import ANCHOR, Node
from evolute.ratings.cycles import Cycle, strongest_cycle
from evolute.ratings.games import Games
from evolute.ratings.scale import win_probability
from evolute.runs import folders
from evolute.runs.assemble import assembled
from evolute.runs.result import Run
from evolute.runs.states import choices_of, remembered, states

Table = np.ndarray[Any, np.dtype[np.float64]]
GAMES = 200


@dataclass(frozen=True)
class Entrant:
    """One who takes part: a state of a run, or a bot, which has neither."""

    name: str
    hparams: Hparams | None = None
    tree: Tree = None

    @property
    def is_bot(self) -> bool:
        return self.hparams is None


@dataclass(frozen=True)
class Standing:
    """What a tournament says of one player. Ratings are relative to `random`, or to the mean of all if it does not take part.

    `mixture` is its share of the Nash mixture and `skill` what it gains against that, from -1 to 1; `alpha_rank` is its
    share of the stationary distribution. Bots do not meet each other: for such a pair the ratings say who wins how often.
    """

    name: str
    rating: float
    deviation: float
    mixture: float
    skill: float
    alpha_rank: float


@dataclass(frozen=True, eq=False, repr=False)
class Tournament:
    """The entrants by name; wins[i, j] is how many of its games against j i has won, a draw being half a win."""

    names: tuple[str, ...]
    wins: Table
    seed: int = 0

    @property
    def games(self) -> Table:
        """How many games each pair has played [entrant, entrant]."""
        return self.wins + self.wins.T

    @property
    def shares(self) -> Table:
        """The share of games that each has won against each other one [entrant, entrant]; 0.5 where there were none."""
        return np.where(self.games > 0, self.wins / np.maximum(self.games, 1), 0.5)

    @property
    def order(self) -> list[int]:
        """The entrants by rating, the best first."""
        return sorted(range(len(self.names)), key=lambda place: -self._fitted.mean[place])

    @property
    def standings(self) -> tuple[Standing, ...]:
        """What is to say of each, the best first."""
        payoff, fitted = nash.antisymmetric(self._expected), self._fitted
        average, ranks = nash.average(payoff), alpha_rank(payoff)
        return tuple(
            Standing(
                self.names[place],
                float(fitted.mean[place]),
                float(fitted.deviation[place]),
                float(average.mixture[place]),
                float(average.skill[place]),
                float(ranks[place]),
            )
            for place in self.order
        )

    @cached_property
    def mixture_interval(self) -> tuple[Table, Table]:
        """Bounds that each share of the Nash mixture [entrant] lies between with 90 % probability, as results are by chance."""
        wins = np.where(self.games > 0, self.wins, self._most * self._expected)
        mixture, _ = nash.intervals(wins, stream(self.seed, "intervals"))
        return mixture.low, mixture.high

    @cached_property
    def chance_of_best(self) -> float:
        """The probability that the first is the best of all."""
        return self._fitted.chance_of_best(self.order[0], stream(self.seed, "best"))

    @property
    def lead(self) -> float:
        """The probability that the first is better than the second."""
        first, second = self.order[:2]
        return 1 - self._fitted.chance_below(first, second, 0.5)

    @property
    def sentence(self) -> str:
        """Who is best, and how sure that is."""
        first, second = (self.names[place] for place in self.order[:2])
        if len(self.names) == 2:
            return f"{first} is better than {second} with probability {self.lead:.2f}"
        return f"{first} is best with probability {self.chance_of_best:.2f}, and better than {second} with {self.lead:.2f}"

    @property
    def cycle(self) -> tuple[str, ...] | None:
        """Three players each of which beats the next, and the last the first, if that is more than chance."""
        found = self._cycle
        return None if found is None or not found.alarm else tuple(self.names[place] for place in found.players)

    @property
    def certainty(self) -> float:
        """How certain the least certain result of the most certain cycle is."""
        return 0.0 if self._cycle is None else self._cycle.certainty

    def __repr__(self) -> str:
        width = max(map(len, self.names))
        rows = [
            f"{place:>3}  {one.name:{width}}  {f'{one.rating:.0f} ± {one.deviation:.0f}':>12}  {one.mixture:>7.0%}"
            f"  {one.alpha_rank:>10.0%}"
            for place, one in enumerate(self.standings, start=1)
        ]
        head = f"{'':3}  {'player':{width}}  {'rating':>12}  {'mixture':>7}  {'alpha-rank':>10}"
        circle = [] if self.cycle is None else [f"they go round in a circle: {' beats '.join([*self.cycle, self.cycle[0]])}"]
        return "\n".join([f"tournament of {len(self.names)}, {self._most:,} games a pair", head, *rows, self.sentence, *circle])

    @property
    def _most(self) -> int:
        return round(float(self.games.max(initial=0)))

    @cached_property
    def _fitted(self) -> bradley_terry.Ratings:
        nodes = [ANCHOR if name == "random" else Node() for name in self.names]
        fitted = bradley_terry.fit(nodes, Games.of_table(self.wins))
        return fitted if ANCHOR in nodes else fitted.around_mean

    @cached_property
    def _expected(self) -> Table:
        """The shares of games won; where there were none, as between two bots, those that follow from the ratings."""
        mean = self._fitted.mean
        return np.where(self.games > 0, self.shares, win_probability(mean[:, None] - mean[None, :]))

    @cached_property
    def _cycle(self) -> Cycle | None:
        return strongest_cycle(self.wins)


def tournament(
    paths: Sequence[Path],
    *,
    past: int = 0,
    bots: Sequence[str] | Literal["all"] = (),
    games: int = GAMES,
    seed: int = 0,
    progress: Progress = silently,
) -> Tournament:
    """Games of every pair: the members of one run, or the best of several; `past` adds as many earlier states of each run."""
    learner = _learner(paths)
    named = learner.bots if bots == "all" else dict.fromkeys(bots)
    entrants = [*(one for path in paths for one in _entrants(path, past, alone=len(paths) == 1)), *map(Entrant, named)]
    if len(entrants) < 2:
        raise ConfigError("a tournament takes two or more: name another run, or add --past or --bots")
    wins = np.zeros((len(entrants), len(entrants)))
    hosts = [place for place, one in enumerate(entrants) if not one.is_bot]
    for done, place in enumerate(hosts):
        progress(done / len(hosts), f"{entrants[place].name} plays")
        others = [other for other in range(len(entrants)) if other != place]
        shares = _played(learner, entrants, place, others, games, derive(seed, "tournament", place))
        for other, share, number in shares:
            wins[place, other] += share * number
            wins[other, place] += (1 - share) * number
    return Tournament(tuple(one.name for one in entrants), wins, seed)


def _played(
    learner: Seats, entrants: Sequence[Entrant], place: int, others: Sequence[int], games: int, seed: int
) -> list[tuple[int, float, int]]:
    """Half of the games of an entrant against each of the others, the other half being theirs; all of those against bots."""
    one, half, places = entrants[place], for_all_seats(learner.teams, games / 2), Places.of(learner.teams)
    assert one.hparams is not None
    played: list[tuple[int, float, int]] = []
    for bots, number in ((False, half), (True, 2 * half)):
        those = [other for other in others if entrants[other].is_bot is bots]
        lineups = [places.lineup(_player(entrants, other)) for other in those]
        trees = {} if bots else {Ref(other, 0): entrants[other].tree for other in those}
        if not those:
            continue
        try:
            results = learner.play_matches(one.tree, one.hparams, lineups, trees, games=number, seed=seed, progress=silently)
        except ValueError as error:
            raise ConfigError(str(error)) from error
        played += [(other, games.match.score, games.match.games) for other, games in zip(those, results, strict=True)]
    return played


def for_all_seats(teams: Sequence[int], games: float) -> int:
    """As many games or a few more, so that a player sits in each seat equally often."""
    return math.ceil(games / len(teams)) * len(teams)


def against(
    folder: Path, member: int | None, other: str, *, games: int = GAMES, seed: int = 0, greedy: bool = False
) -> PlayedGames:
    """Games of a member, by default the best, against the best of another run or a bot; it samples unless it is `greedy`."""
    run, path = Run.open(folder), Path(other)
    agent = run.best if member is None else run.member(member)
    mine = Entrant(f"member {agent.member}", agent.hparams, states(folder, [agent.turn.ref])[agent.turn.ref])
    theirs = _entrants(path, 0, alone=False)[0] if folders.is_run(path) else Entrant(other)
    learner = _learner([folder] if theirs.is_bot else [folder, path])
    assert mine.hparams is not None
    player: Player = other if theirs.is_bot else Ref(1, 0)
    trees = {} if theirs.is_bot else {Ref(1, 0): theirs.tree}
    try:
        lineups, number = [Places.of(learner.teams).lineup(player)], for_all_seats(learner.teams, games)
        (played,) = learner.play_matches(
            mine.tree, mine.hparams, lineups, trees, games=number, seed=seed, progress=silently, greedy=greedy
        )
        return played
    except ValueError as error:
        raise ConfigError(f"--against {other}: {error}") from error


def _player(entrants: Sequence[Entrant], place: int) -> Player:
    return entrants[place].name if entrants[place].is_bot else Ref(place, 0)


def _learner(paths: Sequence[Path]) -> Seats:
    """The learner of the first run, whose game the others must share."""
    configs = [remembered(path) for path in paths]
    learner = assembled(configs[0], choices_of(paths[0]), to_train=False).learner
    if not isinstance(learner, Seats) or not learner.teams:
        raise ConfigError(f"the members of {paths[0]} train alone: only those of a game (opponents=…) can meet")
    for path, config in zip(paths[1:], configs[1:], strict=True):
        if (config.env and config.env.name) != (configs[0].env and configs[0].env.name):
            raise ConfigError(f"{path} plays another game than {paths[0]}")
    return learner


def _entrants(folder: Path, past: int, *, alone: bool) -> list[Entrant]:
    """The members of a run that is alone, or the best of one among others; and its best line's earlier states."""
    run = Run.open(folder)
    prefix = "" if alone else f"{folder.name}: "
    turns = run.population.latest if alone else [run.best.turn]
    line = run.best.lineage[:-1]
    places = sorted({round(share) for share in np.linspace(0, len(line) - 1, past)}) if past and line else []
    earlier = [line[place] for place in places if line[place].ref not in {turn.ref for turn in turns}]
    trees = states(folder, [turn.ref for turn in (*turns, *earlier)])
    now = [Entrant(f"{prefix}member {turn.ref.member}", turn.order.hparams, trees[turn.ref]) for turn in turns]
    then = [
        Entrant(f"{prefix}member {turn.ref.member} after turn {turn.ref.turn}", turn.order.hparams, trees[turn.ref])
        for turn in earlier
    ]
    return [*now, *then]
