"""Everybody against everybody: games between states of one or several runs, and the bots of their game."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evolute.config.error import ConfigError
from evolute.core.order import Hparams, Lineup, Match, Player, Ref
from evolute.core.protocols import Progress, Seats, silently
from evolute.core.rng import derive
from evolute.core.tree import Tree
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
class Tournament:
    """The entrants by name; wins[i, j] is how many of its games against j i has won, a draw being half a win."""

    names: tuple[str, ...]
    wins: Table

    @property
    def games(self) -> Table:
        """How many games each pair has played [entrant, entrant]."""
        return self.wins + self.wins.T


def tournament(
    paths: Sequence[Path],
    *,
    past: int = 0,
    bots: Sequence[str] = (),
    games: int = GAMES,
    seed: int = 0,
    progress: Progress = silently,
) -> Tournament:
    """Games of every pair: the members of one run, or the best of several; `past` adds as many earlier states of each run."""
    learner = _learner(paths)
    entrants = [*(one for path in paths for one in _entrants(path, past, alone=len(paths) == 1)), *map(Entrant, bots)]
    if len(entrants) < 2:
        raise ConfigError("a tournament takes two or more: name another run, or add --past or --bot")
    wins = np.zeros((len(entrants), len(entrants)))
    hosts = [place for place, one in enumerate(entrants) if not one.is_bot]
    for done, place in enumerate(hosts):
        progress(done / len(hosts), f"{entrants[place].name} plays")
        others = [other for other in range(len(entrants)) if other != place]
        shares = _played(learner, entrants, place, others, games, derive(seed, "tournament", place))
        for other, share, number in shares:
            wins[place, other] += share * number
            wins[other, place] += (1 - share) * number
    return Tournament(tuple(one.name for one in entrants), wins)


def _played(
    learner: Seats, entrants: Sequence[Entrant], place: int, others: Sequence[int], games: int, seed: int
) -> list[tuple[int, float, int]]:
    """Half of the games of an entrant against each of the others, the other half being theirs; all of those against bots."""
    one, half = entrants[place], for_all_seats(learner.teams, games / 2)
    assert one.hparams is not None
    played: list[tuple[int, float, int]] = []
    for bots, number in ((False, half), (True, 2 * half)):
        those = [other for other in others if entrants[other].is_bot is bots]
        lineups = [lineup(learner.teams, _player(entrants, other)) for other in those]
        trees = {} if bots else {Ref(other, 0): entrants[other].tree for other in those}
        if not those:
            continue
        try:
            results = learner.play_matches(one.tree, one.hparams, lineups, trees, games=number, seed=seed, progress=silently)
        except ValueError as error:
            raise ConfigError(str(error)) from error
        played += [(other, match.score, match.games) for other, match in zip(those, results, strict=True)]
    return played


def for_all_seats(teams: Sequence[int], games: float) -> int:
    """As many games or a few more, so that a player sits in each seat equally often."""
    return math.ceil(games / len(teams)) * len(teams)


def against(folder: Path, member: int | None, other: str, *, games: int = GAMES, seed: int = 0) -> Match:
    """Games of a member, by default the best, against the best of another run or a bot."""
    run, path = Run.open(folder), Path(other)
    agent = run.best if member is None else run.member(member)
    mine = Entrant(f"member {agent.member}", agent.hparams, states(folder, [agent.turn.ref])[agent.turn.ref])
    theirs = _entrants(path, 0, alone=False)[0] if folders.is_run(path) else Entrant(other)
    learner = _learner([folder] if theirs.is_bot else [folder, path])
    assert mine.hparams is not None
    player: Player = other if theirs.is_bot else Ref(1, 0)
    trees = {} if theirs.is_bot else {Ref(1, 0): theirs.tree}
    try:
        lineups, number = [lineup(learner.teams, player)], for_all_seats(learner.teams, games)
        (match,) = learner.play_matches(mine.tree, mine.hparams, lineups, trees, games=number, seed=seed, progress=silently)
        return match
    except ValueError as error:
        raise ConfigError(f"--against {other}: {error}") from error


def lineup(teams: Sequence[int], player: Player) -> Lineup:
    """A line-up with one player in all opponents' seats, and the other side in those of its own mates."""
    mates = sum(team == teams[0] for team in teams) - 1
    return (*(None,) * mates, *(player,) * (len(teams) - 1 - mates))


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
