"""Names to plug-ins: `pbt` is the object `pbt` in `evolute.strategies.pbt`, anyone's own is `package.module:name`.

A family is one name for many plug-ins: `sb3:PPO` is what `evolute.learners.sb3` makes of `PPO`.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Family:
    """Finds one of many plug-ins by a name of its own; `example` is such a name."""

    find: Callable[[str], Any]
    example: str


def family(example: str) -> Callable[[Callable[[str], Any]], Family]:
    """Make a family of the function that finds its plug-ins."""
    return lambda find: Family(find, example)


@functools.cache
def shipped(group: str) -> tuple[str, ...]:
    """The plug-ins of one group (`strategies`, `envs.adapters`, …) by name, found without importing any.

    A plug-in is a module that defines an object of its own name; other modules are parts of plug-ins.
    """
    folder = Path(__file__).parents[1].joinpath(*group.split("."))
    names = [info.name for info in pkgutil.iter_modules([str(folder)])]
    return tuple(
        sorted(name for name in names if re.search(rf"^((def|class) {name}\b|{name} = )", _source(folder, name), re.M))
    )


def resolve(group: str, name: str) -> Any:
    """The object that `name` names in this group."""
    head, colon, rest = name.partition(":")
    family = family_of(group, head)
    if family is not None:
        if not rest:
            raise ValueError(f"{name!r} is a family: say which one, as in {head}:{family.example}")
        return family.find(rest)
    if colon:
        return _own(group, name)
    if name not in shipped(group):
        raise ValueError(f"no {_one(group)} {name!r}{closest(name, shipped(group))}; your own is package.module:name")
    return _shipped(group, name)


def _shipped(group: str, name: str) -> Any:
    return getattr(importlib.import_module(f"evolute.{group}.{name}"), name)


def family_of(group: str, name: str) -> Family | None:
    """The family of this name, if it is one."""
    plugin = _shipped(group, name) if group == "learners" and name in shipped(group) else None
    return plugin if isinstance(plugin, Family) else None


def closest(word: str, words: Iterable[str]) -> str:
    """A hint: the word that was probably meant, or else all words there are."""
    words = list(words)
    near = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(words)}" if words else ""


@dataclass(frozen=True)
class PluginSpec:
    """How to build a plug-in, here or in another process: what to call and with which settings."""

    group: str
    target: str | Callable[..., Any]
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def maker(self) -> Any:
        return resolve(self.group, self.target) if isinstance(self.target, str) else self.target

    @property
    def name(self) -> str:
        """The plug-in's name, which is also that of its section in a config."""
        if isinstance(self.target, str):
            head, _, rest = self.target.partition(":")
            return head if not rest or family_of(self.group, head) else self.target.rpartition(":")[2]
        return getattr(self.target, "__name__", type(self.target).__name__)


def _source(folder: Path, name: str) -> str:
    package = folder / name / "__init__.py"
    return (package if package.is_file() else folder / f"{name}.py").read_text()


def _own(group: str, name: str) -> Any:
    module, _, attribute = name.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        imported = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(f"{_one(group)} {name!r}: there is no module {error.name!r} to import") from error
    if attribute not in vars(imported):
        raise ValueError(f"{_one(group)} {name!r}: {module} has no {attribute!r}{closest(attribute, vars(imported))}")
    return vars(imported)[attribute]


def _one(group: str) -> str:
    return {"strategies": "strategy"}.get(group, group.partition(".")[0].rstrip("s"))
