"""Builds what a config names: the learner, the plan that fits it, and the strategy for that plan."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from evolute.config.declared import built
from evolute.config.error import ConfigError
from evolute.config.idle import idle_settings
from evolute.config.resolve import Config, plain_value
from evolute.core.loop import Setup
from evolute.core.names import PluginSpec
from evolute.core.order import Json
from evolute.core.protocols import Advises, Footprint, Learner, LinkError, Plan, Seats, Sizable, Strategy
from evolute.core.rng import stream
from evolute.core.solo import adapt, is_train
from evolute.core.space import Space
from evolute.core.spare import Spare, free_disk, free_memory
from evolute.opponents.seated import Seated, Seating
from evolute.runs.code import fingerprints
from evolute.runs.corners import shapes_besides
from evolute.runs.far_actors import check_actors, crew_of
from evolute.runs.likeness import check_teaching, untaught
from evolute.strategies.breeding import Breeding
from evolute.strategies.controlled import Controlled, evolving_plan
from evolute.strategies.evolution import Evolution
from evolute.strategies.generations import Generations
from evolute.strategies.ipbt import Restarts
from evolute.strategies.mf_pbt import Frequencies
from evolute.strategies.random_search import RandomSearch
from evolute.strategies.rungs import Rungs
from evolute.strategies.schedule import Schedule

EXAMPLES = 8
"""How many draws from the space a learner is asked about before a run begins."""
ON_OTHER_MACHINES = ("mpi", "ray")
"""Engines whose workers may have memory of their own."""
INHERITING = (Evolution, Rungs, Frequencies, Restarts, Breeding)
"""Strategies whose heirs have the architecture of the state that they train on, and which try no other later."""


@dataclass(frozen=True)
class Parts:
    """What a config names, built, and what its user should know before it is used."""

    config: Config
    learner: Learner[Any]
    plan: Plan
    strategy: Strategy
    advice: Sequence[str]
    large: bool
    """Whether that is so much memory or disk that a person should be asked first."""
    make: Callable[[Plan], Strategy]
    """Builds the strategy for a plan with other bounds; raises ValueError if the learner could not train by them."""

    @property
    def setup(self) -> Setup:
        """The parts as the loop needs them."""
        settings = self.config.settings
        return Setup(
            self.plan,
            self.strategy,
            self.config.stop,
            seed=settings.seed,
            barrier=settings.mode == "sync",
            make=self.make,
        )


def assembled(config: Config, choices: Mapping[str, Json], *, to_train: bool = True) -> Parts:
    """The parts of a run; what one of them refuses is a ConfigError. `choices` are those of an earlier session.

    A learner that is not going `to_train` is not asked whether it could.
    """
    if to_train:
        check_actors(config)
    learner = _learner(config, choices)
    settings = config.settings
    first = tuple({name: config.space[name].clip(row[name]) for name in row} for row in settings.init.hparams)
    architecture = frozenset(learner.architecture) & config.space.keys()
    links = frozenset(learner.links)
    objectives = _objectives(config)
    plan = Plan(config.space, settings.population, settings.interval, config.horizon, first, architecture, links, objectives)
    strategy = _evolving(config, plan)
    if config.opponents is None and config.strategy.target == "pbt_marl" and not choices:
        raise ConfigError(
            "strategy = pbt_marl: compares members by their games, and they play none: say who plays whom in a game, as in "
            "env=pong opponents=history; strategy=pbt compares members by their scores"
        )
    _check_teachers(strategy, config)
    if to_train:
        _check_teaching(strategy, config, learner)
    advice = [*_advice(learner, config), *_strategy_advice(strategy, config, plan)] if to_train else []
    advice += _programs(strategy, config, learner) if to_train else []
    sizes = _footprint(learner, config, is_new=not choices) if to_train else []
    if settings.control and isinstance(strategy, (RandomSearch, Schedule)):
        raise ConfigError(f"control={settings.control}: {config.strategy.name} evolves nobody, and needs no control group")
    strategy = _framed(strategy, config, learner, plan, is_new=not choices)

    def make(plan: Plan) -> Strategy:
        learner.advice(settings.interval, _examples(config, plan.space))
        return _framed(_evolving(config, plan), config, learner, plan, is_new=False)

    advice += [one.text for one in sizes]
    return Parts(config, learner, plan, strategy, advice, any(one.large for one in sizes), make)


def _evolving(config: Config, plan: Plan) -> Strategy:
    """The strategy that the config names, for the members that evolve."""
    control = config.settings.control
    try:
        strategy: Strategy = config.strategy.maker(
            evolving_plan(plan, control) if control else plan, **config.strategy.settings
        )
    except LinkError as error:
        raise ConfigError(f"{config.strategy.name}: {error}; {untaught(config)}") from error
    except ValueError as error:
        raise ConfigError(f"{config.strategy.name}: {error}") from error
    return strategy


def _framed(strategy: Strategy, config: Config, learner: Learner[Any], plan: Plan, *, is_new: bool) -> Strategy:
    """The strategy with a control group and opponents, as far as the config asks for them."""
    if config.settings.control:
        strategy = Controlled(plan, strategy, config.settings.control)
    return strategy if config.opponents is None else _seated(config, config.opponents, strategy, learner, plan, is_new=is_new)


def _objectives(config: Config) -> tuple[str, ...]:
    """What is to be maximised at once; nothing else may say what members are compared by."""
    objectives, settings = tuple(config.settings.objectives), config.settings
    if not objectives:
        return ()
    named = f"objectives = {', '.join(objectives)}"
    if "score" in config.given and settings.score != "score":
        raise ConfigError(f"{named}: they take the place of score={settings.score}; leave one of them out")
    if settings.stop.score is not None:
        raise ConfigError(f"{named}: there is no one score to stop at; leave out stop.score={settings.stop.score:g}")
    if settings.stop.patience is not None:
        raise ConfigError(f"{named}: there is no one best score to wait for; leave out stop.patience={settings.stop.patience}")
    if config.opponents is not None:
        raise ConfigError(
            f"{named}: members that play each other are compared by their ratings; leave out objectives or opponents"
        )
    exploit = config.strategy.settings.get("exploit")
    if config.strategy.target == "pbt" and exploit in ("welch", "significant"):
        raise ConfigError(f"{named}: pbt.exploit={exploit} tests the means of one score; use truncation or tournament")
    return objectives


def described(config: Config) -> dict[str, Json]:
    """What a run's record keeps of a config: enough to recognise it, to show it and to build it again."""
    settings = config.settings
    return {
        "identity": config.identity,
        "code": fingerprints(config),
        "config": {key: [plain_value(setting.value), setting.source] for key, setting in config.given.items()},
        "population": settings.population,
        "learner": config.learner.name,
        "strategy": config.strategy.name,
        "mode": settings.mode,
        "objectives": list(settings.objectives),
        "space": {name: param.to_json() for name, param in config.space.items()},
        "keep": settings.keep,
        "horizon": config.horizon,
    }


