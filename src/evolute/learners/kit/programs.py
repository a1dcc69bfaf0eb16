"""Compiled programs by what they are compiled for, and a word to whoever waits while one is compiled."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import jax

from evolute.core.cores import cores
from evolute.core.protocols import Progress
from evolute.learners.kit import members
from evolute.learners.kit.layout import Layout
from evolute.learners.kit.members import Function, Tree


@dataclass(frozen=True)
class Programs:
    """What has been compiled so far, for this many devices: once for each name and each shape of the arguments.

    Making one starts JAX. Another process that this is sent to compiles its own, for no more devices than it has cores.
    What holds both programs and arrays, or an environment, has the programs first: then JAX is started by us there too.
    """

    devices: int
    _compiled: dict[Hashable, Callable[..., Tree]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        members.start(self.devices)

    def __reduce__(self) -> tuple[Callable[[int], Programs], tuple[int]]:
        return _in_another_process, (self.devices,)

    def __len__(self) -> int:
        return len(self._compiled)

    def call(
        self, name: Hashable, function: Function, layout: Layout, states: Tree, inputs: Tree, shared: Tree, progress: Progress
    ) -> Tree:
        """Run a function of one member on all rows; the arguments are as `members.over_members` has them."""
        arguments = (layout.filled, states, inputs, shared)
        return self.compiled(name, function, arguments, progress)(*arguments)

    def compiled(
        self,
        name: Hashable,
        function: Function,
        arguments: tuple[Tree, ...],
        progress: Progress,
        lift: Callable[[Function], Any] = members.over_members,
    ) -> Callable[..., Tree]:
        """The program for arguments like these."""
        key = (name, tuple((leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(arguments)))
        if key not in self._compiled:
            progress(0.0, "compiling")
            self._compiled[key] = lift(function).lower(*arguments).compile()
            progress(0.0, "")
        return self._compiled[key]


def _in_another_process(devices: int) -> Programs:
    return Programs(min(devices, len(cores())))
