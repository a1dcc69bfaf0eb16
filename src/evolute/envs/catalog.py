"""Which environments there are: what is installed, the names in it, and what to install for a name that is missing."""

from __future__ import annotations

import difflib
import functools
import importlib
import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium

OURS = ("cartpole", "pong")


@dataclass(frozen=True)
class Library:
    """Where environments come from: the modules it needs, the extra that brings them, an example, and what it has."""

    modules: tuple[str, ...]
    extra: str | None
    example: str
    has: str

    @property
    def installed(self) -> bool:
        return all(importlib.util.find_spec(module) is not None for module in self.modules)

    @property
    def get(self) -> str:
        """How to get it."""
        return "comes with Evolute" if self.extra is None else f"pip install 'evolute[{self.extra}]'"


LIBRARIES: Mapping[str, Library] = {
    "gym": Library(("gymnasium",), None, "gym:CartPole-v1", "any registered Gymnasium id"),
    "gymnax": Library(("gymnax",), "gymnax", "gymnax:Breakout-MinAtar", "classic control, MinAtar and more, in JAX"),
    "envpool": Library(("envpool",), "envpool", "envpool:Pong-v5", "Atari, MuJoCo, dm_control and more, in C++"),
    "brax": Library(("brax",), "brax", "brax:ant", "Brax's physics, in JAX"),
    "playground": Library(
        ("mujoco_playground",), "playground", "playground:CartpoleBalance", "MuJoCo Playground (MJX), in JAX"
    ),
    "procgen": Library(("envpool", "PyQt5"), "procgen", "procgen:bigfish", "Procgen's 16 games, by EnvPool"),
    "atari": Library(("ale_py", "cv2"), "atari", "atari:Pong", "Atari games with the standard preprocessing"),
    "dm_control": Library(("dm_control",), "dm_control", "dm_control:cheetah-run", "DeepMind's control suite"),
    "minatar": Library(("minatar",), "minatar", "minatar:Breakout", "MinAtar's five games"),
    "pettingzoo": Library(
        ("pettingzoo",), "pettingzoo", "pettingzoo:sisl.pursuit_v5", "parallel environments, one policy for all agents"
    ),
}
"""By the word that stands before the colon."""
PARTS: Mapping[str, Library] = {
    "box2d": Library(("Box2D",), "box2d", "LunarLander-v3", "Gymnasium's Box2D"),
    "mujoco": Library(("mujoco",), "mujoco", "HalfCheetah-v5", "Gymnasium's MuJoCo"),
    "pybullet": Library(("pybullet_envs_gymnasium",), "pybullet", "AntBulletEnv-v0", "PyBullet's robots"),
}
"""What makes more ids of Gymnasium work."""
SOURCES = tuple(LIBRARIES)

_ELSEWHERE = {  # names that tell which library has them even if it is not installed
    "gymnax": r"-(MinAtar|bsuite|misc)$",
    "brax": r"^(ant|halfcheetah|hopper|humanoid|humanoidstandup|inverted_(double_)?pendulum|pusher|reacher|swimmer|walker2d)$",
    "playground": r"^(Acrobot|Cartpole|Cheetah|Finger|Fish|Humanoid|Panda|Pendulum|Walker)[A-Z]\w+$",
}


def names() -> Mapping[str, tuple[str, ...]]:
    """All names that can be used here, by source; ours are under the empty name. Imports what is installed."""
    return {"": OURS, **{source: ids(source) for source in SOURCES if installed(source)}}


def installed(source: str) -> bool:
    """Whether the library behind a source is there."""
    return LIBRARIES[source].installed


def ids(source: str) -> tuple[str, ...]:
    """The names that a source has."""
    return tuple(gymnasium.registry) if source == "gym" else _ids_of_adapter(source)


def unknown(name: str) -> str:
    """What to tell someone who gave a name that nothing has: the closest there are, and what to install."""
    here = [(source, found) for source, all_found in names().items() for found in all_found]
    near = difflib.get_close_matches(name, {found for _, found in here}, n=3, cutoff=0.6)
    full = [f"{source}:{found}" if source else found for found in near for source, other in here if other == found]
    closest = f"; the closest are {', '.join(full[:5])}" if full else ""
    return f"no environment {name!r}{closest}{_extras(name)}; your own is package.module:make"


def _extras(name: str) -> str:
    missing = [source for source in SOURCES if not installed(source)]
    having = [source for source in missing if source in _ELSEWHERE and re.search(_ELSEWHERE[source], name)]
    if having:
        return f"; {having[0]} has it: {LIBRARIES[having[0]].get}"
    return "; `evolute envs` tells what more can be installed" if missing else ""


@functools.cache
def _ids_of_adapter(source: str) -> tuple[str, ...]:
    adapter: Any = importlib.import_module(f"evolute.envs.{source}")
    found: tuple[str, ...] = adapter.ids()
    return found
