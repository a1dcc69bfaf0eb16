"""Random streams derived by name: nothing to save, so a resumed run draws what the uninterrupted one would have drawn."""

from __future__ import annotations

import hashlib
import zlib

import numpy as np

SEEDS = 2**31
"""Seeds of orders lie below this, so that every library takes them (numpy's legacy generator, JAX without 64 bits)."""


def stream(seed: int, name: str, *numbers: int) -> np.random.Generator:
    """The generator called `name` and `numbers` in the run with this `seed`."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, zlib.crc32(name.encode()), *numbers])))


def derive(seed: int, name: str, *numbers: int) -> int:
    """A seed in [0, 2**31) called `name` and `numbers` in the run with this `seed`."""
    text = ",".join(map(str, (seed, name, *numbers)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") % SEEDS
