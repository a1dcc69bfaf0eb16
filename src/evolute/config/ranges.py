"""Ranges as people write them: `log[1e-5, 1e-2]`, `[0, 1]`, `int[1, 16]`, `choice[relu, tanh]`, `1-log[0.9, 0.999]`."""

from __future__ import annotations

import re
from typing import Any

import yaml

from evolute.config.layers import parse
from evolute.core.names import closest
from evolute.core.param import Choice, Float, Int, Ordinal, Param

KINDS = ("float", "log", "1-log", "int", "int-log", "choice", "ordinal")
_RANGE = re.compile(r"\s*([\w-]*)\s*\[(.*)\]\s*", re.S)
_START = re.compile(r"(.*\])\s*from\s*\[([^\[\]]*)\]\s*", re.S)


def looks_like_range(value: Any) -> bool:
    """Whether this is text in the form of a range, valid or not."""
    return isinstance(value, str) and _RANGE.fullmatch(value) is not None


def is_broken_range(value: Any) -> bool:
    """Whether this is text that begins like a range and does not end like one."""
    return isinstance(value, str) and re.match(rf"\s*({'|'.join(KINDS)})\s*[\[(]", value) is not None


def is_pair(value: Any) -> bool:
    """Whether this is a list of two numbers."""
    return isinstance(value, (list, tuple)) and len(value) == 2 and all(type(item) in (int, float) for item in value)


def parse_range(text: str, bare: str = "float") -> Param:
    """The parameter that a text describes, of kind `bare` if it names none; raises ValueError with what is wrong."""
    started = _START.fullmatch(text)
    match = _RANGE.fullmatch(started[1] if started else text)
    if match is None:
        raise ValueError(f"{text!r} is not a range such as log[1e-5, 1e-2]")
    kind, items = match[1] or bare, _items(text, match[2])
    if kind not in KINDS:
        raise ValueError(f"{text!r}: no range is called {kind!r}{closest(kind, KINDS)}")
    if started and kind not in ("float", "log", "1-log"):
        raise ValueError(f"{text!r}: only float, log and 1-log ranges take a `from [low, high]`")
    start = _pair(text, _items(text, started[2])) if started else None
    return build(kind, items, text, start)


def build(kind: str, items: list[Any], text: str, start: tuple[float, float] | None = None) -> Param:
    """The parameter of this kind over these bounds or values."""
    if kind in ("choice", "ordinal"):
        return Choice(*items) if kind == "choice" else Ordinal(*items)
    low, high = _pair(text, items)
    if kind in ("int", "int-log"):
        if low != int(low) or high != int(high):
            raise ValueError(f"{text}: the bounds of an int range must be whole numbers")
        return Int(int(low), int(high), log=kind == "int-log")
    return Float(float(low), float(high), log=kind == "log", complement=kind == "1-log", start=start)


def _items(text: str, inner: str) -> list[Any]:
    try:
        items = parse(f"[{inner}]")
    except yaml.YAMLError as error:
        raise ValueError(f"{text!r}: cannot read what is between the brackets") from error
    return list(items)


def _pair(text: str, items: list[Any]) -> tuple[float, float]:
    if not is_pair(items):
        raise ValueError(f"{text!r}: needs two numbers, a lower and an upper bound")
    return items[0], items[1]
