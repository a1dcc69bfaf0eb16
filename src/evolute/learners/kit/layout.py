"""Where the members of a cohort are in a program's arrays: one for each device in turn, so that all devices have work.

On the host arrays are [row, …], with the members in their order and nobody else. Over the devices they have room for more, so
that cohorts of other sizes find their program compiled. Rows that nobody is in are never looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.sharding import Sharding, SingleDeviceSharding

from evolute.learners.kit import members
from evolute.learners.kit.members import Tree

Array = np.ndarray[Any, Any]
ALIGNMENT = 64
ROOM = 8
"""How many rows of each device a program has room for on CPUs. Empty rows of states are copied once in a turn, which takes a
millisecond for some 15 MB; a call takes 2 or 3 ms besides its work, so with less room large cohorts would be slower."""


@dataclass(frozen=True)
class Layout:
    """The places of this many rows on so many devices, each of which has room for `each`."""

    rows: int
    each: int
    devices: int

    @property
    def capacity(self) -> int:
        """The rows that a program is compiled for."""
        return self.each * self.devices

    @property
    def filled(self) -> np.ndarray[Any, np.dtype[np.int32]]:
        """How many rows of each device are in use: [device]."""
        return (self.rows // self.devices + (np.arange(self.devices) < self.rows % self.devices)).astype(np.int32)

    @property
    def on_one_device(self) -> Layout:
        """The same rows, all of them on the first device."""
        return Layout(self.rows, self.capacity, 1)

    def place(self, array: Array) -> Array:
        """An array [row, …] on the host as a program takes it: each row at its place."""
        if self.devices == 1:  # which is how every step on the host acts: two operations matter
            found = np.zeros((self.each, *array.shape[1:]), array.dtype)
            found[: self.rows] = array
            return found
        found = _zeros((self.capacity, *array.shape[1:]), array.dtype)
        for device in range(self._used):
            own = array[device :: self.devices]
            found[device * self.each : device * self.each + len(own)] = own
        return found

    def view(self, array: jax.Array) -> Array:
        """An array over the devices on the host, [row, …]; with one device not even a copy, so for use before the next call."""
        return np.asarray(array)[: self.rows] if self.devices == 1 else self._gathered(array)

    def placed(self, tree: Tree) -> Tree:
        """The same for arrays in a tree."""
        return jax.tree.map(self.place, tree)

    def spread(self, tree: Tree) -> Tree:
        """Arrays [row, …] over the devices, for use in more than one call."""
        return jax.device_put(self.placed(tree), self._sharding)

    def gathered(self, tree: Tree) -> Tree:
        """Arrays over the devices as copies on the host, [row, …]."""
        return jax.tree.map(self._gathered, tree)

    def unstacked(self, tree: Tree) -> list[Tree]:
        """The rows of arrays over the devices, each a copy of its own that does not hold on to the others."""
        return [jax.tree.map(np.array, row) for row in self.views(tree)]

    def views(self, tree: Tree) -> list[Tree]:
        """The rows of arrays over the devices, without a copy on CPUs; for use before the next call."""
        leaves, structure = jax.tree.flatten(tree)
        parts = [self._parts(leaf) for leaf in leaves]
        places = [divmod(row, self.devices) for row in range(self.rows)]
        return [jax.tree.unflatten(structure, [part[device][place] for part in parts]) for place, device in places]

    def filled_in(self, shape: tuple[int, ...], dtype: Any, fill: Callable[[int, Any], None]) -> jax.Array:
        """An array [row, *shape] over the devices that `fill(row, array)` fills with what is not zero.

        On CPUs nothing is copied, and rows that nobody is in take no memory.
        """

        def part(index: Any) -> Any:
            array, first = _zeros((self.each, *shape), np.dtype(dtype)), index[0].indices(self.capacity)[0]
            for place, row in enumerate(range(first // self.each, self.rows, self.devices)):
                fill(row, array[place])
            return array

        return jax.make_array_from_callback((self.capacity, *shape), self._sharding, part)

    def _gathered(self, array: jax.Array) -> Array:
        found = np.empty((self.rows, *array.shape[1:]), array.dtype)
        for device, part in enumerate(self._parts(array)):
            own = found[device :: self.devices]
            own[:] = part[: len(own)]
        return found

    def _parts(self, array: jax.Array) -> list[Array]:
        """What each device has of an array, without a copy on CPUs."""
        return [np.asarray(array.addressable_data(device)) for device in range(self._used)]

    @property
    def _used(self) -> int:
        return min(self.devices, self.rows)

    @property
    def _sharding(self) -> Sharding:
        every = jax.local_devices()
        return members.over_devices() if self.devices == len(every) else SingleDeviceSharding(every[0])


def layout(rows: int, room: int = ROOM) -> Layout:
    """The places of a cohort's rows; a cohort that there is no `room` for has more of it, in powers of two.

    On accelerators, where empty rows are computed like others, there is never more room than that.
    """
    devices = jax.local_device_count()
    each = 1 << (-(-rows // devices) - 1).bit_length()
    return Layout(rows, max(each, room) if jax.default_backend() == "cpu" else each, devices)


def most() -> int | None:
    """The largest cohort that one program has room for; None on accelerators, where that depends on the cohort."""
    return ROOM * jax.local_device_count() if jax.default_backend() == "cpu" else None


def _zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Zeros at an address from which XLA reads without a copy; memory that nothing is written to is not taken."""
    size = math.prod(shape) * dtype.itemsize
    raw = np.zeros(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size].view(dtype).reshape(shape)
