"""Turns in games: all inside one compiled program, and afterwards the matches by which members are rated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax
import numpy as np

from evolute.core.order import Lineup, Match, PlayedGames, Ref
from evolute.core.protocols import Progress
from evolute.core.rng import derive
from evolute.envs.game import Game
from evolute.envs.spec import GameSpec
from evolute.learners.kit import jax_envs, matches
from evolute.learners.kit.arena import Arena, Opponents, lineup_numbers
from evolute.learners.kit.evaluation import EpisodeResults, Player
from evolute.learners.kit.jax_envs import EnvStates
from evolute.learners.kit.matches import Fixture, GameResults
from evolute.learners.kit.programs import Programs
from evolute.learners.kit.stacking import key_data
from evolute.learners.ppo import turn_stats
from evolute.learners.ppo.chunks import Chunks
from evolute.learners.ppo.jax_turn import Inputs, Row, Surroundings
from evolute.learners.ppo.runner import Assignment, TurnResult
from evolute.learners.ppo.spec import PPOSpec
from evolute.learners.ppo.train_state import MemberState

SHARED_SEED = 0
"""All members of all runs play their matches on seeds that follow from this and their turn."""


@dataclass(frozen=True)
class Encounter:
    """A player, the line-ups it plays against, the frozen players in them, and a seed for all randomness."""

    player: Player
    lineups: Sequence[Lineup]
    frozen: Mapping[Ref, Player]
    seed: int


@dataclass(frozen=True)
class GameRunner:
    """Trains in a game's seats. Games begin afresh with every turn, since the line-ups change."""

    programs: Programs
    game: Game
    how: GameSpec
    rounds: tuple[int, ...] = ()
    time_limit: None = None
    _blanks: dict[PPOSpec, EnvStates] = field(default_factory=dict)

    @cached_property
    def _chunks(self) -> Chunks:
        return Chunks(self.programs)

    @property
    def others(self) -> int:
        """How many seats others take."""
        return len(self.game.teams) - 1

    @property
    def alone(self) -> Lineup:
        """The line-up of a member that plays against itself."""
        return (None,) * self.others

    def turn(
        self,
        spec: PPOSpec,
        states: Sequence[MemberState],
        assignments: Sequence[Assignment],
        ring: int,
        progress: Progress,
    ) -> list[TurnResult]:
        stats = turn_stats.blank(ring)
        room = self.how.tables * self.others
        both = list(zip(assignments, states, strict=True))
        opponents = [self._opponents(one.frozen, state.player, self._lineups(one), room) for one, state in both]
        rows = [Row(state.train, self._blank(spec, theirs), stats) for state, theirs in zip(states, opponents, strict=True)]
        inputs = [
            Inputs(key_data(one.seed), np.array(one.hparams), np.int32(1), np.int32(one.updates), theirs)
            for one, theirs in zip(assignments, opponents, strict=True)
        ]
        after = self._chunks.advance(spec, self._surroundings(spec), rows, inputs, progress)
        players = [
            Player(row.train.adam.weights, row.train.obs, one.hparams.normalize_obs)
            for row, one in zip(after, assignments, strict=True)
        ]
        played = self._matches(spec, players, assignments, progress)
        return [TurnResult(row.train, None, row.stats, None, games) for row, games in zip(after, played, strict=True)]

    def evaluate(
        self, spec: PPOSpec, players: Sequence[Player], episodes: int, *, greedy: bool, seed: int, progress: Progress
    ) -> list[EpisodeResults]:
        raise ValueError("members of a game are rated by their matches, not evaluated alone")

    def _surroundings(self, spec: PPOSpec) -> Surroundings:
        copies = spec.envs // self.how.tables
        return lambda player, opponents: Arena.of(self.game, spec.policy, player, opponents, copies)

    def _lineups(self, one: Assignment) -> list[Lineup]:
        """Who sits at each table; without line-ups the member plays against itself."""
        lineups = list(one.lineups) or [self.alone] * self.how.tables
        if len(lineups) != self.how.tables or any(len(lineup) != self.others for lineup in lineups):
            sizes = f"{len(lineups)} line-ups of {len(lineups[0])}"
            raise ValueError(
                f"a member was given {sizes}, and there are {self.how.tables} tables with {self.others} other seats"
            )
        return lineups

    def _opponents(self, frozen: Mapping[Ref, Player], own: Player, lineups: Sequence[Lineup], room: int) -> Opponents:
        """The line-ups as a program takes them; room that no frozen player needs is filled with the member itself."""
        if unlike := [ref for ref, player in frozen.items() if player.weights.shape != own.weights.shape]:
            raise ValueError(f"{unlike[0]} cannot be an opponent: its network is another one")
        rows = [*frozen.values(), *[own] * (room - len(frozen))]
        players = jax.tree.map(lambda *leaves: np.stack(leaves), *rows)
        return Opponents(players, lineup_numbers(self.game, lineups, list(frozen)))

    def _blank(self, spec: PPOSpec, opponents: Opponents) -> EnvStates:
        if spec not in self._blanks:
            own = jax.tree.map(lambda leaf: leaf[0], opponents.players)
            self._blanks[spec] = _blank(self._surroundings(spec), spec, own, opponents)
        return self._blanks[spec]

    def _matches(
        self, spec: PPOSpec, players: Sequence[Player], assignments: Sequence[Assignment], progress: Progress
    ) -> list[tuple[Match, ...]]:
        """Games of each finished state against every line-up of its turn with somebody else in it, and against the anchors."""
        if not self.how.matches:
            return [()] * len(players)
        anchors = [self.anchor(name) for name in self.how.anchors]
        fixtures = [
            Encounter(
                player,
                list(dict.fromkeys([*(lineup for lineup in one.lineups if lineup != self.alone), *anchors])),
                one.frozen,
                derive(SHARED_SEED, "matches", one.turn),
            )
            for player, one in zip(players, assignments, strict=True)
        ]
        results = self._results(spec, fixtures, self.how.matches, progress, room=self.how.tables + len(anchors))
        return [
            tuple(_match(lineup, result.returns[table], result.leads[table]) for table, lineup in enumerate(one.lineups))
            for one, result in zip(fixtures, results, strict=True)
        ]

    def play(self, spec: PPOSpec, encounter: Encounter, games: int, progress: Progress) -> list[PlayedGames]:
        """Games of one player against each of its line-ups, one by one."""
        (result,) = self._results(spec, [encounter], games, progress, room=len(encounter.lineups))
        seats = tuple(game % len(self.game.teams) for game in range(games))
        return [
            PlayedGames(lineup, seats, tuple(_ended(result.leads[table]).tolist()), tuple(result.returns[table].tolist()))
            for table, lineup in enumerate(encounter.lineups)
        ]

    def _results(
        self, spec: PPOSpec, encounters: Sequence[Encounter], games: int, progress: Progress, *, room: int
    ) -> list[GameResults]:
        """Games of players against their line-ups; there is a program for each number of line-ups that there is `room` for."""
        fixtures = []
        for one in encounters:
            filled = [*one.lineups, *[self.alone] * (room - len(one.lineups))]
            counts = (np.arange(room) < len(one.lineups)).astype(np.int32)
            opponents = self._opponents(one.frozen, one.player, filled, room * self.others)
            fixtures.append(Fixture(one.player, opponents, counts, key_data(one.seed)))
        return matches.play(self.game, self.programs, spec.policy, fixtures, games, progress)

    def anchor(self, name: str) -> Lineup:
        """A line-up in which a bot takes every opponent's seat, and the member itself those of its mates."""
        teams = self.game.teams
        mates = sum(team == teams[0] for team in teams) - 1
        return (*(None,) * mates, *(name,) * (self.others - mates))


def _blank(surroundings: Surroundings, spec: PPOSpec, own: Player, opponents: Opponents) -> EnvStates:
    def shapes(own: Player, opponents: Opponents) -> Any:
        return jax_envs.started(surroundings(own, opponents), spec.network.units, jax.random.key(0))

    zeros: EnvStates = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), jax.eval_shape(shapes, own, opponents))
    return zeros


def _match(against: Lineup, returns: Any, leads: Any) -> Match:
    """Games against one line-up as a report has them."""
    return Match(against, float(np.mean(_ended(leads))), len(returns), float(np.mean(returns)))


def _ended(leads: Any) -> Any:
    """How games ended [game]: who has the higher return has won."""
    return (np.sign(leads) + 1) / 2
