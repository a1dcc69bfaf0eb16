"""The command `envs`: which environments are installed, which are not, and how to get them."""

from __future__ import annotations

import json

from evolute.config.error import ConfigError
from evolute.core.names import closest
from evolute.envs.catalog import LIBRARIES, OURS, PARTS, ids


def listed(source: str | None, *, as_json: bool) -> None:
    """All libraries, or the names in one of them."""
    if source is not None:
        _names(source, as_json=as_json)
        return
    rows = {**LIBRARIES, **PARTS}
    if as_json:
        found = {
            name: {"installed": row.installed, "get": row.get, "example": row.example, "has": row.has}
            for name, row in rows.items()
        }
        print(json.dumps(found))
        return
    print(f"{'ours':11} installed  env={', env='.join(OURS)}")
    for name, row in rows.items():
        if row.installed:
            print(f"{name:11} installed  env={row.example:27} {row.has}")
    for name, row in rows.items():
        if not row.installed:
            print(f"{name:11} not yet    {row.get:31} {row.has}")
    print("`evolute envs SOURCE` lists the names in one; your own is env=package.module:make")


def _names(source: str, *, as_json: bool) -> None:
    if source not in LIBRARIES:
        raise ConfigError(f"no source {source!r}{closest(source, LIBRARIES)}")
    if not LIBRARIES[source].installed:
        raise ConfigError(f"{source} is not installed; {LIBRARIES[source].get}")
    try:
        found = ids(source)
    except ValueError as error:
        raise ConfigError(str(error)) from error
    print(json.dumps(list(found)) if as_json else "\n".join(f"{source}:{name}" for name in found))
