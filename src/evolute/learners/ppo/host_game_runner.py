"""Turns in games on the host, and afterwards the matches by which members are rated: the counterpart of `game_runner.py`."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from evolute.core.order import Match, PlayedGames
from evolute.core.protocols import Progress
from evolute.envs.host_game import HostGame
from evolute.envs.spec import GameSpec
from evolute.learners.kit import host_matches
from evolute.learners.kit.episodes import env_seeds
from evolute.learners.kit.evaluation import EpisodeResults, Player
from evolute.learners.kit.host_arena import HostArena
from evolute.learners.kit.host_matches import HostFixture, HostResults
from evolute.learners.kit.host_others import OtherPlayers
from evolute.learners.kit.programs import Programs
from evolute.learners.ppo.encounters import Encounter, Tables
from evolute.learners.ppo.host_runner import HostTurn
from evolute.learners.ppo.runner import Assignment, TurnResult
from evolute.learners.ppo.spec import PPOSpec
from evolute.learners.ppo.train_state import MemberState


@dataclass(frozen=True)
class HostGameRunner:
    """Trains in the seats of a game that is stepped on the host. Games begin afresh with every turn."""

    programs: Programs
    game: HostGame
    how: GameSpec
    rounds: tuple[int, ...] = ()
    most: None = None
    time_limit: None = None

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
        turn = HostTurn(self.programs, spec, states, assignments, progress)
        with contextlib.closing(self._arena(spec, states, assignments, progress)) as arena:
            results = turn.run(arena, ring)
        return self._with_matches(spec, results, assignments, progress)

    def evaluate(
        self, spec: PPOSpec, players: Sequence[Player], episodes: int, *, greedy: bool, seed: int, progress: Progress
    ) -> list[EpisodeResults]:
        raise ValueError("members of a game are rated by their matches, not evaluated alone")

    def play(self, spec: PPOSpec, encounter: Encounter, games: int, progress: Progress) -> list[PlayedGames]:
        """Games of one player against each of its line-ups, one by one; raises RuntimeError if a game does."""
        (played,) = self._played(spec, [encounter], games, progress, room=len(encounter.lineups))
        if played.error is not None:
            raise RuntimeError(played.error)
        returns, leads = played.games
        return [self.tables.one_by_one(lineup, returns[table], leads[table]) for table, lineup in enumerate(encounter.lineups)]

    def _arena(
        self, spec: PPOSpec, states: Sequence[MemberState], assignments: Sequence[Assignment], progress: Progress
    ) -> HostArena:
        own, seeds = [state.player for state in states], [one.seed for one in assignments]
        both = zip(assignments, own, strict=True)
        opponents = [self.tables.opponents(one.frozen, player, self.tables.lineups(one)) for one, player in both]
        copies = spec.envs // self.how.tables
        others = OtherPlayers(self.programs, spec.policy, own, opponents, copies=copies, seeds=seeds, progress=progress)
        return HostArena(self.game, others, env_seeds(seeds, spec.envs))

    def _with_matches(
        self, spec: PPOSpec, results: Sequence[TurnResult], assignments: Sequence[Assignment], progress: Progress
    ) -> list[TurnResult]:
        """The results with the games of each finished state; those whose turn has failed do not play."""
        whole = [place for place, result in enumerate(results) if result.error is None]
        if not self.how.matches or not whole:
            return list(results)
        players = [
            Player(results[place].train.adam.weights, results[place].train.obs, assignments[place].hparams.normalize_obs)
            for place in whole
        ]
        encounters = self.tables.encounters(players, [assignments[place] for place in whole])
        played = self._played(spec, encounters, self.how.matches, progress, room=self.tables.room)
        after = list(results)
        for place, one, games in zip(whole, encounters, played, strict=True):
            after[place] = results[place]._replace(error=games.error, matches=() if games.error else self._matches(one, games))
        return after

    def _played(
        self, spec: PPOSpec, encounters: Sequence[Encounter], games: int, progress: Progress, *, room: int
    ) -> list[HostResults]:
        fixtures = []
        for one in encounters:
            filled = [*one.lineups, *[self.tables.alone] * (room - len(one.lineups))]
            opponents = self.tables.opponents(one.frozen, one.player, filled)
            fixtures.append(HostFixture(one.player, opponents, len(one.lineups), one.seed))
        greedy = encounters[0].greedy
        return host_matches.play(self.game, self.programs, spec.policy, fixtures, games, progress, greedy=greedy)

    def _matches(self, one: Encounter, results: HostResults) -> tuple[Match, ...]:
        games, match = results.games, self.tables.match
        return tuple(match(lineup, games.returns[table], games.leads[table]) for table, lineup in enumerate(one.lineups))
