"""Evolute trains populations of reinforcement-learning agents that tune themselves while they learn."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evolute.api import load as load
    from evolute.api import resume as resume
    from evolute.api import run as run
    from evolute.api import tournament as tournament
    from evolute.core.param import Choice as Choice
    from evolute.core.param import Float as Float
    from evolute.core.param import Int as Int
    from evolute.core.param import Ordinal as Ordinal
    from evolute.core.segment import Segment as Segment
    from evolute.runs.result import Run as Run

__version__ = "0.1.0"
_HOMES = {
    "load": "evolute.api",
    "run": "evolute.api",
    "resume": "evolute.api",
    "tournament": "evolute.api",
    "Run": "evolute.runs.result",
    "Float": "evolute.core.param",
    "Int": "evolute.core.param",
    "Choice": "evolute.core.param",
    "Ordinal": "evolute.core.param",
    "Segment": "evolute.core.segment",
}
_MODULES = ("policy", "strategies", "testing")
__all__ = [
    "Choice",
    "Float",
    "Int",
    "Ordinal",
    "Run",
    "Segment",
    "__version__",
    "load",
    "policy",
    "resume",
    "run",
    "strategies",
    "testing",
    "tournament",
]


def __getattr__(name: str) -> Any:
    """Load a name when it is first used, so that importing evolute is quick."""
    if name in _MODULES:
        return import_module(f"evolute.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'evolute' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
