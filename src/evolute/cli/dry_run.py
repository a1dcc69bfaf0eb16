"""What `run --dry-run` prints: the resolved config with the source of each value, and what the run would take."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from evolute.config.resolve import Config, plain_value
from evolute.core.order import Order
from evolute.core.population import Population
from evolute.core.protocols import Sizable
from evolute.core.rng import stream
from evolute.report import formats
from evolute.report.data.details import retained_at_most
from evolute.runs.assemble import Parts, assembled
from evolute.runs.corners import largest_state
from evolute.runs.far_actors import actors_text

JOURNAL_BYTES = 600
"""Roughly what one turn takes in the journal."""


def print_dry_run(config: Config, existing: Path | None, notice: str | None, out: IO[str]) -> None:
    """Print what would run."""
    rows = [(key, plain_value(setting.value), setting.source) for key, setting in config.given.items()]
    rows += [(key, plain_value(value), "default") for key, value in config.defaults.items() if value is not None]
    width = max(len(key) for key, _, _ in rows)
    print("config:", file=out)
    for key, value, source in sorted(rows):
        evolved = "  evolved" if _evolved(key, config) else ""
        print(f"  {key:{width}}  {value}  ({source}){evolved}", file=out)
    print(file=out)
    parts = assembled(config, {})
    for label, text in _expected(parts, existing).items():
        print(f"{label + ':':10} {text}", file=out)
    for text in filter(None, [notice, *parts.advice]):
        print(f"{'note:':10} {text}", file=out)


def _evolved(key: str, config: Config) -> bool:
    section, _, name = key.partition(".")
    return section == config.learner.name and name in config.space


def _expected(parts: Parts, existing: Path | None) -> dict[str, str]:
    config = parts.config
    orders, shapes, state = _first(parts)
    turns = config.horizon
    size = len(orders)
    each = _steps(config, turns or 0)
    most = "at most " if config.stop.patience is not None else ""
    besides = ", besides what is noted below" if isinstance(parts.learner, Sizable) else ""
    journal = formats.size(JOURNAL_BYTES * size * (turns or 0))
    new = f"a new folder {Path(config.settings.runs) / config.name}-N"
    actors = actors_text(config)
    return {
        "members": f"{size}, in {formats.count(len(shapes), 'cohort')} of equal shape: {', '.join(map(str, shapes.values()))}",
        "turns": f"{most}{turns:,} of each member, {_by_turn(config, each)}" if turns else "as many as it takes",
        "steps": f"{most}{size * each:,} of the whole population, {each:,} of each member" if turns else "as many as it takes",
        "ends": f"after {' or '.join(config.stop.rules())}",
        **({} if actors is None else {"actors": actors}),
        "disk": f"{_disk(config, size, turns or 0, state)}{besides}; journal {journal}",
        "run": f"resumes {existing}" if existing else new,
    }


def _steps(config: Config, turns: int) -> int:
    """The steps of one member."""
    most, budget = turns * config.settings.interval, config.stop.budget(config.settings.population)
    return most if budget is None else min(most, budget)


def _by_turn(config: Config, each: int) -> str:
    interval = min(config.settings.interval, each)
    return f"{interval:,} steps each" + (f" and {each % interval:,} in the last" if each % interval else "")


def _disk(config: Config, size: int, turns: int, state: int | None) -> str:
    retained = retained_at_most(config.identity, size)
    most = config.settings.keep.most(size, turns, barrier=config.settings.mode == "sync", retained=retained)
    if state is None:
        return f"checkpoints of at most {most:,} states, whose size is known after the first turn"
    return f"checkpoints at most {formats.size(most * state)} ({most:,} states of up to {formats.size(state)})"


def _first(parts: Parts) -> tuple[list[Order], dict[str, int], int | None]:
    """The first orders, the number of members of each shape, and the size of the largest fresh state, if it is known yet."""
    config, learner, plan, strategy = parts.config, parts.learner, parts.plan, parts.strategy
    _, orders = strategy.step(
        strategy.init(), Population.of(plan.size), range(plan.size), stream(config.settings.seed, "strategy", 0)
    )
    shapes: dict[str, int] = {}
    for order in orders:
        shape = learner.shape({**config.learner.settings, **order.hparams})
        shapes[shape] = shapes.get(shape, 0) + 1
    return orders, shapes, largest_state(learner, config, orders[0].hparams)
