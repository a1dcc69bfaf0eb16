"""What members are compared by: a metric, several added up, or several objectives at once.

`return`, `-loss` and `0.1*return+-cost` are one number each; a minus sign turns a metric around, so that more is always better.
Several such texts are objectives: a member is then better than another only if it is in all of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

Goal = str | tuple[str, ...]
"""One number to maximise, or several objectives; the score is their sum then, which is highest somewhere on the front."""


TERM = re.compile(r"\s*(-?)\s*(?:((?:\d+\.?\d*|\.\d+)(?:[eE]-?\d+)?)\s*\*)?\s*([^\s*-][^*]*?)\s*")


class Term(NamedTuple):
    """A metric, and what it is multiplied by."""

    metric: str
    factor: float


def terms(text: str) -> list[Term]:
    """The metrics that a text adds up; raises ValueError if there is none, or one without a name."""
    found = [TERM.fullmatch(part) for part in text.split("+")]
    if None in found:
        raise ValueError(f"{text!r} should add up metrics by their names, as in return, -loss or 0.1*return+-cost")
    return [Term(one[3], (-1.0 if one[1] else 1.0) * float(one[2] or 1)) for one in found if one is not None]


def parse_objectives(value: Any) -> list[str]:
    """Objectives as a config gives them: a list of texts, each of which adds up metrics, all of them different."""
    texts = [
        str(one).strip() for one in (value.strip("[] ").split(",") if isinstance(value, str) else value) if str(one).strip()
    ]
    for text in texts:
        terms(text)
    if len(texts) == 1:
        raise ValueError(f"{texts[0]!r} is one objective: give two or more, or score={texts[0]}")
    if len(set(texts)) < len(texts):
        raise ValueError(f"{', '.join(texts)}: each objective once")
    return texts


def total(text: str, values: Mapping[str, float | None]) -> float | None:
    """What a text adds up to; None if one of its metrics is."""
    parts = [(term.factor, values[term.metric]) for term in terms(text)]
    if any(value is None for _, value in parts):
        return None
    return sum(factor * value for factor, value in parts if value is not None)
