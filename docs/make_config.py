"""Writes docs/config.md from the table of settings and the signatures of the plug-ins: `python docs/make_config.py`."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
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

Settings of an environment are in a section named after its library or itself, as in `gym.is_slippery=false` or
`pong.seat=right`; the wrappers around it are the `wrap` settings below.

Settings of a plug-in are in a section of its name: `pbt.quantile`, and for the learner `<learner>.<hyper-parameter>`. In
Python a learner's section can be given as `space`. A learner's settings may be ranges, which are then evolved. A bare pair
of numbers is a range only where a single number is expected, so `widths: [64, 64]` stays a list for a learner that takes one.

`evolute run` with the config of an unfinished run in `runs` resumes that run; `--new` starts another. Finished runs are left
alone. What may change in a run that has begun is in the column "may change":

- no: another value makes it another run. This also holds for the settings of the learner, strategy and environment.
- on resume: `evolute resume RUN -m key=value` changes it, and the journal notes the change.
- any time: it says where and how a run is carried out, not what it is, so `evolute run` ignores it when it looks for a run to
  resume. This also holds for the settings of the engine.

## The run
"""
COLUMNS = ("key", "default", "meaning")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


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
            rows = [(f"`{name}.{key}`", shown(option.default), _meaning(option)) for key, option in options.items()]
            parts.append(f"- **{name}**: {text}\n\n{table(COLUMNS, rows)}")
            continue
        keys = ", ".join(f"`{name}.{key}`{_default(option.default)}" for key, option in options.items())
        parts.append(f"- **{name}**: {text}{f' Settings: {keys}.' if keys else ''}")
    return "\n".join(parts) + "\n"


def _meaning(option: Option) -> str:
    """What a setting means, and which ranges it takes, by its annotation."""
    marks = getattr(option.type, "__metadata__", ())
    texts = [mark.documentation for mark in marks if isinstance(mark, DocInfo)]
    limits = {Evolves.NEVER: "fixed", Evolves.LISTED: "evolved as a list: `ordinal[…]` or `choice[…]`"}
    return "; ".join([*texts, *(limits[mark] for mark in marks if isinstance(mark, Evolves))])


def _default(value: object) -> str:
    return "" if value is None or isinstance(value, type) else f" ({plain_value(value)})"


def logs() -> str:
    return "".join(f"- **{name}**: {' '.join(resolve('logs', name).__doc__.split())}\n" for name in shipped("logs"))


def page() -> str:
    columns = ("key", "default", "may change", "meaning")
    rows = [(f"`{key}`", shown(field.default), field.change.value, field.meaning) for key, field in FIELDS.items()]
    titles = {"learner": "Learners", "strategy": "Strategies", "engine": "Engines", "opponents": "Opponents"}
    sections = [f"\n## {titles[kind]}\n\n{plugins(group)}" for kind, group in PLUGINS.items()]
    return f"{HEAD}\n{table(columns, rows)}{''.join(sections)}\n## Logs\n\n{logs()}"


if __name__ == "__main__":
    (Path(__file__).parent / "config.md").write_text(page())
