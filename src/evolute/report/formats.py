"""Numbers, times and sizes as people read them."""

from __future__ import annotations

from typing import Any

from evolute.core import amounts
from evolute.runs.result import Agent

number, hparams = amounts.number, amounts.named


def short(value: Any) -> str:
    """A value in about six characters, for narrow tables; a discount keeps the digits that set it apart from 1."""
    if not isinstance(value, float):
        return number(value)
    size = abs(value)
    text = f"{value:.1e}" if 0 < size < 1e-3 else f"{value:.{4 if 0.9 < size < 1 else 3}g}"
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if e else text


def seconds(value: float) -> str:
    """A length of time."""
    if value < 60:
        return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours < 48 else f"{hours // 24} days {hours % 24} h"


def age(value: float) -> str:
    """How long ago something was, roughly."""
    for unit, seconds, least in (("days", 86400, 2), ("h", 3600, 1), ("min", 60, 1)):
        if value >= least * seconds:
            return f"{value // seconds:.0f} {unit}"
    return f"{value:.0f} s"


def rate(value: float) -> str:
    """How many in a second, or what part of one."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def size(count: float) -> str:
    """A number of bytes."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def who(agent: Agent) -> str:
    """An agent by its member, run and score."""
    return f"member {agent.member} of {agent.folder} after turn {agent.turn.ref.turn} (score {number(agent.score)})"


def count(number: int, word: str) -> str:
    """`1 turn`, `2 turns`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"
