"""PettingZoo's environments: `pettingzoo:sisl.pursuit_v5`. With opponents they are games (`envs/pettingzoo_game.py`).

Without, parallel environments have one policy for all agents (`envs/pettingzoo_shared.py`).
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import warnings
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from evolute.envs.adapter import Adapter, Library
from evolute.envs.pettingzoo_game import PettingZooGame
from evolute.envs.pettingzoo_shared import SharedPolicyEnv

LIBRARY = Library(
    ("pettingzoo",), "pettingzoo", "pettingzoo:sisl.pursuit_v5", "games; without opponents, one policy for all agents"
)
FAMILIES = ("butterfly", "classic", "sisl")
ZERO_SUM = ("chess", "connect_four", "go", "leduc_holdem", "rps", "texas_holdem", "texas_holdem_no_limit", "tictactoe")
"""Those of the classic games in which what one wins the other loses; the other families are played together."""


def shared(name: str, options: Mapping[str, Any], *, time_limit: int | None = None, action_repeat: int = 1) -> SharedPolicyEnv:
    """A parallel environment without opponents. `options` are those of its `parallel_env`."""
    module = _module(name)
    if "parallel_env" not in vars(module):
        raise ValueError(f"pettingzoo:{name} is played in turns: say who plays, as in opponents=history")
    make = partial(module.parallel_env, **options)
    return SharedPolicyEnv(f"pettingzoo:{name}", make, time_limit=time_limit, action_repeat=action_repeat)


def game(name: str, options: Mapping[str, Any], *, time_limit: int | None = None) -> PettingZooGame:
    """An environment as a game. `options` are those of its constructor, besides `teams`, the team of each agent."""
    if time_limit is not None:
        raise ValueError(f"wrap.time_limit={time_limit}: set the length of the game by an option of pettingzoo:{name} instead")
    module, own = _module(name), {key: value for key, value in options.items() if key != "teams"}
    make = vars(module).get("parallel_env") or module.env
    family, _, title = re.sub(r"_v\d+$", "", name).partition(".")
    zero_sum = title in ZERO_SUM if family in FAMILIES else None
    try:
        return PettingZooGame(f"pettingzoo:{name}", partial(make, **own), teams=options.get("teams"), zero_sum=zero_sum)
    except TypeError as error:
        raise ValueError(f"pettingzoo:{name} with the options {own}: {error}") from error


def _module(name: str) -> Any:
    """The module of PettingZoo that makes an environment."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # PettingZoo deprecates whole modules
            return importlib.import_module(f"pettingzoo.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("pettingzoo."):
            raise ValueError(f"PettingZoo has no environment {name!r}; name one as in sisl.pursuit_v5") from error
        raise ValueError(f"pettingzoo:{name} needs {error.name}, which is not installed; {LIBRARY.how_to_get}") from error


def ids() -> tuple[str, ...]:
    """The modules of PettingZoo that name an environment, as family.name."""
    package = importlib.util.find_spec("pettingzoo")
    root = Path(package.submodule_search_locations[0]) if package and package.submodule_search_locations else Path()
    files = [path for family in FAMILIES for path in sorted((root / family).glob("*.py")) if re.search(r"_v\d+$", path.stem)]
    return tuple(f"{path.parent.name}.{path.stem}" for path in files)


pettingzoo = Adapter(library=LIBRARY, ids=ids, host=shared, game=game)
