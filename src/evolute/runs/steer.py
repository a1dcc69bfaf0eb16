"""Asks something of a run while it trains, and waits until a decision has taken it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from evolute.config.error import ConfigError
from evolute.config.layers import parse
from evolute.config.ranges import parse_range
from evolute.core.names import closest
from evolute.core.param import Param
from evolute.core.request import KINDS, Answer, Kind, RefusedError, Request
from evolute.core.space import Space
from evolute.core.steering import Steering, inside, rebound
from evolute.runs.commands import typed
from evolute.store.error import StoreError
from evolute.store.journal import Journal
from evolute.store.lock import holder
from evolute.store.requests import RequestFolder

PAUSE = 0.1
"""Seconds between two looks at the journal."""
SHAPES: dict[Kind, str] = {
    "pin": "pin MEMBER",
    "unpin": "unpin MEMBER",
    "clone": "clone FROM TO",
    "set": "set MEMBER NAME=VALUE …",
    "bounds": "bounds NAME=RANGE …",
}


def worded(folder: Path, words: Sequence[str], *, turn: int = 0) -> Request:
    """The request that these words make, such as `set 3 lr=1e-4`; every mistake is a ConfigError."""
    with contextlib.closing(Journal.read(folder)) as journal, journal.snapshot():
        meta, answers = journal.meta, journal.answers()
    kind, *rest = words or [""]
    if kind not in SHAPES:
        raise ConfigError(f"{kind!r} is nothing that a run can be asked for{closest(kind, KINDS)}")
    shape: Kind = next(one for one in KINDS if one == kind)
    members = {"clone": 2, "bounds": 0}.get(kind, 1)
    pairs = rest[members:]
    if len(rest) < members or bool(pairs) != (kind in ("set", "bounds")):
        raise ConfigError(f"{' '.join(words)}: write {SHAPES[shape]}")
    slots = [_member(text, meta.population) for text in rest[:members]]
    space = Steering.of(answers).space(Space.from_json(meta.space))
    try:
        match shape:
            case "clone":
                return Request(shape, slots[1], slots[0], turn=turn)
            case "set":
                return Request(shape, slots[0], hparams=dict(_value(text, space) for text in pairs), turn=turn)
            case "bounds":
                return Request(shape, bounds=dict(_range(text, space) for text in pairs), turn=turn)
        return Request(shape, slots[0], turn=turn)
    except RefusedError as error:
        raise ConfigError(str(error)) from error


def ask(folder: Path, request: Request, *, later: bool = False) -> str:
    """Leave a request for the run, and return its name; `later` also if nobody trains it now."""
    if not later and holder(folder) is None:
        raise StoreError(f"nobody trains {folder} now: --no-wait leaves the request for `{typed('resume', folder)}`")
    return RequestFolder(folder).put(request.to_json())


def answered(folder: Path, name: str) -> Answer | None:
    """What became of a request; None while it waits."""
    with contextlib.closing(Journal.read(folder)) as journal:
        return next((answer for answer in journal.answers() if answer.name == name), None)


def wait(folder: Path, name: str) -> Answer:
    """Wait for the decision that takes a request; it is withdrawn if the run stops first."""
    while True:
        running = holder(folder) is not None
        if (answer := answered(folder, name)) is not None:
            return answer
        if not running:
            withdraw(folder, name)
            raise StoreError(f"{folder} stopped before a decision took the request, which is withdrawn")
        time.sleep(PAUSE)


def withdraw(folder: Path, name: str) -> None:
    """Take a request back that no decision has taken."""
    RequestFolder(folder).withdraw(name)


def _member(text: str, size: int) -> int:
    if not text.isdecimal():
        raise ConfigError(f"{text!r} is not the number of a member")
    if int(text) >= size:
        raise ConfigError(f"there is no member {text}: the run has members 0 to {size - 1}")
    return int(text)


def _pair(text: str, space: Space) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not value:
        raise ConfigError(f"{text!r}: write NAME=VALUE")
    if name not in space:
        raise ConfigError(f"{name} is not evolved in this run{closest(name, space)}")
    return name, value


def _value(text: str, space: Space) -> tuple[str, Any]:
    name, written = _pair(text, space)
    try:
        return name, inside(space, name, parse(written))
    except yaml.YAMLError as error:
        raise ConfigError(f"{text!r}: the value is not valid YAML") from error


def _range(text: str, space: Space) -> tuple[str, Param]:
    name, written = _pair(text, space)
    try:
        param = parse_range(written, bare=space[name].to_json()["kind"])
    except ValueError as error:
        raise ConfigError(f"{name}: {error}") from error
    return name, rebound(name, space[name], param)