def _advice(learner: Learner[Any], config: Config) -> Sequence[str]:
    """What a user should know before the run begins; the learner is asked about members such as it will have."""
    examples = _examples(config, config.space)
    limit = f"no limit was set, so the run stops after {config.stop.turns} turns; set stop.turns or steps for another"
    with _refusing(config):
        advice = learner.advice(config.settings.interval, examples)
    return [*([limit] if config.open_ended else []), *idle_settings(config), *advice]


@contextlib.contextmanager
def _refusing(config: Config) -> Iterator[None]:
    """What the learner refuses is an error of the config."""
    try:
        yield
    except ValueError as error:
        raise ConfigError(f"{config.learner.name}: {error}") from error


def _examples(config: Config, space: Space) -> list[dict[str, Any]]:
    """Hyper-parameters such as members will have."""
    rng = stream(config.settings.seed, "examples")
    return [{**config.learner.settings, **space.sample(rng)} for _ in range(EXAMPLES)]


def _footprint(learner: Learner[Any], config: Config, *, is_new: bool) -> Sequence[Footprint]:
    """What large states take. Of the memory of other machines nothing is known, nor how much a resumed run has on disk."""
    if not isinstance(learner, Sizable):
        return []
    settings, turns = config.settings, config.horizon
    memory = None if config.engine.name in ON_OTHER_MACHINES else free_memory()
    spare = Spare(memory, free_disk(Path(settings.runs)) if is_new else None)
    steps = None if turns is None else turns * settings.interval
    with _refusing(config):
        return [learner.footprint(settings.population, steps=steps, interval=settings.interval, spare=spare)]


def _check_teachers(strategy: Strategy, config: Config) -> None:
    """The teachers that a schedule names are states which the run begins with."""
    init = config.settings.init
    if init.teachers and init.from_ is None:
        raise ConfigError("init.teachers are states of another run: set init.from")
    if isinstance(strategy, Schedule) and strategy.teachers > len(init.teachers):
        raise ConfigError(f"schedule.rows name {strategy.teachers} teachers, and init.teachers has {len(init.teachers)}")


def _check_teaching(strategy: Strategy, config: Config, learner: Learner[Any]) -> None:
    """Members that a strategy lets teach one another must be able to, whatever is drawn."""
    restarts = isinstance(strategy, Restarts)
    if not isinstance(strategy, (Generations, Restarts)) or not strategy.teacher or "teacher" not in learner.links:
        return
    try:
        check_teaching(learner, config, alike=restarts)
    except ValueError as error:
        alone = f"with {config.strategy.name}.teacher=false members learn by themselves"
        raise ConfigError(f"{error}; {alone}") from error


