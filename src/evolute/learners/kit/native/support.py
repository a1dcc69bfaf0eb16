"""Whether there is machine code for a network here. It needs llvmlite, and the interface of XLA that it was written for."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import jax

from evolute.learners.kit.networks import Network

ACTIVATIONS = ("tanh", "relu")
MAJOR = 0
"""The major version of XLA's foreign function interface whose structs `xla.py` knows."""


def applies(network: Network) -> bool:
    """Whether machine code can train such networks on the devices in use: dense twins, on a CPU."""
    return network.twin and not network.spectral and network.activation in ACTIVATIONS and jax.default_backend() == "cpu"


def missing() -> str | None:
    """What machine code lacks here, or None if nothing is missing."""
    try:
        import llvmlite  # noqa: F401
    except ImportError:
        return "llvmlite is not installed; pip install 'evolute[native]'"
    if interface() is None:
        return f"this version of JAX ({jax.__version__}) has another foreign function interface; install an older or newer one"
    return None


@cache
def interface() -> tuple[int, int] | None:
    """The version of XLA's foreign function interface, as its header has it; None if that is not the one we know."""
    header = (Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h").read_text()
    matches = [re.search(rf"#define XLA_FFI_API_{part} (\d+)", header) for part in ("MAJOR", "MINOR")]
    major, minor = (int(match[1]) if match else -1 for match in matches)
    return (major, minor) if major == MAJOR and minor >= 0 else None
