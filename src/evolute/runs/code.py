"""Whether a user's own code has changed since a run was trained with it."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evolute.config.resolve import Config
from evolute.core.fingerprint import file_fingerprint, fingerprint, python
from evolute.envs.catalog import sources
from evolute.envs.maker import maker_of

PYTHON = "python"


def fingerprints(config: Config) -> dict[str, str]:
    """The fingerprints of a config's own code, by what it is; empty if all of it is Evolute's."""
    found = {name: mark for name, thing in _own(config) if (mark := fingerprint(thing)) is not None}
    if programs := _programs(config):
        found["learner"] = " ".join(map(file_fingerprint, programs))
    return {**found, PYTHON: python()} if found else {}


def changed_code(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Whose code differs. What an older run does not tell, or another version of Python compiled, is not compared."""
    if before.get(PYTHON) != now.get(PYTHON):
        return []
    return sorted(name for name in before.keys() & now.keys() if before[name] != now[name])


def _own(config: Config) -> Iterator[tuple[str, Any]]:
    yield "learner", config.learner.maker
    yield "strategy", config.strategy.maker
    if config.env is not None and ":" in config.env.name and config.env.name.partition(":")[0] not in sources():
        with contextlib.suppress(ValueError):  # said, with how to mend it, when the environment is made
            yield "environment", maker_of(config.env.name)


def _programs(config: Config) -> list[Path]:
    """The files that the command of a script learner names."""
    if config.learner.target != "script":
        return []
    return [Path(word) for word in shlex.split(str(config.learner.settings.get("command", ""))) if Path(word).is_file()]
