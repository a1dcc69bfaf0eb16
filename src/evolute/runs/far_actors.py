"""Where a config wants its actors, and why they cannot be there."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

from evolute.config.error import ConfigError
from evolute.config.idle import WITH_ACTORS
from evolute.config.layers import source
from evolute.config.resolve import Config
from evolute.core.protocols import Crew
from evolute.engines.crews import RankCrew, RayCrew


def crew_of(config: Config) -> Crew | None:
    """What actors on other machines come from; None if there are none."""
    actors = config.settings.actors
    if actors.count and actors.where == "ray":
        return RayCrew(actors.address)
    return RankCrew() if actors.count and actors.where == "ranks" else None


def actors_text(config: Config) -> str | None:
    """Where actors on other machines are, in a few words; None if there are none."""
    if crew_of(config) is None:
        return None
    actors = config.settings.actors
    if actors.where == "ranks":
        return f"{_several(actors.count)} for each rank that trains: the last ranks of the job"
    if config.engine.name == "ray":
        return f"{_several(actors.count)} of Ray for each worker, on the cluster that trains"
    where = "on a runtime that is started here" if actors.address is None else f"on the cluster at {actors.address}"
    return f"{_several(actors.count)} of Ray, {where}"


def check_actors(config: Config) -> None:
    """Refuse actors on other machines that could not be started, before anything is."""
    where = config.settings.actors.where
    if crew_of(config) is None:
        return
    for why in [*_without_actors(config), *(_without_ray(config) if where == "ray" else _without_ranks(config))]:
        raise ConfigError(f"actors.where = {where} ({source('actors.where', config.given)}): {why}")


def _without_actors(config: Config) -> Iterator[str]:
    learner = config.learner.name
    if learner not in WITH_ACTORS:
        yield f"the learner {learner} steps its environments itself; {', '.join(WITH_ACTORS)} use actors"
    elif config.opponents is not None:
        yield "in games with opponents all seats move together, so actors have nothing to do"


def _without_ray(config: Config) -> Iterator[str]:
    if importlib.util.find_spec("ray") is None:
        yield "Ray is not installed: pip install 'evolute[ray]'"
    if config.engine.name == "processes" and config.settings.actors.address is None:
        yield (
            "with engine=processes each worker would start a Ray runtime of its own: say by actors.address where a cluster is "
            "(auto finds it), or use engine=inline or engine=ray"
        )


def _without_ranks(config: Config) -> Iterator[str]:
    if config.engine.name != "mpi":
        yield "the ranks are those of engine=mpi, and the engine is " + config.engine.name
    if config.settings.limit is not None:
        yield f"limit = {config.settings.limit:g} trains in a process that is no rank: leave one of them out"


def _several(count: int) -> str:
    return "1 actor" if count == 1 else f"{count} actors"
