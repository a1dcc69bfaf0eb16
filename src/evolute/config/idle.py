"""Settings that do nothing, or leave nothing to evolve, in sentences for whoever starts the run."""

from __future__ import annotations

from collections.abc import Iterator

from evolute.config.layers import source
from evolute.config.resolve import Config

WITHOUT_INHERITANCE = ("random_search", "schedule")
"""Strategies whose members never take over another: for them one turn is as good as many."""


WITH_ACTORS = ("ppo", "a2c", "impala", "pg")
"""Learners whose environments can be stepped by other processes."""


def idle_settings(config: Config) -> list[str]:
    """What was set in vain."""
    return [*_workers(config), *_actors(config), *_one_turn(config), *_no_range(config)]


def _workers(config: Config) -> Iterator[str]:
    workers = config.settings.workers
    if workers is None or workers == 1 or "workers" in config.engine.settings:
        return
    where = f"workers = {workers} ({source('workers', config.given)}) does nothing"
    if config.engine.target == "mpi":
        yield f"{where}: under engine=mpi each rank is a worker, and mpiexec -n says how many"
    else:
        yield f"{where}: the engine {config.engine.name} has no workers; set engine=processes"


def _actors(config: Config) -> Iterator[str]:
    actors, given = config.settings.actors, config.given
    for key in ("actors.where", "actors.address"):
        if key in given and not actors.count:
            yield f"{key} = {given[key].value} ({source(key, given)}) does nothing without actors: set actors.count"
    if "actors.address" in given and actors.count and actors.where != "ray":
        address = f"actors.address = {given['actors.address'].value} ({source('actors.address', given)})"
        yield f"{address} does nothing without actors.where=ray"
    for key, count in (("actors.count", actors.count), ("actors.evaluators", actors.evaluators)):
        if count and config.learner.name not in WITH_ACTORS:
            where, named = f"{key} = {count} ({source(key, given)}) does nothing", ", ".join(WITH_ACTORS)
            yield f"{where}: the learner {config.learner.name} steps its environments itself; {named} use actors"


def _one_turn(config: Config) -> Iterator[str]:
    interval, steps = config.settings.interval, config.stop.budget(config.settings.population)
    if steps is None or steps > interval or config.settings.population == 1 or config.strategy.name in WITHOUT_INHERITANCE:
        return
    given = f"interval = {interval:,} ({source('interval', config.given)}) with {steps:,} steps"
    yield f"{given} is one turn, after which nobody inherits: set interval={max(1, steps // 10)} for ten turns"


def _no_range(config: Config) -> Iterator[str]:
    if config.space or config.settings.population == 1 or config.strategy.name == "schedule":
        return
    name = config.learner.name
    options = [key.partition(".")[2] for key in config.defaults if key.startswith(f"{name}.")]
    example = next((option for option in ("lr", "learning_rate") if option in options), "NAME")
    yield f"nothing is evolved, since no setting of the learner is a range: give one, as in '{name}.{example}=log[1e-4, 1e-2]'"
