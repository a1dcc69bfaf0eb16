"""Acting for environments of which some are ready and others are not: one call for all members, of which the ready rows count.

A call computes whole members, whoever is ready, with each row's noise of its own time. So a row's numbers do not depend on when
the others are ready, and are those of `host_acting.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evolute.core.protocols import Progress
from evolute.learners.kit import members
from evolute.learners.kit.acting import PolicySpec
from evolute.learners.kit.evaluation import Player
from evolute.learners.kit.host_acting import Acted, ActInputs, act, draw
from evolute.learners.kit.layout import Layout
from evolute.learners.kit.normalise import Moments
from evolute.learners.kit.programs import Programs

Array = np.ndarray[Any, Any]


class ReadyInputs(NamedTuple):
    """What a member acts on, with noise for one step [1, env, …], and which rows [env] are `ready`."""

    acted_on: ActInputs
    ready: Any


def _act(spec: PolicySpec, greedy: bool, lagged: bool, acted: Acted, inputs: ReadyInputs, time: jax.Array) -> Acted:
    """One member's actions. Rows that are not ready act in vain, and remember nothing of it."""
    made = act(spec, greedy, lagged, acted, inputs.acted_on, time)
    return made._replace(memory=jnp.where(inputs.ready[:, None] > 0, made.memory, acted.memory))


class PacedPolicy:
    """Chooses the actions of all members' rows as they get ready; a row's noise is drawn for `unroll` steps of its own."""

    def __init__(
        self,
        programs: Programs,
        spec: PolicySpec,
        *,
        layout: Layout,
        envs: int,
        unroll: int,
        keys: Array,
        progress: Progress,
        lagged: bool,
        greedy: bool = False,
    ) -> None:
        self.programs, self.spec, self.layout, self.envs, self.progress = programs, spec, layout, envs, progress
        self.rows, self.lagged, self.greedy = layout.rows, lagged, greedy
        self.alone = not spec.image and jax.default_backend() == "cpu"
        self.places = layout.on_one_device if self.alone else layout
        self.filled = self.places.filled
        self.width = spec.actions.width + (1 if lagged else spec.actions.outputs)
        blank = np.zeros((self.rows, envs, self.width), np.float32)
        self.acted = self.places.spread(Acted(blank, np.zeros((self.rows, envs, spec.network.units), np.float32)))
        self.keys = layout.spread(keys)
        self._noise = layout.spread(np.zeros((self.rows, unroll, envs, spec.actions.noises), np.float32))
        self.players: tuple[Any, Moments, Any] | None = None
        self._program: Callable[..., Any] | None = None

    def draw(self, number: int) -> Array:
        """The noise of the rollout of this number, [member, time, env, …]."""
        name = ("draw", self.spec, self.envs)
        function = partial(draw, self.spec)
        call = self.programs.call
        self._noise = call(name, function, self.layout, self._noise, self.keys, np.int32(number), self.progress)
        found: Array = self.layout.gathered(self._noise)
        return found

    def use(self, players: Player) -> None:
        """Act with these weights from now on; `players` has a leading member axis, and is on the host."""
        self.players = self.places.spread((players.weights, players.moments, players.normalize_obs))

    def __call__(self, noise: Array, obs: Array, first: Array, ready: Array, legal: Array | None = None) -> Array:
        """Actions, and what is recorded of them, side by side [member, env, …]; only those of `ready` rows mean anything."""
        assert self.players is not None
        allowed = None if legal is None else self.places.place(legal)
        noise, obs, first, ready = (self.places.place(array) for array in (noise[:, None], obs, first, ready))
        inputs = ReadyInputs(ActInputs(*self.players, noise, obs, first, allowed), ready)
        arguments = (self.filled, self.acted, inputs, np.int32(0))
        if self._program is None:
            function = partial(_act, self.spec, self.greedy, self.lagged)
            name = ("act at pace", self.spec, self.greedy, self.lagged)
            lift = members.on_one_device if self.alone else members.over_members
            self._program = self.programs.compiled(name, function, arguments, self.progress, lift)
        self.acted = self._program(*arguments)
        return self.places.view(self.acted.action_outputs)

    @property
    def memory(self) -> Array:
        """The rows' memories, [member, env, unit]."""
        found: Array = self.places.gathered(self.acted.memory)
        return found

    def to_env(self, action_outputs: Array) -> Any:
        """Actions [row, …] as environments take them."""
        actions = self.spec.actions
        return actions.to_env(action_outputs[..., : actions.width])
