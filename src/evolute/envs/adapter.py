"""What the files in `adapters` and `ours` say of themselves: where environments come from, and how they are made."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Protocol

import gymnasium

from evolute.envs.game import Game
from evolute.envs.host_game import HostGame
from evolute.envs.interface import HostEnv, JaxEnv


class MakeJax(Protocol):
    """Makes a JaxEnv by its name within the library. Actions are repeated by a wrapper around it."""

    def __call__(self, name: str, options: Mapping[str, Any], /, *, time_limit: int | None = None) -> JaxEnv: ...


class MakeHost(Protocol):
    """Makes a HostEnv by its name within the library."""

    def __call__(
        self, name: str, options: Mapping[str, Any], /, *, time_limit: int | None = None, action_repeat: int = 1
    ) -> HostEnv: ...


class MakeSingle(Protocol):
    """Makes one Gymnasium env by its name within the library."""

    def __call__(
        self, name: str, options: Mapping[str, Any], /, *, time_limit: int | None = None
    ) -> gymnasium.Env[Any, Any]: ...


class MakeGame(Protocol):
    """Makes a game by its name within the library."""

    def __call__(self, name: str, options: Mapping[str, Any], /, *, time_limit: int | None = None) -> Game | HostGame: ...


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Libraries print about their own optional parts when they are imported; if that fails, the error says it all."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


@dataclass(frozen=True)
class Library:
    """An installable set of environments: the modules it needs, the extra that installs them, an example, and what it has.

    What no extra can install has commands to `install` it, and says `where` they are known to work.
    """

    modules: tuple[str, ...]
    extra: str | None
    example: str
    has: str
    install: str = ""
    where: str = ""

    @property
    def installed(self) -> bool:
        return all(importlib.util.find_spec(module) is not None for module in self.modules)

    @property
    def imported(self) -> bool:
        """Whether this process has loaded it already."""
        return all(module in sys.modules for module in self.modules)

    @property
    def how_to_get(self) -> str:
        if self.install:
            return f"`evolute envs {self.example.partition(':')[0]}` says how"
        return "comes with Evolute" if self.extra is None else f"pip install 'evolute[{self.extra}]'"

    def load(self, module: str) -> ModuleType:
        """Import one of its modules, without what it warns of and prints. Raises ValueError if something is missing."""
        try:
            with warnings.catch_warnings(), _silence():
                warnings.simplefilter("ignore")
                return importlib.import_module(module)
        except ModuleNotFoundError as error:
            raise ValueError(
                f"{self.example.partition(':')[0]} needs {error.name}, which is not installed; {self.how_to_get}"
            ) from error


@dataclass(frozen=True, kw_only=True)
class Adapter:
    """How the environments of a library are used, under the name of the adapter's file: `gymnax:Breakout-MinAtar`.

    It has a maker for each interface that the library's environments can have: `jax`, `host`, or both, and then `jax` is
    used. `single` makes one Gymnasium env, for learners that step their environments themselves and for rendering; `game`
    makes a game with several seats.
    """

    library: Library
    ids: tuple[str, ...] | Callable[[], tuple[str, ...]]
    """All names in it; a function where the library has to be imported for them."""
    jax: MakeJax | None = None
    host: MakeHost | None = None
    single: MakeSingle | None = None
    game: MakeGame | None = None
    has_gymnasium_id: Callable[[str], bool] | None = None
    """Whether an id means the same here as in Gymnasium, so that it can be given without the library's name."""
    priority: int = 0
    """Of several libraries that have a Gymnasium id, the one with the highest priority is used: the fastest."""
    only_here: str | None = None
    """A pattern of names that no other library has, to tell users which library to install."""
    parts: Mapping[str, Library] = field(default_factory=dict)
    """What can be installed to make more of its ids work."""
    test_options: Mapping[str, Any] | None = None
    """Options of the environment that members are tested in, if that differs from where they train."""

    @property
    def names(self) -> tuple[str, ...]:
        """All names in it. May import the library."""
        return self.ids if isinstance(self.ids, tuple) else self.ids()

    def looks_like(self, name: str) -> bool:
        """Whether only this library has such names."""
        return self.only_here is not None and re.search(self.only_here, name) is not None


@dataclass(frozen=True)
class OurEnv:
    """An environment of our own, the ids of Gymnasium that it implements, and the same as a game; it may be only a game."""

    make: Callable[..., JaxEnv | HostEnv] | None = None
    same_as: tuple[str, ...] = ()
    game: Callable[..., Game] | None = None
