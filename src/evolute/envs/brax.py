"""The JAX physics environments of Brax: `brax:ant`. Brax has not been developed further since MuJoCo Playground came."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping
from typing import Any

from evolute.core.names import closest
from evolute.envs.brax_style import BraxStyle, library
from evolute.envs.interface import JaxEnv
from evolute.envs.jax_wrappers import TimeLimit


def brax(name: str, options: Mapping[str, Any], *, time_limit: int | None = None) -> JaxEnv:
    """An env of Brax. `options` are those of its class, such as `backend`; episodes have at most 1000 steps, as is usual."""
    if name not in ids():
        raise ValueError(f"brax has no environment {name!r}{closest(name, ids())}")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Brax System", UserWarning)
        env = library("brax.envs", "brax").get_environment(name, **options)
    return TimeLimit(BraxStyle(env), time_limit or 1000)


@functools.cache
def ids() -> tuple[str, ...]:
    """All names that Brax knows; `fast` is a stub for Brax's own tests."""
    known = vars(library("brax.envs", "brax"))["_envs"]
    return tuple(name for name in known if name != "fast")
