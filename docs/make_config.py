"""Writes docs/config.md from the table of settings and the signatures of the plug-ins: `python docs/make_config.py`."""

from __future__ import annotations

import inspect
from pathlib import Path

from annotated_types import DocInfo

from evolute.config.declared import Option, declared
from evolute.config.resolve import plain_value
from evolute.config.settings import FIELDS, PLUGINS
from evolute.core.names import family_of, resolve, shipped
from evolute.core.param import Evolves

HEAD = """# Config

A config is YAML, or `-m key=value`, or arguments of `evolute.run`; the keys are the same. Files stack: sections merge,
later values win, and an empty value (`key:` or `key=`) removes a key and all below it. Numbers are YAML 1.2's (`1e-5` is a
number), and no value is ever evaluated as code. `evolute run … --dry-run` prints every value with its source.

What an environment is made with stands in a section named after its library or itself, as in `gym.is_slippery=false` or
`pong.seat=right`; the wrappers around it are the `wrap` settings below.

Settings of a plug-in stand in a section of its name: `pbt.quantile`, and for the learner `<learner>.<hyper-parameter>`. In
Python a learner's section can be given as `space`. A learner's settings may be ranges, which are then evolved. A bare pair
of numbers is a range only where a single number is expected, so `widths: [64, 64]` stays a list for a learner that says so.

A command whose config equals that of an unfinished run in `runs` continues it, `--new` starts another; equal
runs that have finished are left alone. The engine, the time
`limit` of a turn, `durable`, `keep` and folders are not part of that comparison: a run can be resumed with others.

## The run
"""


def table(rows: list[tuple[str, str, str]]) -> str:
    lines = [
        "| key | default | meaning |",
        "|---|---|---|",
        *(f"| `{key}` | {default} | {text} |" for key, default, text in rows),
    ]
    return "\n".join(lines) + "\n"


def shown(value: object) -> str:
    if value is inspect.Parameter.empty:
        return "must be set"
    return "" if value is None or value == [] else f"`{plain_value(value)}`"


def plugins(group: str) -> str:
    parts = []
    for name in shipped(group):
        family = family_of(group, name)
        maker = resolve(group, name if family is None else f"{name}:{family.example}")
        text = " ".join(((maker if family is None else family.find).__doc__ or "").split())
        options = {key: option for key, option in declared(maker).options.items() if family is None or _meaning(option)}
        if any(_meaning(option) for option in options.values()):
            rows = [(f"{name}.{key}", shown(option.default), _meaning(option)) for key, option in options.items()]
            parts.append(f"- **{name}**: {text}\n\n{table(rows)}")
            continue
        keys = ", ".join(f"`{name}.{key}`{_default(option.default)}" for key, option in options.items())
        parts.append(f"- **{name}**: {text}{f' Settings: {keys}.' if keys else ''}")
    return "\n".join(parts) + "\n"


def _meaning(option: Option) -> str:
    """What a setting's annotation says of it, and of ranges over it."""
    marks = getattr(option.type, "__metadata__", ())
    said = [mark.documentation for mark in marks if isinstance(mark, DocInfo)]
    limits = {Evolves.NEVER: "fixed", Evolves.LISTED: "evolved as a list: `ordinal[…]` or `choice[…]`"}
    return "; ".join([*said, *(limits[mark] for mark in marks if isinstance(mark, Evolves))])


def _default(value: object) -> str:
    return "" if value is None or isinstance(value, type) else f" ({plain_value(value)})"


def page() -> str:
    rows = [(key, shown(field.default), field.meaning) for key, field in FIELDS.items()]
    titles = {"learner": "Learners", "strategy": "Strategies", "engine": "Engines"}
    sections = [f"\n## {titles[kind]}\n\n{plugins(group)}" for kind, group in PLUGINS.items()]
    return HEAD + "\n" + table(rows) + "".join(sections)


if __name__ == "__main__":
    (Path(__file__).parent / "config.md").write_text(page())
