"""Whether there is machine code for a network here. It needs llvmlite, and the interface of XLA that it was written for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import jax

from evolute.learners.kit.networks import Network

ACTIVATIONS = ("tanh", "relu")
MAJOR = 0
"""The major version of XLA's foreign function interface whose structs `xla.py` knows."""


def applies(network: Network) -> bool:
    """Whether machine code can train such networks on the devices in use: a dense policy, alone or with its twin, on a CPU."""
    dense = network.kind == "mlp" and not network.memory and (network.twin or not network.critic)
    return dense and not network.spectral and network.activation in ACTIVATIONS and jax.default_backend() == "cpu"


def missing() -> str | None:
    """What machine code lacks here, or None if nothing is missing."""
    try:
        import llvmlite  # noqa: F401
    except ImportError:
        return "llvmlite is not installed; pip install 'evolute[native]'"
    if interface() is None:
        return f"this version of JAX ({jax.__version__}) has another foreign function interface; install an older or newer one"
    return None


def chosen(code: str) -> str:
    """The code that a run trains with, where the config may leave it open (auto)."""
    return code if code != "auto" else "xla" if missing() else "native"


def check(algorithm: str, *, native: bool) -> None:
    """A run keeps to the code it began with, since other code gives other bits."""
    if native and (reason := missing()):
        raise ValueError(f"these networks are to be trained by machine code ({algorithm}.code=native), but {reason}")


def advice(asked: str, code: str, networks: Iterable[Network]) -> list[str]:
    """A word on what is missing if XLA trains networks for which there is machine code; runs that asked for XLA know it."""
    if asked != "auto" or code != "xla" or not any(map(applies, networks)):
        return []
    return [f"training with XLA alone, which is slower than machine code: {missing()}"]


@cache
def interface() -> tuple[int, int] | None:
    """The version of XLA's foreign function interface, as its header has it; None if that is not the one we know."""
    header = (Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h").read_text()
    matches = [re.search(rf"#define XLA_FFI_API_{part} (\d+)", header) for part in ("MAJOR", "MINOR")]
    major, minor = (int(match[1]) if match else -1 for match in matches)
    return (major, minor) if major == MAJOR and minor >= 0 else None
