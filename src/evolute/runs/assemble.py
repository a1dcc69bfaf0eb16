"""Builds what a config names: the learner, the plan that fits it, and the strategy for that plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from evolute.config.declared import built
from evolute.config.error import ConfigError
from evolute.config.idle import idle_settings
from evolute.config.resolve import Config, plain_value
from evolute.core.free_memory import free_memory
from evolute.core.loop import Setup
from evolute.core.names import PluginSpec
from evolute.core.order import Json
from evolute.core.protocols import Advises, Learner, Plan, Seats, Sizable, Strategy
from evolute.core.rng import stream
from evolute.core.solo import adapt, is_train
from evolute.core.space import Space
from evolute.opponents.seated import Seated, Seating
from evolute.runs.code import fingerprints
from evolute.runs.far_actors import check_actors, crew_of
from evolute.strategies.controlled import Controlled, evolving_plan
from evolute.strategies.evolution import Evolution
from evolute.strategies.random_search import RandomSearch
from evolute.strategies.rungs import Rungs
from evolute.strategies.schedule import Schedule

EXAMPLES = 8
"""How many draws from the space a learner is asked about before a run begins."""
ON_OTHER_MACHINES = ("mpi", "ray")
"""Engines whose workers may have memory of their own."""


@dataclass(frozen=True)
class Parts:
    """What a config names, built, and what its user should know before it is used."""

    config: Config
    learner: Learner[Any]
    plan: Plan
    strategy: Strategy
    advice: Sequence[str]
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
    advice = [*_advice(learner, config), *_strategy_advice(strategy, config, plan)] if to_train else []
    if settings.control and isinstance(strategy, (RandomSearch, Schedule)):
        raise ConfigError(f"control={settings.control}: {config.strategy.name} evolves nobody, and needs no control group")
    strategy = _framed(strategy, config, learner, plan, is_new=not choices)

    def make(plan: Plan) -> Strategy:
        learner.advice(settings.interval, _examples(config, plan.space))
        return _framed(_evolving(config, plan), config, learner, plan, is_new=False)

    return Parts(config, learner, plan, strategy, advice, make)


def _evolving(config: Config, plan: Plan) -> Strategy:
    """The strategy that the config names, for the members that evolve."""
    control = config.settings.control
    try:
        strategy: Strategy = config.strategy.maker(
            evolving_plan(plan, control) if control else plan, **config.strategy.settings
        )
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
    try:
        advice = [*learner.advice(config.settings.interval, examples), *_footprint(learner, config)]
    except ValueError as error:
        raise ConfigError(f"{config.learner.name}: {error}") from error
    return [*([limit] if config.open_ended else []), *idle_settings(config), *advice]


def _examples(config: Config, space: Space) -> list[dict[str, Any]]:
    """Hyper-parameters such as members will have."""
    rng = stream(config.settings.seed, "examples")
    return [{**config.learner.settings, **space.sample(rng)} for _ in range(EXAMPLES)]


def _footprint(learner: Learner[Any], config: Config) -> Sequence[str]:
    """What large states take; of the memory of other machines nothing is known."""
    if not isinstance(learner, Sizable):
        return []
    settings, turns = config.settings, config.horizon
    free = None if config.engine.name in ON_OTHER_MACHINES else free_memory()
    return [learner.footprint(settings.population, None if turns is None else turns * settings.interval, free)]


def _check_teachers(strategy: Strategy, config: Config) -> None:
    """The teachers that a schedule names are states which the run begins with."""
    init = config.settings.init
    if init.teachers and init.from_ is None:
        raise ConfigError("init.teachers are states of another run: set init.from")
    if isinstance(strategy, Schedule) and strategy.teachers > len(init.teachers):
        raise ConfigError(f"schedule.rows name {strategy.teachers} teachers, and init.teachers has {len(init.teachers)}")


def _strategy_advice(strategy: Strategy, config: Config, plan: Plan) -> Sequence[str]:
    """What the strategy has to say, or what it will never do."""
    if isinstance(strategy, Advises):
        return [f"{config.strategy.name}: {sentence}" for sentence in strategy.advice()]
    if not plan.architecture or not isinstance(strategy, (Evolution, Rungs)):
        return []
    names = ", ".join(f"{config.learner.name}.{name}" for name in plan.space if name in plan.architecture)
    taught = "" if "teacher" in plan.links else " bg_pbt.teacher=false"
    return [
        f"{names}: heirs take the architecture over with the weights, so only what the first members drew is tried; "
        f"strategy=bg_pbt bg_pbt.generations=2{taught} tries others later"
    ]


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
