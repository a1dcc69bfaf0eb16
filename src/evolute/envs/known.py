"""Which environments there are: what is installed, the names in it, and what to install for a name that is missing."""

from __future__ import annotations

import difflib
import functools
import importlib
import importlib.util
import re
from collections.abc import Mapping
from typing import Any

import gymnasium

OURS = ("cartpole", "pong")
SOURCES = ("gym", "gymnax", "envpool", "brax", "playground")

_LIBRARIES = {"gym": "gymnasium", "playground": "mujoco_playground"}  # where a library is not called as its source
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
    return importlib.util.find_spec(_LIBRARIES.get(source, source)) is not None


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
        return f"; {having[0]} has it: pip install 'evolute[{having[0]}]'"
    return f"; more come with pip install 'evolute[{','.join(missing)}]'" if missing else ""


@functools.cache
def _ids_of_adapter(source: str) -> tuple[str, ...]:
    adapter: Any = importlib.import_module(f"evolute.envs.{source}")
    found: tuple[str, ...] = adapter.ids()
    return found
