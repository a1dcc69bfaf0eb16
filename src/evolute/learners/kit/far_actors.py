"""Actors on other machines as a learner sees them: what is sent to them, and what becomes of those that die.

They are started when they are first needed, and stay from turn to turn. One that dies is replaced, and its episodes end there.
"""

from __future__ import annotations

import math
import secrets
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import cloudpickle
import numpy as np

from evolute.core.protocols import Crew, Team, TurnError
from evolute.core.tree import Tree
from evolute.envs.interface import HostEnv
from evolute.learners.kit import acting, networks
from evolute.learners.kit.acting import PolicySpec
from evolute.learners.kit.episodes import Episodes
from evolute.learners.kit.evaluation import Player
from evolute.learners.kit.far_actor import FarActor
from evolute.learners.kit.fragment import Array, Fragment
from evolute.learners.kit.host_rollout import Trajectory

PATIENCE = 0.02
"""Seconds after which an actor answers, whether it has something or not, so that the learner can look after its updates."""
STRIKES = 3
"""How often in succession an actor may die before it has made a rollout."""


class FarActors:
    """`count` actors of a crew. Another process that this is sent to has actors of its own."""

    def __init__(self, crew: Crew, env: HostEnv, count: int, limit: float) -> None:
        self.crew, self.env, self.count, self.limit = crew, env, count, limit
        self.born: dict[int, str] = {}
        """The actor in each place."""
        self.restarts = 0
        self._team: Team | None = None
        try:
            cloudpickle.dumps(env)
        except Exception as error:
            raise ValueError(f"actors.where={crew.where}: this environment cannot be sent elsewhere: {error}") from error

    def __reduce__(self) -> tuple[Callable[..., FarActors], tuple[Crew, HostEnv, int, float]]:
        return FarActors, (self.crew, self.env, self.count, self.limit)

    @property
    def make(self) -> Callable[[], FarActor]:
        """Makes an actor, where it is to be."""
        return partial(FarActor, self.env, self.limit)

    @property
    def started(self) -> bool:
        """Whether there are actors already."""
        return self._team is not None

    @property
    def team(self) -> Team:
        """The actors, which are started if they have not been."""
        if self._team is None:
            self._team = self.crew.open(self.make, self.count)
            self._end = weakref.finalize(self, self._team.close)
        return self._team

    def close(self) -> None:
        """End all actors."""
        if self._team is not None:
            self._end()
            self._team = None

    def met(self, place: int, born: str) -> bool:
        """Note who is in this place; whether it has taken somebody's place."""
        replaced = self.born.get(place, born) != born
        self.born[place] = born
        self.restarts += replaced
        return replaced


class FarFragments:
    """The fragments of one turn. Every actor steps the same number of copies for each member, at least one."""

    def __init__(
        self, actors: FarActors, spec: PolicySpec, episodes: Episodes, seeds: Sequence[int], *, envs: int, unroll: int
    ) -> None:
        self.actors, self.spec, self.episodes = actors, spec, episodes
        copies = math.ceil(envs / len(actors.team))
        self.turn = {
            "name": secrets.token_hex(8),
            "seeds": list(seeds),
            "copies": copies,
            "unroll": unroll,
            "about": {**acting.description(spec), "torso": _torso(spec), "head": networks.POLICY},
        }
        self._strikes = Counter[int]()
        self._stream: Iterator[tuple[int, Tree]] | None = None

    def use(self, players: Player, versions: Array) -> None:
        weights, team = self._weights(players, versions), self.actors.team
        team.greet("begin", self.turn, weights)
        if self._stream is None:
            team.all("begin", self.turn, weights, retries=STRIKES)
            self._stream = team.stream("sample", PATIENCE)
        else:
            team.all("use", weights, aside=True)

    def take(self, done: Array, patience: float) -> list[Fragment]:
        assert self._stream is not None
        try:
            place, found = next(self._stream)
        except RuntimeError as error:  # with the traceback, or how it died
            raise TurnError(f"an actor failed (actors.where={self.actors.crew.where}): {error}") from error
        if found["turn"] != self.turn["name"]:
            return []  # a rollout may have been under way when the last turn ended
        if self.actors.met(place, found["born"]):
            self._strike(place)
        for member, text in found["errors"]:
            self.episodes.fail(member, text)
        for member, ended in enumerate(found["ended"]):
            if not done[member]:
                self.episodes.ended[member] += [(place, np.float32(returned), length) for returned, length in ended]
        if found["rollout"] is None:
            return []
        del self._strikes[place]
        return _cut(found["rollout"], place)

    def _strike(self, place: int) -> None:
        self._strikes[place] += 1
        if self._strikes[place] >= STRIKES:
            raise TurnError(
                f"an actor died {STRIKES} times in a row before it had made a rollout: the environment may end its process, or "
                "a step may take longer than actors.limit"
            )

    def _weights(self, players: Player, versions: Array) -> Mapping[str, Tree]:
        """What members act with, as a message: of each the policy's arrays, and the moments that it normalises by."""
        parts = (f"{_torso(self.spec)}/", f"{networks.POLICY}/", f"{networks.MEMORY}/", "log_std")
        members = []
        for member in range(len(versions)):
            arrays = networks.unpacked(self.spec.network, players.weights[member])
            used = {name: np.array(array, np.float32) for name, array in arrays.items() if name.startswith(parts)}
            moments = [np.array(players.moments.mean[member]), np.array(players.moments.variance[member])]
            members.append([used, *moments, bool(players.normalize_obs[member]) and not self.spec.image])
        return {"turn": self.turn["name"], "versions": versions.tolist(), "members": members}


def _torso(spec: PolicySpec) -> str:
    return networks.SHARED if spec.network.shared else networks.ACTOR


def _cut(rollout: Sequence[Array], place: int) -> list[Fragment]:
    """The fragments of a rollout [member, time, copy, …] with its policies' versions [member, time]."""
    versions, whole = rollout[0], Trajectory._make(rollout[1:])
    members, _, copies = whole.reward.shape
    made = []
    for member in range(members):
        first, mean = int(versions[member, 0]), float(versions[member].mean())
        for copy in range(copies):
            steps = Trajectory._make(array[member, :, copy] for array in whole._replace(memory=whole.ends))
            steps = steps._replace(memory=whole.memory[member, copy])
            made.append(Fragment(member, place * copies + copy, first, mean, steps))
    return made
