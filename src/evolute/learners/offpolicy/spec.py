"""What is fixed in one compiled program of an off-policy learner: its networks, and the shapes of its rollouts and batches."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import gymnasium
import numpy as np

from evolute.learners.kit import weights
from evolute.learners.kit.acting import PolicySpec
from evolute.learners.kit.actions import Categories, Gaussian, LegalCategories
from evolute.learners.kit.networks import Network
from evolute.learners.kit.torsos import Kind, Torso, parts
from evolute.learners.kit.weights import Part
from evolute.learners.offpolicy.exploring import SPREAD, Exploring, ExploringBox, ExploringChoice
from evolute.learners.offpolicy.frames import Frames
from evolute.learners.offpolicy.settings import SETTINGS, Name, traced_names

CRITICS = ("q0", "q1")
LEAST_ROWS = 2
"""Of each environment: a step and what follows it."""


@dataclass(frozen=True)
class ReplaySpec:
    """The static part: members who agree in it train together. `policy` is what plays and is exported."""

    algorithm: Name
    policy: PolicySpec
    envs: int
    unroll: int
    batch: int
    capacity: int
    frames: Frames
    dueling: bool = False
    native: bool = False
    """Whether minibatches go through machine code of our own."""
    teacher: PolicySpec | None = None
    """What acts in the teacher, in turns with one."""

    def room(self, rollouts: int) -> int:
        """Rows of one environment that the program has room for in a turn of so many rollouts, with leading ones, and one for
        what is observed last: few different numbers, so that turns of unequal lengths compile little."""
        return self.frames.leading + (1 << (rollouts * self.unroll - 1).bit_length()) + 1

    @property
    def traced(self) -> tuple[str, ...]:
        """The settings that are values inside the program, in its order."""
        return traced_names(SETTINGS[self.algorithm])

    @property
    def actor(self) -> Network:
        """What is trained to act."""
        return trained(self.policy.network, dueling=self.dueling)

    @property
    def exploring(self) -> Exploring:
        base = self.policy.distribution
        assert not isinstance(base, LegalCategories)
        return ExploringBox(base) if isinstance(base, Gaussian) else ExploringChoice(base)

    @property
    def explorer(self) -> PolicySpec:
        """What collects: the policy, with two numbers behind its weights that say how to explore."""
        return PolicySpec(replace(self.policy.network, spread=SPREAD), self.exploring)

    @property
    def critic(self) -> Torso:
        """A critic of observation and action."""
        return Torso((self.actor.obs[0] + self.exploring.width,), "mlp", self.actor.widths, self.actor.activation)

    @property
    def critic_parts(self) -> list[Part]:
        if self.algorithm == "dqn":
            return []
        each = [[*parts(self.critic, name), *weights.dense(f"{name}/head", self.critic.widths[-1], 1, 1.0)] for name in CRITICS]
        return [part for one in each for part in one]

    @property
    def steps(self) -> int:
        """Steps of all environments in one rollout."""
        return self.envs * self.unroll


def trained(network: Network, *, dueling: bool) -> Network:
    """What is trained for a policy's network: in a dueling one there is a value besides the advantages."""
    return replace(network, outputs=network.outputs + 1) if dueling else network


def spec_of(
    algorithm: Name,
    observations: gymnasium.Space[Any],
    space: gymnasium.Space[Any],
    hparams: Mapping[str, Any],
    *,
    stacked: int = 1,
) -> ReplaySpec:
    """The spec for an environment, whose observations are so many stacked frames, under these settings.

    Raises ValueError where they do not fit.
    """
    actions = _discrete(algorithm, space) if algorithm == "dqn" else _continuous(algorithm, space)
    network = _network(algorithm, observations, actions.outputs, actions.spread, hparams)
    envs, capacity = hparams["envs"], hparams["capacity"]
    if capacity < LEAST_ROWS * envs:
        raise ValueError(f"{algorithm}.capacity={capacity}: {envs} environments take {LEAST_ROWS * envs} rows or more")
    shape = (envs, hparams["unroll"], hparams["batch"], capacity)
    frames = Frames(network.obs) if stacked == 1 else Frames.of_stack(observations.shape or (), stacked)
    return ReplaySpec(algorithm, PolicySpec(network, actions), *shape, frames, dueling=bool(hparams.get("dueling")))


def _continuous(algorithm: Name, space: gymnasium.Space[Any]) -> Gaussian:
    if not isinstance(space, gymnasium.spaces.Box):
        other = "dqn" if isinstance(space, gymnasium.spaces.Discrete) else "ppo"
        raise ValueError(
            f"learner={algorithm} is for continuous actions (a Box), and the env's are {space}: use learner={other}"
        )
    low, high = space.low.ravel(), space.high.ravel()
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise ValueError(f"learner={algorithm} needs bounded actions, and the env's are {space}")
    std: Literal["state", "constant"] = "state" if algorithm == "sac" else "constant"
    return Gaussian(tuple(low.tolist()), tuple(high.tolist()), space.shape, std, squash=True)


def _discrete(algorithm: Name, space: gymnasium.Space[Any]) -> Categories:
    if not isinstance(space, gymnasium.spaces.Discrete):
        others = "sac or td3" if isinstance(space, gymnasium.spaces.Box) else "ppo"
        raise ValueError(
            f"learner={algorithm} is for one choice among actions (Discrete), and the env's are {space}: use learner={others}"
        )
    return Categories((int(space.n),), (int(space.start),), single=True)


def _network(
    algorithm: Name, observations: gymnasium.Space[Any], outputs: int, spread: int, hparams: Mapping[str, Any]
) -> Network:
    shape = tuple(observations.shape or ())
    asked = hparams.get("network", "mlp")
    kind: Kind = asked if asked != "auto" else "cnn" if len(shape) == 3 else "mlp"
    if len(shape) == 3 and algorithm != "dqn":
        raise ValueError(f"learner={algorithm} is not for images, and observations are {observations}")
    if kind != "mlp" and len(shape) != 3:
        raise ValueError(f"dqn.network={kind} is for images [height, width, channel], and observations are {observations}")
    if kind == "mlp":
        shape = (math.prod(shape),)
    return Network(shape, outputs, spread, kind, tuple(hparams["widths"]), hparams["activation"], critic=False)


def initial(listed: list[Part], rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Fresh weights: uniform within the root of one over the inputs, biases as well; a log-std as good as none."""
    drawn, bound = [], 1.0
    for part in listed:
        if part.name == "log_std":
            drawn.append(np.full(part.shape, -20.0))
            continue
        if len(part.shape) > 1:
            bound = 1 / math.sqrt(math.prod(part.shape[:-1]))
        drawn.append(rng.uniform(-bound, bound, part.shape))
    return np.concatenate([array.ravel() for array in drawn] or [np.zeros(0)]).astype(np.float32)
