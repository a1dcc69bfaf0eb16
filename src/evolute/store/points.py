"""The points between which a process may die: tests kill it at each one, by number."""

from __future__ import annotations

from collections.abc import Callable

hooks: list[Callable[[str], None]] = []
"""Called at every write point with its name; empty outside tests."""


def point(name: str) -> None:
    """Pass a write point."""
    for hook in hooks:
        hook(name)