def _strategy_advice(strategy: Strategy, config: Config, plan: Plan) -> Sequence[str]:
    """What the strategy has to say, and what it will never do."""
    said = strategy.advice() if isinstance(strategy, Advises) else ()
    advice = [f"{config.strategy.name}: {sentence}" for sentence in said]
    if not plan.architecture or not isinstance(strategy, INHERITING):
        return advice
    names = ", ".join(f"{config.learner.name}.{name}" for name in plan.space if name in plan.architecture)
    taught = "" if "teacher" in plan.links else " bg_pbt.teacher=false"
    return [
        *advice,
        f"{names}: heirs take the architecture over with the weights, so only what the first members drew is tried; "
        f"strategy=bg_pbt bg_pbt.generations=2{taught} tries others later",
    ]


def _programs(strategy: Strategy, config: Config, learner: Learner[Any]) -> Sequence[str]:
    """How many programs a generation may compile, if the learner compiles any: one for each shape, in lessons another."""
    if not isinstance(strategy, Generations) or not learner.together:
        return []
    shapes, names = shapes_besides(learner, config)
    kinds = strategy.most_architectures
    alone = kinds * shapes
    taught = min(alone, strategy.most_students) if strategy.teacher else 0
    if alone == 1:
        return [f"{config.strategy.name}: lessons compile a program of their own"] if taught else []
    by = f"up to {shapes} shapes by {' and '.join(names)}"
    tried = f"tries up to {kinds} architectures{f', each in {by},' if names else ''}" if kinds > 1 else f"has {by},"
    programs = f"{taught:,} programs for lessons and {alone:,} without a teacher" if taught else f"{alone:,} programs"
    when = "as members come to need them, in some seconds each unless they are cached"
    return [f"{config.strategy.name}: a generation {tried} and compiles up to {programs}, {when}"]


def _seated(
    config: Config, opponents: PluginSpec, strategy: Strategy, learner: Learner[Any], plan: Plan, *, is_new: bool
) -> Seated:
    """The strategy for members that meet in a game."""
    where = f"opponents = {opponents.name}"
    if "opponents" not in learner.links or not isinstance(learner, Seats):
        raise ConfigError(
            f"{where}: the learner {config.learner.name} trains members alone; ppo takes seats in games, and a training "
            "function does by a parameter `opponents`"
        )
    if config.settings.stop.patience is not None:
        raise ConfigError(
            f"{where}: ratings of past states change with every game, so there is no best score to wait for; leave out "
            f"stop.patience={config.settings.stop.patience}"
        )
    if plan.architecture:
        ranges = ", ".join(sorted(plan.architecture))
        raise ConfigError(f"{where}: {ranges} must be fixed, since members meet whose networks have one shape")
    names = [one.name for one in fields(Seating)]
    values = {**vars(config.settings.opponents_), "rating": _rating(config, learner, is_new=is_new)}
    try:
        choose = opponents.maker(**opponents.settings)
    except ValueError as error:
        raise ConfigError(f"{opponents.name}: {error}") from error
    return Seated(strategy, choose, learner.teams, Seating(**{name: values[name] for name in names}))


def _rating(config: Config, learner: Seats, *, is_new: bool) -> Json:
    """How members are rated. Runs of general-sum games that were begun otherwise go on as they began."""
    rule = getattr(learner, "choices", {}).get("rating", config.settings.opponents_.rating)
    if rule == "panel" and config.strategy.target == "pbt_marl":
        raise ConfigError(
            "strategy = pbt_marl: takes over weights by who would win, and members of this game are rated by their returns "
            "(opponents.rating=panel); use strategy=pbt"
        )
    if is_new and rule != "panel" and learner.zero_sum is False:
        raise ConfigError(
            f"opponents.rating = {rule}: in this game one may gain without another losing, so winning says little: use "
            "opponents.rating=panel, which rates by the mean return against the newest states in the pool"
        )
    return rule


def _learner(config: Config, choices: Mapping[str, Json]) -> Learner[Any]:
    """The learner, built from those of its settings that its maker asks for."""
    maker = config.learner.maker
    if is_train(maker) or not callable(maker):
        return adapt(maker)
    env = config.env and replace(config.env, name=choices.get("env", config.env.name))
    if env is not None and (crew := crew_of(config)) is not None:
        env = replace(env, actors=replace(env.actors, crew=crew))
    if env is not None and env.game is not None and choices:
        rating = choices.get("rating", config.settings.opponents_.rating)
        env = replace(env, game=replace(env.game, rating=rating))
    try:
        return adapt(built(maker, {**config.learner.settings, **choices}, env))
    except (ValueError, ImportError) as error:
        raise ConfigError(f"{config.learner.name}: {error}") from error
