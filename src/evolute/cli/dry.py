"""What `--dry-run` prints: the resolved config with the source of each value, and what the run would take."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from evolute.config.resolve import Config, plain_value
from evolute.core.order import Order
from evolute.core.population import Population
from evolute.core.rng import stream
from evolute.core.tree import pack
from evolute.launch import learner_of, plan_of, strategy_of
from evolute.report import words

JOURNAL_BYTES = 600
"""Roughly what one turn takes in the journal."""


def dry(config: Config, existing: Path | None, out: IO[str]) -> None:
    """Print what would run."""
    rows = [(key, plain_value(setting.value), setting.source) for key, setting in config.given.items()]
    rows += [(key, plain_value(value), "default") for key, value in config.defaults.items() if value is not None]
    width = max(len(key) for key, _, _ in rows)
    print("config:", file=out)
    for key, value, source in sorted(rows):
        evolved = "  evolved" if _evolved(key, config) else ""
        print(f"  {key:{width}}  {value}  ({source}){evolved}", file=out)
    print(file=out)
    for label, text in _expected(config, existing).items():
        print(f"{label + ':':10} {text}", file=out)


def _evolved(key: str, config: Config) -> bool:
    section, _, name = key.partition(".")
    return section == config.learner.name and name in config.space


def _expected(config: Config, existing: Path | None) -> dict[str, str]:
    orders, shapes, state = _first(config)
    turns = config.stop.horizon(config.values["interval"])
    size = len(orders)
    known = turns is not None
    kept = config.keep.most(size, turns or 0, barrier=config.values["mode"] == "sync") * state
    journal = JOURNAL_BYTES * size * (turns or 0)
    steps = size * (config.values["stop.steps"] or (turns or 0) * config.values["interval"])
    return {
        "members": f"{size}, in {words.count(len(shapes), 'cohort')} of equal shape: {', '.join(map(str, shapes.values()))}",
        "turns": f"{turns:,} of each member, {config.values['interval']:,} steps each" if known else "until the run is stopped",
        "steps": f"{steps:,} of the whole population" if known else "unknown",
        "disk": f"checkpoints at most {words.size(kept)} ({words.size(state)} a fresh state), journal {words.size(journal)}",
        "run": f"goes on with {existing}" if existing else f"a new folder {Path(config.values['runs']) / config.name}-N",
    }


def _first(config: Config) -> tuple[list[Order], dict[str, int], int]:
    """The first orders, the number of members of each shape, and the size of one fresh state."""
    learner = learner_of(config)
    plan, strategy = plan_of(config, learner), strategy_of(config, learner)
    _, orders = strategy.step(
        strategy.init(), Population.of(plan.size), range(plan.size), stream(config.values["seed"], "strategy", 0)
    )
    shapes: dict[str, int] = {}
    for order in orders:
        shape = learner.shape({**config.learner.settings, **order.hparams})
        shapes[shape] = shapes.get(shape, 0) + 1
    state = learner.dump(learner.found(orders[:1]), 0)
    return orders, shapes, sum(map(len, pack(state)))
