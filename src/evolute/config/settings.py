"""The settings of a run that belong to no plug-in, each declared once: type, default, meaning, and whether it may change.

To add a setting, add a field here; config files, `-m`, `--dry-run`, docs/config.md and the comparison of runs know it then.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le
from pydantic import BeforeValidator

from evolute.core.amounts import count, duration
from evolute.core.durability import Keep
from evolute.core.names import closest, shipped
from evolute.core.objective import Goal, parse_objectives


def parse_keep(value: Any) -> Keep:
    """Which checkpoints to keep: `last 2, best, lineage-of-best, every 10`."""
    if isinstance(value, Keep):
        return value
    rules = value if isinstance(value, list) else str(value).split(",")
    chosen: dict[str, Any] = {"last": 1, "best": 0}
    for rule in (str(rule).strip() for rule in rules):
        match = re.fullmatch(r"(last|best|every)(?:\s+(\d+))?|lineage-of-best", rule)
        if match is None or (match[1] == "every" and match[2] is None):
            raise ValueError(f"{rule!r} is none of: last, last N, best, best N, lineage-of-best, every N")
        if match[1] in ("last", "every") and int(match[2] or 1) < 1:
            raise ValueError(f"{rule!r} would keep nothing: the number must be at least 1")
        chosen |= {match[1]: int(match[2] or 1)} if match[1] else {"lineage": True}
    return Keep(**chosen)


def check_name(value: Any) -> Any:
    """A word that a folder's name can begin with."""
    if isinstance(value, str) and (not value or value.startswith(".") or "/" in value or "\0" in value):
        raise ValueError("must be a folder's name: not empty, without a slash, and without a leading dot")
    return value


def parse_names(value: Any) -> Any:
    """A list of names, also as `random,search`."""
    return [name.strip() for name in value.split(",")] if isinstance(value, str) else value


def parse_logs(value: Any) -> list[str]:
    """Names of log sinks: a list, or `tensorboard,csv`. They are imported when the run starts."""
    names = [str(name).strip() for name in (value.split(",") if isinstance(value, str) else value)]
    for name in names:
        if ":" not in name and name not in shipped("logs"):
            raise ValueError(f"no log {name!r}{closest(name, shipped('logs'))}; your own is package.module:name")
    return list(dict.fromkeys(names))


Count = Annotated[int, BeforeValidator(count), Gt(0)]
Number = Annotated[int, Gt(0)]
Seconds = Annotated[float, BeforeValidator(duration), Gt(0)]
PLUGINS = {"learner": "learners", "strategy": "strategies", "engine": "engines", "opponents": "opponents"}
"""The keys that name a plug-in, and the package in which it is looked for. Without opponents, members train alone."""


class Change(Enum):
    """When a setting may change in a run that has begun. All but those of ANY_TIME are part of the run's identity."""

    NEVER = "no"
    ON_RESUME = "on resume"
    ANY_TIME = "any time"


@dataclass(frozen=True)
class Key:
    """What a setting means, and when it may change."""

    meaning: str
    change: Change = Change.NEVER


def _fixed(meaning: str) -> Key:
    return Key(meaning)


def _resumable(meaning: str) -> Key:
    return Key(meaning, Change.ON_RESUME)


def _anytime(meaning: str) -> Key:
    return Key(meaning, Change.ANY_TIME)


@dataclass(frozen=True)
class WrapSettings:
    """Wrappers around the environment."""

    time_limit: Annotated[Count | None, _fixed("end episodes after this many steps (a truncation)")] = None
    action_repeat: Annotated[Number, _fixed("repeat each action this many times and sum the rewards")] = 1
    frame_stack: Annotated[Number, _fixed("stack the last N observations")] = 1
    obs_scale: Annotated[float, _fixed("multiply observations by this")] = 1.0
    reward_scale: Annotated[float, _fixed("multiply rewards by this, also in scores (ppo.reward_scale: for learning only)")] = (
        1.0
    )


@dataclass(frozen=True)
class ActorSettings:
    """Processes that step environments on the host, apart from the learner."""

    count: Annotated[
        int, Ge(0), _anytime("processes that step the copies of an environment on the host; 0: the learner steps them itself")
    ] = 0
    where: Annotated[
        Literal["auto", "processes", "ray", "ranks"],
        _anytime("processes beside each worker (auto), or, with pace=free, Ray actors or MPI ranks on any machine"),
    ] = "auto"
    address: Annotated[
        str | None, _anytime("with actors.where=ray: a Ray cluster; by default that of engine=ray, or a runtime started here")
    ] = None
    limit: Annotated[Seconds, _anytime("time limit of one step there; an actor that takes longer is replaced")] = 60.0
    evaluators: Annotated[
        int, Ge(0), _anytime("processes that step them in evaluations; 0: those that step them in training")
    ] = 0


