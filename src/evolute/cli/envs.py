"""The command `envs`: which environments are installed, which are not, and how to get them."""

from __future__ import annotations

import json

from evolute.config.error import ConfigError
from evolute.core.names import closest
from evolute.envs.catalog import adapters, our_names, ours


def listed(source: str | None, *, as_json: bool) -> None:
    """All libraries, or the names in one of them."""
    if source is not None:
        _names(source, as_json=as_json)
        return
    rows = {name: adapter.library for name, adapter in adapters().items()}
    rows |= {name: part for adapter in adapters().values() for name, part in adapter.parts.items()}
    if as_json:
        data = {
            name: {"installed": row.installed, "get": row.how_to_get, "example": row.example, "has": row.has}
            for name, row in rows.items()
        }
        print(json.dumps(data))
        return
    print(f"{'ours':11} installed  env={', env='.join(our_names())}")
    print(f"{'our games':11} installed  {', '.join(_games())}")
    for name, row in rows.items():
        if row.installed:
            print(f"{name:11} installed  env={row.example:27} {row.has}")
    for name, row in rows.items():
        if not row.installed:
            print(f"{name:11} not yet    {row.how_to_get:31} {row.has}")
    print("`evolute envs SOURCE` lists the names in one; your own is env=package.module:make")


def _games() -> list[str]:
    """Our own games, with their seats."""
    made = {name: env.game() for name, env in ours().items() if env.game is not None}
    return [f"env={name} ({len(game.teams)} seats)" for name, game in made.items()]


def _names(source: str, *, as_json: bool) -> None:
    if source not in adapters():
        raise ConfigError(f"no source {source!r}{closest(source, adapters())}")
    adapter = adapters()[source]
    library = adapter.library
    if not library.installed and library.install:
        raise ConfigError(f"{source} is not installed; this builds it on {library.where}:\n\n{library.install}")
    if not library.installed:
        raise ConfigError(f"{source} is not installed; {adapter.library.how_to_get}")
    try:
        names = adapter.names
    except ValueError as error:
        raise ConfigError(str(error)) from error
    print(json.dumps(list(names)) if as_json else "\n".join(f"{source}:{name}" for name in names))
