"""The JAX physics environments of Brax: `brax:ant`. MuJoCo Playground is its successor."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping
from typing import Any

from evolute.core.names import closest
from evolute.envs.adapter import Adapter, Library
from evolute.envs.interface import JaxEnv

LIBRARY = Library(("brax",), "brax", "brax:ant", "Brax's physics, in JAX")
ONLY_HERE = r"^(ant|halfcheetah|hopper|humanoid|humanoidstandup|inverted_(double_)?pendulum|pusher|reacher|swimmer|walker2d)$"


def make(name: str, options: Mapping[str, Any], *, time_limit: int | None = None) -> JaxEnv:
    """An env of Brax. `options` are those of its class, such as `backend`; episodes have at most 1000 steps, as is usual."""
    from evolute.envs.brax_style import BraxStyle
    from evolute.envs.jax_wrappers import TimeLimit

    if name not in ids():
        raise ValueError(f"brax has no environment {name!r}{closest(name, ids())}")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Brax System", UserWarning)
        env = LIBRARY.load("brax.envs").get_environment(name, **options)
    return TimeLimit(BraxStyle(env), time_limit or 1000)


@functools.cache
def ids() -> tuple[str, ...]:
    """All names that Brax knows; `fast` is a stub for Brax's own tests."""
    known = vars(LIBRARY.load("brax.envs"))["_envs"]
    return tuple(name for name in known if name != "fast")


brax = Adapter(library=LIBRARY, ids=ids, jax=make, only_here=ONLY_HERE)