@dataclass(frozen=True)
class StopSettings:
    """When a run is over: at the first of these limits."""

    turns: Annotated[Count | None, _resumable("stop after this many turns of each member")] = None
    steps: Annotated[Count | None, _resumable("stop after this many steps of each member; `steps` is short for it")] = None
    time: Annotated[Seconds | None, _resumable("stop after this much training time: seconds, or 10m, 2h, 1d")] = None
    score: Annotated[float | None, _resumable("stop when a member reaches this score")] = None
    total: Annotated[Count | None, _resumable("stop after this many steps of all members together")] = None
    patience: Annotated[Number | None, _resumable("stop after this many turns of each member without a new best score")] = None


@dataclass(frozen=True)
class InitSettings:
    """What the first members start with."""

    hparams: Annotated[list[dict[str, Any]], _fixed("hyper-parameters of the first members")] = field(default_factory=list)
    from_: Annotated[str | None, _fixed("folder of a run whose best state all members start from")] = None
    teachers: Annotated[
        list[tuple[int, int]], _fixed("with init.from: its states, [member, turn] each, that the rows of `schedule` may name")
    ] = field(default_factory=list)
    turn: Annotated[
        Annotated[int, Ge(0)] | None, _fixed("with init.from: continue its whole population as it was after this turn (a fork)")
    ] = None


@dataclass(frozen=True)
class EvaluationSettings:
    """The evaluation in fresh episodes that ends a run."""

    members: Annotated[
        int,
        Ge(0),
        _anytime("how many of the best members play fresh episodes when the run ends, and are chosen among"),
    ] = 3
    time: Annotated[
        Seconds | None,
        _anytime("time limit of these episodes; by default 2 minutes, or 5 % of the training time if longer"),
    ] = None


@dataclass(frozen=True)
class OpponentSettings:
    """How members of a game meet; `opponents` itself says how they are chosen."""

    tables: Annotated[Number, _fixed("groups of games in a member's turn, each with opponents of its own")] = 4
    live: Annotated[float, Ge(0), Le(1), _fixed("share of the tables at which a member plays against itself as it learns")] = (
        0.5
    )
    matches: Annotated[int, Ge(0), _fixed("games against each opponent after a turn, by which members are rated")] = 32
    anchors: Annotated[
        list[str],
        BeforeValidator(parse_names),
        _fixed("bots that every member plays after each turn, separated by commas; the first one's rating is 0"),
    ] = field(default_factory=lambda: ["random"])
    guests: Annotated[
        list[str],
        BeforeValidator(parse_names),
        _resumable(
            "opponents from elsewhere, separated by commas: RUN (its best), RUN:MEMBER, RUN:MEMBER@TURN, an exported policy, "
            "or a folder whose new policies join at every decision; more may come with a resume"
        ),
    ] = field(default_factory=list)
    rating: Annotated[
        Literal["descent", "elo", "panel"],
        _fixed(
            "descent: Bradley-Terry ratings of all states, near those they descend from; elo: Elo's update; panel: mean return "
            "against the 8 newest states in the pool, the default in general-sum games"
        ),
    ] = "descent"
    every: Annotated[Number, _fixed("turns between two admissions to the pool of past states")] = 2
    capacity: Annotated[Number, _fixed("number of past states in the pool")] = 32
    admit: Annotated[
        Literal["every", "better"],
        _fixed("every: the best state and a random one; better: states that beat the newest of their line in the pool"),
    ] = "every"
    forget: Annotated[
        Literal["thin", "oldest", "easiest"], _fixed("which state leaves a full pool; thin: one close in time to others")
    ] = "thin"


