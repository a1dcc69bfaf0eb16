"""What a member of an off-policy learner has learnt, and its state on the host between turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from evolute.core.tree import Tree
from evolute.learners.kit import acting, adam, networks, normalise, weights
from evolute.learners.kit.adam import AdamState
from evolute.learners.kit.evaluation import Player
from evolute.learners.kit.jax_envs import EnvStates
from evolute.learners.kit.networks import Network
from evolute.learners.kit.normalise import Moments
from evolute.learners.offpolicy.buffer import Buffer
from evolute.learners.offpolicy.spec import ReplaySpec, initial, trained


class TrainState(NamedTuple):
    """What is inherited, saved and exported: weights, their targets, the temperature, moments, and counts of steps and updates.

    `actor` is DQN's network of values; its critic is one number that means nothing. `targets` follow the critics, in TD3 with
    the actor behind them, or DQN's network. `alpha` is the logarithm of SAC's temperature, one number.
    """

    actor: AdamState
    critic: AdamState
    targets: Any
    alpha: AdamState
    obs: Moments
    steps: Any
    updates: Any


@dataclass(frozen=True)
class MemberState:
    """One row of a cohort. `about` describes its policy; without `envs`, its environments start afresh."""

    train: TrainState
    envs: EnvStates | None
    buffer: Buffer
    about: Mapping[str, Any]

    @property
    def network(self) -> Network:
        """The policy's."""
        return acting.described_network(self.about)

    @property
    def player(self) -> Player:
        """The member as it plays."""
        return Player(self.policy_weights, self.train.obs, np.float32(self.about["normalize_obs"]))

    @property
    def policy_weights(self) -> Any:
        """The weights of the policy's network. DQN plays by its target network, the mean of its newest weights: a single update
        may spoil a policy, and the next ones repair it."""
        plays_by_values = self.about["actions"]["kind"] == "categories"
        played = self.train.targets if plays_by_values else self.train.actor.weights
        return folded(self.network, played, dueling=self.about["dueling"])


def fresh(spec: ReplaySpec, rng: np.random.Generator) -> TrainState:
    """The train state of a new member."""
    actor = initial(networks.parts(spec.actor), rng)
    critic = initial(spec.critic_parts, rng) if spec.critic_parts else np.zeros(1, np.float32)
    targets = {"sac": critic, "td3": np.concatenate([critic, actor]), "dqn": actor}[spec.algorithm]
    moments = normalise.fresh(() if spec.policy.image else spec.actor.obs)
    alpha = adam.init(np.zeros(1, np.float32))
    return TrainState(adam.init(actor), adam.init(critic), targets.copy(), alpha, moments, np.int32(0), np.int32(0))


def folded(network: Network, vector: Any, *, dueling: bool) -> Any:
    """The weights of the policy's network in what is trained: a dueling one's value and advantages become values."""
    if not dueling:
        return vector
    parts = networks.parts(trained(network, dueling=True))
    arrays, start = weights.unpacked(parts, vector), weights.starts(parts)[f"{networks.POLICY}/w"]
    head = [_values(arrays[f"{networks.POLICY}/{name}"]) for name in "wb"]
    join = np.concatenate if isinstance(vector, np.ndarray) else jnp.concatenate
    return join([vector[:start], *(one.ravel() for one in head)])


def _values(array: Any) -> Any:
    """Advantages and, last, a value, as the value of each action."""
    advantages, value = array[..., :-1], array[..., -1:]
    return value + advantages - advantages.mean(axis=-1, keepdims=True)


def to_tree(state: MemberState) -> Tree:
    """The state as dicts and lists of arrays and segments."""
    train = state.train
    learnt = {
        "actor": train.actor._asdict(),
        "critic": train.critic._asdict(),
        "targets": train.targets,
        "alpha": train.alpha._asdict(),
        "obs": train.obs._asdict(),
        "steps": train.steps,
        "updates": train.updates,
    }
    envs = None if state.envs is None else state.envs._asdict()
    return {"learnt": learnt, "envs": envs, "buffer": state.buffer.to_tree(), "about": dict(state.about)}


def from_tree(tree: Tree) -> MemberState:
    """The state that `to_tree` gave."""
    learnt, envs = tree["learnt"], tree["envs"]
    train = TrainState(
        AdamState(**learnt["actor"]),
        AdamState(**learnt["critic"]),
        learnt["targets"],
        AdamState(**learnt["alpha"]),
        Moments(**learnt["obs"]),
        learnt["steps"],
        learnt["updates"],
    )
    return MemberState(train, None if envs is None else EnvStates(**envs), Buffer.from_tree(tree["buffer"]), tree["about"])
