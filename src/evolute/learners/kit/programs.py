"""Compiled programs by what they are compiled for, and a word to whoever waits while one is compiled."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import jax

from evolute.core.protocols import Progress
from evolute.learners.kit import members
from evolute.learners.kit.members import Function, Tree


@dataclass(frozen=True)
class Programs:
    """What has been compiled so far, for this many devices: once for each name and each shape of the arguments.

    Another process that this is sent to compiles its own.
    """

    devices: int
    _compiled: dict[Hashable, Callable[..., Tree]] = field(default_factory=dict)

    def __reduce__(self) -> tuple[type[Programs], tuple[int]]:
        return Programs, (self.devices,)

    def __len__(self) -> int:
        return len(self._compiled)

    def call(
        self, name: Hashable, function: Function, rows: int, states: Tree, inputs: Tree, shared: Tree, progress: Progress
    ) -> Tree:
        """Run a function of one member on all rows; the arguments are as `members.over_members` has them."""
        arguments = (members.filled(rows), states, inputs, shared)
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
        members.start(self.devices)
        key = (name, tuple((leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(arguments)))
        if key not in self._compiled:
            progress(0.0, "compiling")
            self._compiled[key] = lift(function).lower(*arguments).compile()
            progress(0.0, "")
        return self._compiled[key]
