"""Turns in games: all inside one compiled program, and afterwards the matches by which members are rated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax
import numpy as np

from evolute.core.order import Match, PlayedGames
from evolute.core.protocols import Progress
from evolute.envs.game import Game
from evolute.envs.spec import GameSpec
from evolute.learners.kit import jax_envs, layout, matches
from evolute.learners.kit.arena import Arena, Opponents
from evolute.learners.kit.chunks import Chunks
from evolute.learners.kit.evaluation import EpisodeResults, Player
from evolute.learners.kit.jax_envs import EnvStates
from evolute.learners.kit.matches import Fixture, GameResults
from evolute.learners.kit.programs import Programs
from evolute.learners.kit.stacking import key_data
from evolute.learners.ppo import turn_stats
from evolute.learners.ppo.encounters import Encounter, Tables
from evolute.learners.ppo.jax_runner import advanced
from evolute.learners.ppo.jax_turn import Inputs, Row, Surroundings
from evolute.learners.ppo.runner import Assignment, TurnResult
from evolute.learners.ppo.settings import packed
from evolute.learners.ppo.spec import PPOSpec
from evolute.learners.ppo.train_state import MemberState


@dataclass(frozen=True)
class GameRunner:
    """Trains in a game's seats. Games begin afresh with every turn, since the line-ups change."""

    programs: Programs
    game: Game
    how: GameSpec
    rounds: tuple[int, ...] = ()
    time_limit: None = None
    _blanks: dict[PPOSpec, EnvStates] = field(default_factory=dict)

    @property
    def most(self) -> int | None:
        return layout.most()

    @cached_property
    def _chunks(self) -> Chunks:
        return Chunks(self.programs)

    @cached_property
    def tables(self) -> Tables:
        return Tables(self.game, self.how)

    def turn(
        self,
        spec: PPOSpec,
        states: Sequence[MemberState],
        assignments: Sequence[Assignment],
        ring: int,
        progress: Progress,
    ) -> list[TurnResult]:
        stats = turn_stats.blank(ring, len(spec.channels))
        both = list(zip(assignments, states, strict=True))
        opponents = [self.tables.opponents(one.frozen, state.player, self.tables.lineups(one)) for one, state in both]
        rows = [Row(state.train, self._blank(spec, theirs), stats) for state, theirs in zip(states, opponents, strict=True)]
        inputs = [
            Inputs(key_data(one.seed), packed(one.hparams), np.int32(1), np.int32(one.updates), theirs, one.teacher)
            for one, theirs in zip(assignments, opponents, strict=True)
        ]
        after = advanced(self._chunks, spec, self._surroundings(spec), rows, inputs, progress)
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
        copies, channels = spec.envs // self.how.tables, tuple(self.game.channels.index(name) for name in spec.channels)
        return lambda player, opponents: Arena.of(self.game, spec.policy, player, opponents, copies, channels=channels)

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
        encounters = self.tables.encounters(players, assignments)
        results = self._results(spec, encounters, self.how.matches, progress, room=self.tables.room)
        return [
            tuple(
                self.tables.match(lineup, result.returns[table], result.leads[table])
                for table, lineup in enumerate(one.lineups)
            )
            for one, result in zip(encounters, results, strict=True)
        ]

    def play(self, spec: PPOSpec, encounter: Encounter, games: int, progress: Progress) -> list[PlayedGames]:
        """Games of one player against each of its line-ups, one by one."""
        (result,) = self._results(spec, [encounter], games, progress, room=len(encounter.lineups))
        return [
            self.tables.one_by_one(lineup, result.returns[table], result.leads[table])
            for table, lineup in enumerate(encounter.lineups)
        ]

    def _results(
        self, spec: PPOSpec, encounters: Sequence[Encounter], games: int, progress: Progress, *, room: int
    ) -> list[GameResults]:
        """Games of players against their line-ups; there is a program for each number of line-ups that there is `room` for."""
        fixtures = []
        for one in encounters:
            filled = [*one.lineups, *[self.tables.alone] * (room - len(one.lineups))]
            counts = (np.arange(room) < len(one.lineups)).astype(np.int32)
            opponents = self.tables.opponents(one.frozen, one.player, filled)
            fixtures.append(Fixture(one.player, opponents, counts, key_data(one.seed), np.bool_(one.greedy)))
        return matches.play(self.game, self.programs, spec.policy, fixtures, games, progress)


def _blank(surroundings: Surroundings, spec: PPOSpec, own: Player, opponents: Opponents) -> EnvStates:
    def shapes(own: Player, opponents: Opponents) -> Any:
        return jax_envs.started(surroundings(own, opponents), spec.network.units, jax.random.key(0), len(spec.channels))

    zeros: EnvStates = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), jax.eval_shape(shapes, own, opponents))
    return zeros
