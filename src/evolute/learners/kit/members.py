"""One program for all members: the member axis is split over the local devices, and each device takes its members in turn.

On CPUs a member's numbers do not depend on who else is in the cohort: every process compiles the same program over the same
number of virtual devices, a device maps over its rows one by one, and how many rows are filled is a value, not a shape.
On accelerators rows are vectorised instead.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from evolute.core.cores import cores
from evolute.learners.kit.flags import FLAGS

Tree = Any
Function = Callable[[Tree, Tree, Tree], Tree]
"""`function(state, inputs, shared) -> state` of one member."""
AXIS = "member"
OPTIONS = {
    "xla_cpu_multi_thread_eigen": False,
    "xla_cpu_enable_concurrency_optimized_scheduler": False,
    "xla_cpu_enable_xprof_traceme": False,
}
"""Each device keeps to its own thread: twice as fast for small operations, and the same bits on any number of cores."""


@jax.tree_util.register_pytree_node_class
@dataclass(frozen=True)
class Held:
    """A large array [row, …] among the inputs that is only read: a member looks its entries up instead of getting a copy."""

    array: Any
    place: Any = None

    def take(self, *index: jax.Array) -> jax.Array:
        """Entries [index, …] of the member's row."""
        found: jax.Array = self.array[(self.place, *index)]
        return found

    def of(self, place: Any) -> Held:
        return Held(self.array, place)

    def tree_flatten(self) -> tuple[tuple[Any, Any], None]:
        return (self.array, self.place), None

    @classmethod
    def tree_unflatten(cls, _: None, children: tuple[Any, Any]) -> Held:
        return cls(*children)


def _is_held(node: Any) -> bool:
    return isinstance(node, Held)


@cache
def start(devices: int) -> None:
    """Start JAX with this many virtual CPU devices and a lasting compilation cache, unless it has started already.

    None of it changes any number: a JAX that was started otherwise is only slower, and that is said.
    """
    os.environ.setdefault("NPROC", str(devices))
    flags = os.environ.get("XLA_FLAGS", "")
    set_before = FLAGS in flags
    if not set_before:
        os.environ["XLA_FLAGS"] = f"{flags} {FLAGS}".strip()
    try:
        jax.config.update("jax_num_cpu_devices", devices)
        jax.config.update("jax_cpu_enable_async_dispatch", False)  # short calls need not wake another thread
        slower = []
    except RuntimeError:
        there, useful = jax.local_device_count(), min(devices, len(cores()))
        slower = [f"with {there} CPU devices instead of {useful}"] if there < useful else []
        slower += [] if set_before else ["without the XLA flags for fast rollouts"]
    if jax.config.values["jax_compilation_cache_dir"] is None:
        home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
        jax.config.update("jax_compilation_cache_dir", str(home / "evolute" / "jax"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
    if slower and jax.default_backend() == "cpu":
        warnings.warn(
            f"JAX was started before Evolute could do so, {' and '.join(slower)}: results are the same, but training is "
            "slower; let Evolute start JAX",
            stacklevel=2,
        )


@cache
def mesh() -> Mesh:
    """All local devices in a row."""
    return Mesh(np.array(jax.local_devices()), (AXIS,))


@cache
def over_devices() -> NamedSharding:
    """The first axis split over all local devices."""
    return NamedSharding(mesh(), PartitionSpec(AXIS))


def over_members(function: Function) -> Any:
    """Lift a function of one member to the rows of a cohort, as a jitted function.

    It takes how many rows are `filled`, the states and inputs with a leading member axis, and what is shared by all. The
    states' memory is used for the new ones.
    """
    lifted = partial(_in_turn if jax.default_backend() == "cpu" else _at_once, function)
    rows, everywhere = PartitionSpec(AXIS), PartitionSpec()
    mapped = jax.shard_map(lifted, mesh=mesh(), in_specs=(rows, rows, rows, everywhere), out_specs=rows, check_vma=False)
    options = OPTIONS if jax.default_backend() == "cpu" else None
    return jax.jit(mapped, donate_argnums=(1,), compiler_options=options)


def on_one_device(function: Function) -> Any:
    """The same for calls so short that spreading them costs more than it saves; all rows are on the first device."""
    if jax.default_backend() != "cpu":
        return over_members(function)
    return jax.jit(partial(_in_turn, function), donate_argnums=(1,), compiler_options=OPTIONS)


def _in_turn(function: Function, filled: jax.Array, states: Tree, inputs: Tree, shared: Tree) -> Tree:
    def body(place: jax.Array, states: Tree) -> Tree:
        def own(leaf: Any) -> Any:
            return leaf.of(place) if _is_held(leaf) else jax.lax.dynamic_index_in_dim(leaf, place, keepdims=False)

        at = partial(jax.tree.map, own, is_leaf=_is_held)
        state = function(at(states), at(inputs), shared)
        return jax.tree.map(lambda leaf, new: jax.lax.dynamic_update_index_in_dim(leaf, new, place, 0), states, state)

    return jax.lax.fori_loop(0, filled[0], body, states)


def _at_once(function: Function, filled: jax.Array, states: Tree, inputs: Tree, shared: Tree) -> Tree:
    def one(state: Tree, inputs: Tree) -> Tree:
        alone = jax.tree.map(lambda leaf: Held(leaf.array[None], 0) if _is_held(leaf) else leaf, inputs, is_leaf=_is_held)
        return function(state, alone, shared)

    return jax.vmap(one)(states, inputs)
