"""An actor on another machine: it steps copies of an environment with policies of its own, and sends what came of it.

Policies are numpy's, so that nothing is compiled there. Weights come while it acts, and count from its next step on. Messages
are trees; `far_actors.py` has the other side.
"""

from __future__ import annotations

import os
import secrets
import sys
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evolute.core.rng import derive
from evolute.core.tree import Tree
from evolute.envs.interface import HostEnv, Vector
from evolute.learners.kit import acting
from evolute.learners.kit.episodes import Episodes
from evolute.learners.kit.host_rollout import Trajectory
from evolute.learners.kit.sampled_actions import sampled
from evolute.policy import Policy

Array = np.ndarray[Any, Any]
GRACE = 120.0
"""Seconds that copies may take to start, on top of the limit of a step."""
TICK = 0.5
"""Seconds between two looks at whether a step takes too long."""
LATE = 74
"""The exit code of an actor whose environment hangs."""


@dataclass(frozen=True)
class Acting:
    """What members act with at the moment."""

    policies: Sequence[Policy]
    versions: Array


class FarActor:
    """Steps copies of an environment for all members of a turn; a step of all of them may take `limit` seconds."""

    def __init__(self, env: HostEnv, limit: float) -> None:
        self.env, self.limit = env, limit
        self.born = secrets.token_hex(8)
        """By this it is told from one whose place it has taken."""
        self.due = float("inf")
        """When the environment will have taken too long."""
        self._turn: Mapping[str, Tree] = {"name": ""}
        self._acting = Acting((), np.zeros(0))
        self._sampling: Sampling | None = None
        threading.Thread(target=_end_if_late, args=(weakref.ref(self),), daemon=True).start()

    def begin(self, turn: Tree, weights: Tree) -> None:
        """Forget the last turn, and be ready for this one."""
        if self._sampling is not None:
            self._sampling.vector.close()
        self._turn, self._sampling = turn, None
        self.use(weights)

    def use(self, weights: Tree) -> None:
        """Act with these weights from the next step on; called beside `sample`."""
        if weights["turn"] == self._turn["name"]:
            about = self._turn["about"]
            members = weights["members"]
            policies = [Policy(arrays, {**about, "normalize_obs": on}, *moments) for arrays, *moments, on in members]
            self._acting = Acting(policies, np.array(weights["versions"]))

    def sample(self, patience: float) -> Tree:
        """Step until a rollout is whole, or for so many seconds; a rollout is gone on with in the next call.

        Gives the rollout, None if it is not whole, the episodes that have ended, and members whose environment broke.
        """
        until = time.monotonic() + patience
        if self._sampling is None:
            self.due = time.monotonic() + self.limit + GRACE
            self._sampling = Sampling(self.env, self._turn)
        rollout = None
        while rollout is None:
            self.due = time.monotonic() + self.limit
            rollout = self._sampling.step(self._acting)
            if time.monotonic() >= until:
                break
        self.due = float("inf")
        ended, self._sampling.episodes.ended = self._sampling.episodes.ended, [[] for _ in self._turn["seeds"]]
        return {
            "turn": self._turn["name"],
            "born": self.born,
            "rollout": rollout,
            "ended": [[[float(returned), float(length)] for _, returned, length in each] for each in ended],
            "errors": [[member, text] for member, text in self._sampling.episodes.errors.items()],
        }


class Sampling:
    """The copies of all members [row = member * copies + copy], and the rollout that they make, [member, time, copy, …]."""

    def __init__(self, env: HostEnv, turn: Mapping[str, Tree]) -> None:
        about, seeds, self.unroll = turn["about"], turn["seeds"], turn["unroll"]
        self.shape = len(seeds), turn["copies"]
        self.actions, units = acting.described_actions(about), acting.described_network(about).units
        self.about: Mapping[str, Any] = about["actions"]
        place = secrets.randbits(62)  # nobody else, and no successor, plays the same episodes
        self.rng = np.random.default_rng(place)
        copies = [[derive(seed, "far", place, copy) for copy in range(self.shape[1])] for seed in seeds]
        self.vector: Vector = env.vector(copies)
        self.episodes = Episodes(*self.shape)
        self.obs = np.asarray(self.vector.reset())
        self.first, self.valid = np.ones(self.shape, np.float32), np.ones(self.shape, np.float32)
        self.memory = np.zeros((*self.shape, units), np.float32)
        self._begin()

    def step(self, now: Acting) -> list[Array] | None:
        """One step of all rows. If the rollout is whole by it: the policies' versions [member, time], and a Trajectory."""
        made, at = self.made, self.time
        made.obs[:, at], made.first[:, at], self.versions[:, at] = self._grid(self.obs), self.first, now.versions
        acted = np.stack([self._act(member, policy) for member, policy in enumerate(now.policies)])
        actions = self.actions.to_env(acted[..., : self.actions.width])
        self.obs, reward, ends, over = self.episodes.step(self.vector, actions.reshape((-1, *actions.shape[2:])), self.valid)
        made.action_outputs[:, at], made.reward[:, at], made.terminated[:, at] = acted, reward, over
        made.ends[:, at], made.valid[:, at] = ends, self.valid
        self.first, self.valid = 1 - self.valid, 1 - ends
        self.time += 1
        if self.time < self.unroll:
            return None
        made.obs[:, self.time], made.first[:, self.time] = self._grid(self.obs), self.first
        whole = [self.versions, *made]
        self._begin()
        return whole

    def _begin(self) -> None:
        """Begin a rollout, in arrays of its own: the last one may still be on its way."""
        members, copies = self.shape
        grid = (members, self.unroll, copies)
        self.time, self.versions = 0, np.zeros(grid[:2])
        acted = np.zeros((*grid, self.actions.width + 1), np.float32)
        reward, terminated, ends, valid, elapsed = (np.zeros(grid, np.float32) for _ in range(5))
        obs = np.zeros((members, self.unroll + 1, copies, *self.obs.shape[1:]), self.obs.dtype)
        first = np.zeros((members, self.unroll + 1, copies), np.float32)
        self.made = Trajectory(obs, acted, reward, terminated, ends, first, valid, self.memory.copy(), elapsed)

    def _act(self, member: int, policy: Policy) -> Array:
        """A member's actions, with the logarithms of their probabilities beside them."""
        if policy.about["network"].get("memory"):
            policy.memory = self.memory[member] * (1 - self.first[member])[:, None]
        outputs = policy.outputs(self._grid(self.obs)[member])
        if policy.memory is not None:
            self.memory[member] = policy.memory
        action, log_prob = sampled(self.about, outputs, policy.arrays.get("log_std"), self.rng)
        return np.concatenate([action, log_prob[:, None]], axis=-1)

    def _grid(self, array: Array) -> Array:
        return array.reshape((*self.shape, *array.shape[1:]))


def _end_if_late(found: weakref.ref[FarActor]) -> None:
    """End the process if its environment hangs; whoever leads it starts another."""
    while (actor := found()) is not None:
        if time.monotonic() > actor.due:
            print(f"a step took longer than {actor.limit:g} s (actors.limit): this actor ends", file=sys.stderr, flush=True)
            os._exit(LATE)
        del actor
        time.sleep(TICK)
