"""Large messages to processes on the same machine: memory that they map and read where it lies, without a copy for each.

The memory has no name. Others open it through the process that made it, which takes the same user, and it is freed with the
last process that uses it, however that one ends.
"""

from __future__ import annotations

import mmap
import os
import secrets
import sys
import weakref

import numpy as np

from evolute.engines.links.wire import Array


class Published:
    """A message that other processes on this machine can read at its address, for as long as this object is there."""

    def __init__(self, message: Array) -> None:
        if sys.platform != "linux":
            raise OSError("messages can be published on Linux only")
        handle = os.memfd_create("evolute")
        weakref.finalize(self, os.close, handle)
        data = message.data.cast("B")
        written = 0
        while written < len(data):  # a single call writes no more than 2 GB
            written += os.write(handle, data[written:])
        self.address = f"/proc/{os.getpid()}/fd/{handle}"


class Landmark:
    """Something to be seen on this machine alone, by which other processes find out whether they are on it."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)
        self._published = Published(np.frombuffer(self._secret, np.uint8)) if sys.platform == "linux" else None

    @property
    def description(self) -> tuple[str, bytes]:
        """What to tell others."""
        return (self._published.address if self._published else ""), self._secret


def sees(description: tuple[str, bytes]) -> bool:
    """Whether this process is on the landmark's machine."""
    address, secret = description
    try:
        return bytes(mapped(address)) == secret
    except (OSError, ValueError):  # nothing is there, or somebody else's, or nothing that could be mapped
        return False


def mapped(address: str) -> memoryview:
    """The message at this address, to be read only; it stays valid while something refers to it."""
    with open(address, "rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
