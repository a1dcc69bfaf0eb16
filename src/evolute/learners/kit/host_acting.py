"""Batched acting for environments on the host: one call of a compiled program for each step of all members."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evolute.core.protocols import Progress
from evolute.learners.kit import acting, members, networks
from evolute.learners.kit.acting import PolicySpec
from evolute.learners.kit.actions import masked
from evolute.learners.kit.evaluation import Player
from evolute.learners.kit.layout import Layout
from evolute.learners.kit.normalise import Moments
from evolute.learners.kit.programs import Programs
from evolute.learners.kit.weights import Weights

Array = np.ndarray[Any, Any]


class Acted(NamedTuple):
    """What a member did in one step, [env, …], and its memory. Side by side stand the action and the policy's outputs, or
    the action and the logarithm of its probability."""

    action_outputs: Any
    memory: Any


class ActInputs(NamedTuple):
    """What a member acts on, [env, …]: its weights, noise for several steps [time, env, …], and what it observes.

    `first` is 1 where an episode begins; `legal` is None where every action always is.
    """

    weights: Any
    moments: Moments
    normalize_obs: Any
    noise: Any
    obs: Any
    first: Any
    legal: Any = None


def act(spec: PolicySpec, greedy: bool, lagged: bool, acted: Acted, inputs: ActInputs, time: jax.Array) -> Acted:
    """One member's actions; `time` counts the steps for which there is noise."""
    weights = networks.unpacked(spec.network, inputs.weights)
    memory = acted.memory * (1 - inputs.first)[:, None]
    obs = acting.preprocessing(spec, inputs.moments, inputs.normalize_obs)(inputs.obs)
    if spec.network.memory:
        outputs, memory = networks.policy(spec.network, weights, obs, memory)
    else:
        outputs = acting.outputs(spec, weights, obs)
    outputs = masked(outputs, inputs.legal)
    action = spec.actions.mode(weights, outputs) if greedy else spec.actions.sample(weights, outputs, inputs.noise[time])
    recorded = _log_probs(spec, weights, outputs, action)[:, None] if lagged else outputs
    return Acted(jnp.concatenate([action, recorded], axis=-1), memory)


def _log_probs(spec: PolicySpec, weights: Weights, outputs: jax.Array, action: jax.Array) -> jax.Array:
    """The log-probabilities [env] of actions [env, …] under outputs [env, …]."""
    return spec.distribution.log_prob_and_entropy(weights, outputs.T, action.T)[0]


def draw(spec: PolicySpec, noise: jax.Array, key: jax.Array, number: jax.Array) -> jax.Array:
    """One member's noise in the steps of the rollout of this number: [time, env, …]."""
    return spec.actions.noise(jax.random.fold_in(jax.random.wrap_key_data(key), number), noise.shape[:2])


class HostPolicy:
    """Chooses the actions of all members in rollouts of `unroll` steps; their memories stay where they are computed.

    If they will be learnt from by weights other than these (`lagged`), log-probabilities are recorded instead of outputs.
    """

    def __init__(
        self,
        programs: Programs,
        spec: PolicySpec,
        *,
        layout: Layout,
        envs: int,
        unroll: int,
        keys: Array,
        greedy: bool,
        progress: Progress,
        lagged: bool = False,
    ) -> None:
        self.programs, self.spec, self.layout, self.greedy, self.progress = programs, spec, layout, greedy, progress
        self.lagged, self.rows, self.envs = lagged, layout.rows, envs
        self.alone = not spec.image and jax.default_backend() == "cpu"
        self.places = layout.on_one_device if self.alone else layout
        self.filled = self.places.filled
        self.width = spec.actions.width + (1 if lagged else spec.actions.outputs)
        blank = np.zeros((self.rows, envs, self.width), np.float32)
        self.acted = self.places.spread(Acted(blank, np.zeros((self.rows, envs, spec.network.units), np.float32)))
        self.keys = layout.spread(keys)
        self.noise = layout.spread(np.zeros((self.rows, unroll, envs, spec.actions.noises), np.float32))
        self.inputs: tuple[Any, Moments, Any, Any] | None = None
        self._program: Callable[..., Any] | None = None

    def begin(self, players: Player, number: int) -> None:
        """Get ready for the steps of the rollout of this number; `players` are over the devices."""
        if not self.greedy or not number:
            call = self.programs.call
            name = ("draw", self.spec, self.envs)
            function = partial(draw, self.spec)
            self.noise = call(name, function, self.layout, self.noise, self.keys, np.int32(number), self.progress)
        given = (*players, self.noise)
        self.inputs = self.places.spread(self.layout.gathered(given)) if self.alone else given

    def __call__(self, obs: Array, first: Array, time: int, legal: Array | None = None) -> Array:
        """Actions, and what is recorded of them, side by side [member, env, …]; `legal` [member, env, action] says what may be
        done."""
        assert self.inputs is not None
        allowed = None if legal is None else self.places.place(legal)
        inputs = ActInputs(*self.inputs, self.places.place(obs), self.places.place(first), allowed)
        arguments = (self.filled, self.acted, inputs, np.int32(time))
        if self._program is None:
            function = partial(act, self.spec, self.greedy, self.lagged)
            name = ("act", self.spec, self.greedy, self.lagged)
            lift = members.on_one_device if self.alone else members.over_members
            self._program = self.programs.compiled(name, function, arguments, self.progress, lift)
        self.acted = self._program(*arguments)
        return self.places.view(self.acted.action_outputs)

    @property
    def memory(self) -> Array:
        """What members remember, [member, env, unit]."""
        found: Array = self.places.gathered(self.acted.memory)
        return found

    def to_env(self, action_outputs: Array) -> Any:
        """The actions of all members in one row, as environments take them."""
        actions = self.spec.actions
        action = actions.to_env(action_outputs[..., : actions.width])
        return action.reshape((-1, *action.shape[2:]))
