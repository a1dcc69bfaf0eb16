"""The MJX environments of MuJoCo Playground: `playground:CartpoleBalance`."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from typing import Any

from evolute.core.names import closest
from evolute.envs.adapter import Adapter, Library
from evolute.envs.interface import JaxEnv

LIBRARY = Library(("mujoco_playground",), "playground", "playground:CartpoleBalance", "MuJoCo Playground (MJX), in JAX")
ONLY_HERE = r"^(Acrobot|Cartpole|Cheetah|Finger|Fish|Humanoid|Panda|Pendulum|Walker)[A-Z]\w+$"


def make(name: str, options: Mapping[str, Any], *, time_limit: int | None = None) -> JaxEnv:
    """An env of the Playground. `options` override its config; physics run in JAX unless they say otherwise (`impl`)."""
    from evolute.envs.brax_style import BraxStyle
    from evolute.envs.jax_wrappers import TimeLimit

    if name not in ids():
        raise ValueError(f"playground has no environment {name!r}{closest(name, ids())}")
    registry = LIBRARY.load("mujoco_playground").registry
    config = registry.get_default_config(name)
    overrides = {**({"impl": "jax"} if "impl" in config else {}), **options}
    try:
        env = registry.load(name, config_overrides=overrides)
    except (subprocess.CalledProcessError, OSError) as error:
        raise ValueError(
            f"playground:{name} needs the robot models of mujoco_menagerie, which the Playground downloads from GitHub, "
            f"and that failed ({error}); choose one of the dm_control suite, or try again with a connection"
        ) from error
    except (KeyError, TypeError) as error:
        raise ValueError(f"playground:{name} does not take the options {dict(options)}: {error}") from error
    return TimeLimit(BraxStyle(env), time_limit or config.episode_length)


def ids() -> tuple[str, ...]:
    """All names that the Playground knows."""
    return tuple(LIBRARY.load("mujoco_playground").registry.ALL_ENVS)


playground = Adapter(library=LIBRARY, ids=ids, jax=make, only_here=ONLY_HERE)