@dataclass(frozen=True)
class RunSettings:
    """All settings of a run but those of its plug-ins. Groups are nested: `stop.turns` is `settings.stop.turns`."""

    learner: Annotated[
        Any, _fixed("what trains the members: a built-in learner, package.module:name, or in Python a function")
    ] = None
    strategy: Annotated[Any, _fixed("decides who inherits from whom and which hyper-parameters come next")] = "pbt"
    control: Annotated[
        int,
        Ge(0),
        _fixed("how many members, the last, are left alone as random search, to see whether the strategy helps"),
    ] = 0
    engine: Annotated[Any, _anytime("where the members train")] = "inline"
    workers: Annotated[Number | None, _anytime("number of workers, for engines with several")] = None
    env: Annotated[str | None, _fixed("the environment, for learners that need one")] = None
    opponents: Annotated[
        Any, _fixed("who plays whom in an environment with several seats: history, pfsp, latest, …; unset: members train alone")
    ] = None
    opponents_: OpponentSettings = field(default_factory=OpponentSettings)
    wrap: WrapSettings = field(default_factory=WrapSettings)
    actors: ActorSettings = field(default_factory=ActorSettings)
    population: Annotated[Number, _fixed("number of members")] = 8
    interval: Annotated[Count, _resumable("steps per member and turn, also as 500k or 25M; 10k by default with an env")] = 1
    stop: StopSettings = field(default_factory=StopSettings)
    mode: Annotated[
        Literal["sync", "async"],
        _resumable("sync: all members finish a turn before the next one starts; async: no member waits for a slower one"),
    ] = "sync"
    seed: Annotated[int, Ge(0), _fixed("random seed of the whole run")] = 0
    score: Annotated[str, _fixed("the metric to maximise, or a sum of some: return, -loss, return+-cost")] = "score"
    objectives: Annotated[
        list[str],
        BeforeValidator(parse_objectives),
        _fixed("instead of one score, several at once, as in [return, -energy]: members are compared by Pareto fronts"),
    ] = field(default_factory=list)
    init: InitSettings = field(default_factory=InitSettings)
    evaluation: EvaluationSettings = field(default_factory=EvaluationSettings)
    limit: Annotated[Seconds | None, _anytime("time limit of one member's turn; a turn that takes longer fails")] = None
    durable: Annotated[
        Literal["auto"] | Number,
        _anytime("save states every N turns; auto: as often as 1 % of the training time allows"),
    ] = "auto"
    keep: Annotated[
        Keep, BeforeValidator(parse_keep), _anytime("checkpoints to keep: last N, best N, lineage-of-best, every N")
    ] = field(default_factory=Keep)
    log: Annotated[
        list[str],
        BeforeValidator(parse_logs),
        _anytime("logs for other tools, separated by commas, as in tensorboard,csv; your own is package.module:name"),
    ] = field(default_factory=list)
    runs: Annotated[str, _anytime("the folder for new run folders")] = "runs"
    name: Annotated[
        Annotated[str, BeforeValidator(check_name)] | None,
        _anytime("first part of a new run folder's name; by default the preset's or learner's"),
    ] = None

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> RunSettings:
        """The settings with these values by their dotted keys."""
        made: RunSettings = _built(cls, values)
        return made

    @property
    def goal(self) -> Goal:
        """What members are compared by."""
        return tuple(self.objectives) or self.score

    def flat(self) -> dict[str, Any]:
        """Every value by its dotted key."""
        return dict(_flat(self))


@dataclass(frozen=True)
class Field:
    """One declared setting: its type, its default, and its `Key`."""

    type: Any
    default: Any
    meaning: str
    change: Change


def _declared(kind: type, prefix: str = "") -> Iterator[tuple[str, Field]]:
    hints = typing.get_type_hints(kind, include_extras=True)
    for one in fields(kind):
        key, hint = f"{prefix}{one.name.rstrip('_')}", hints[one.name]
        if not _is_leaf(hint):
            yield from _declared(hint, f"{key}.")
            continue
        (about,) = (mark for mark in hint.__metadata__ if isinstance(mark, Key))
        default = one.default_factory() if callable(one.default_factory) else one.default
        yield key, Field(hint, default, about.meaning, about.change)


def _built(kind: Any, values: Mapping[str, Any], prefix: str = "") -> Any:
    hints = typing.get_type_hints(kind, include_extras=True)
    keys = {one.name: f"{prefix}{one.name.rstrip('_')}" for one in fields(kind)}
    return kind(
        **{name: values[key] if _is_leaf(hints[name]) else _built(hints[name], values, f"{key}.") for name, key in keys.items()}
    )


def _is_leaf(hint: Any) -> bool:
    """Whether a field is a setting, and not a group of them."""
    return typing.get_origin(hint) is Annotated


def _flat(settings: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    hints = typing.get_type_hints(type(settings), include_extras=True)
    for name, value in vars(settings).items():
        key = f"{prefix}{name.rstrip('_')}"
        yield from [(key, value)] if _is_leaf(hints[name]) else _flat(value, f"{key}.")


FIELDS: dict[str, Field] = dict(_declared(RunSettings))
"""Every setting by its dotted key."""
