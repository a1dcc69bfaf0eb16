"""The function or class that makes an environment, and calling it. Imports no JAX: runs without it start faster."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from evolute.core.names import resolve
from evolute.envs.catalog import ours


def maker_of(name: str) -> Any:
    """What makes one of our own environments, or what `package.module:make` names."""
    return ours()[name].make if name in ours() else resolve("envs", name)


def call_maker(name: str, maker: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    """What a maker returns. Whatever it raises becomes a ValueError of one sentence, with file and line."""
    try:
        inspect.signature(maker).bind(**options)
    except TypeError as error:
        takes = ", ".join(inspect.signature(maker).parameters) or "none"
        raise ValueError(f"environment {name!r} with the options {dict(options)}: {error}; it takes {takes}") from error
    try:
        return maker(**options)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__}: {error} ({where.filename}, line {where.lineno})"
        raise ValueError(f"environment {name!r} with the options {dict(options)} raised {what}") from error
