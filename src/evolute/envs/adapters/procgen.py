"""The 16 games of Procgen (Cobbe et al. 2020), by EnvPool: `procgen:bigfish`.

`procgen.num_levels=200` trains on 200 levels, from `procgen.start_level` on; 0 means the whole distribution, which is
also what a member is tested on. `procgen.mode` is easy, hard or another mode that the game has.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any

from evolute.core.names import closest
from evolute.envs.adapter import Adapter, Library
from evolute.envs.adapters.envpool import EnvPoolEnv
from evolute.envs.adapters.envpool import ids as all_ids
from evolute.envs.interface import HostEnv
from evolute.envs.qt import load_qt

LIBRARY = Library(("envpool", "PyQt5"), "procgen", "procgen:bigfish", "Procgen's 16 games, by EnvPool")
GAMES = (
    *("bigfish", "bossfight", "caveflyer", "chaser", "climber", "coinrun", "dodgeball", "fruitbot"),
    *("heist", "jumper", "leaper", "maze", "miner", "ninja", "plunder", "starpilot"),
)
ALL_LEVELS = {"num_levels": 0, "start_level": 0}


def host(name: str, options: Mapping[str, Any], *, time_limit: int | None = None, action_repeat: int = 1) -> HostEnv:
    """A game of Procgen, with images [64, 64, 3]."""
    load_qt()
    _retry()
    if name not in GAMES:
        raise ValueError(f"Procgen has no game {name!r}{closest(name, GAMES)}")
    made_with = {"mode": "easy", **options}
    task = f"{name.capitalize()}{str(made_with.pop('mode')).capitalize()}-v0"
    if task not in all_ids():
        modes = [
            known.removeprefix(name.capitalize())[:-3].lower() for known in all_ids() if known.startswith(name.capitalize())
        ]
        raise ValueError(f"procgen.mode={options['mode']}: {name} has {', '.join(modes)}")
    return EnvPoolEnv(task, made_with, time_limit=time_limit, action_repeat=action_repeat)


def _retry() -> None:
    """Let EnvPool load its Procgen again if it was imported before the libraries were there."""
    module = sys.modules.get("envpool.procgen")
    if module is not None and "ProcgenEnvSpec" not in vars(module):
        importlib.reload(module)


procgen = Adapter(library=LIBRARY, ids=GAMES, host=host, test_options=ALL_LEVELS)
