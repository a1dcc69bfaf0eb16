"""Which environments there are: the adapters and environments in our folders, the names in them, and what to install."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping

from evolute.core.names import resolve, shipped
from evolute.envs.adapter import Adapter, OurEnv

ADAPTERS, OURS, GAMES = "envs.adapters", "envs.ours", "games"
"""The groups of plug-ins. Adapters among the games that run by themselves are only known by name here."""


def sources() -> tuple[str, ...]:
    """The names of all adapters, which come before the colon; imports none of them."""
    return (*shipped(ADAPTERS), *shipped(GAMES))


def our_names() -> tuple[str, ...]:
    """The names of our own environments; imports none of them."""
    return shipped(OURS)


@functools.cache
def adapters() -> Mapping[str, Adapter]:
    """All adapters by name. This imports none of their libraries."""
    return {name: resolve(GAMES if name in shipped(GAMES) else ADAPTERS, name) for name in sources()}


@functools.cache
def ours() -> Mapping[str, OurEnv]:
    """Our own environments by name."""
    return {name: resolve(OURS, name) for name in our_names()}


def adapter_of(name: str) -> Adapter | None:
    """The adapter that an environment's full name begins with, if it does."""
    return adapters().get(name.partition(":")[0]) if ":" in name else None


def games() -> tuple[str, ...]:
    """What can be played by several: our games by name, and of each library an example."""
    here = [name for name, env in ours().items() if env.game is not None]
    return (*here, *(adapter.library.example for adapter in adapters().values() if adapter.game is not None))


def is_only_game(name: str) -> bool:
    """Whether a full name stands for something that cannot be used as an environment with one seat."""
    adapter = adapter_of(name)
    if adapter is not None:
        return adapter.game is not None and adapter.jax is None and adapter.host is None
    return name in ours() and ours()[name].make is None


def for_gymnasium_ids() -> tuple[str, ...]:
    """The installed sources that have environments of Gymnasium, the fastest first."""
    usable = [(source, a) for source, a in adapters().items() if a.has_gymnasium_id is not None and a.library.installed]
    return tuple(source for source, _ in sorted(usable, key=lambda item: -item[1].priority))


def unknown(name: str) -> str:
    """The error for a name that no library has: the closest names, and what to install."""
    candidates = _candidates(name)
    near = difflib.get_close_matches(name, {other for _, other in candidates}, n=3, cutoff=0.6)
    full = [f"{source}:{other}" if source else other for match in near for source, other in candidates if other == match]
    closest = f"; the closest are {', '.join(full[:5])}" if full else ""
    return f"no environment {name!r}{closest}{_to_install(name)}; your own is package.module:make"


def _candidates(name: str) -> list[tuple[str, str]]:
    """Names to suggest, each with its source, from libraries that need not be imported or that have names like this one."""
    bundled_first = sorted(adapters().items(), key=lambda item: item[1].library.extra is not None)
    here = {source: a for source, a in bundled_first if a.library.installed}
    cheap = {s: a for s, a in here.items() if isinstance(a.ids, tuple) or a.library.imported or a.looks_like(name)}
    return [("", other) for other in our_names()] + [(source, other) for source, a in cheap.items() for other in a.names]


def _to_install(name: str) -> str:
    missing = {source: a for source, a in adapters().items() if not a.library.installed}
    for source, adapter in missing.items():
        if adapter.looks_like(name):
            return f"; {source} has it: {adapter.library.how_to_get}"
    return "; `evolute envs` lists what else can be installed" if missing else ""
