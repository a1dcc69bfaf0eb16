"""An environment as a config describes it; this imports no library of environments."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evolute.core.protocols import Crew


@dataclass(frozen=True)
class GameSpec:
    """How an environment with several seats is played: in groups of games (tables) with one line-up each.

    After a turn a member plays `matches` games against each line-up it trained with, and against each of the `anchors`.
    `rating` says how members are rated; None leaves it to what kind of game it is.
    """

    tables: int = 4
    matches: int = 32
    anchors: Sequence[str] = ("random",)
    rating: str | None = None


@dataclass(frozen=True)
class ActorSpec:
    """How many processes step the copies of an environment (0: none but the learner's), and how long a step may take.

    They are on the learner's machine, unless they are those of a `crew`. `evaluators`, who are always there, step in
    evaluations; 0: whoever steps in training.
    """

    count: int = 0
    limit: float = 60.0
    crew: Crew | None = None
    evaluators: int = 0

    @property
    def far(self) -> bool:
        """Whether actors on other machines act and step."""
        return self.count > 0 and self.crew is not None


@dataclass(frozen=True)
class EnvSpec:
    """An environment by its name, what it is made with, and the wrappers around it, from the inside out.

    `time_limit` counts the env's own steps; each action is taken in `action_repeat` of them.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    time_limit: int | None = None
    frame_stack: int = 1
    action_repeat: int = 1
    obs_scale: float = 1.0
    reward_scale: float = 1.0
    game: GameSpec | None = None
    """Set if members take seats in it and meet each other; else it is an environment for one."""
    actors: ActorSpec = ActorSpec()

    def __post_init__(self) -> None:
        for setting in ("time_limit", "frame_stack", "action_repeat"):
            value = getattr(self, setting)
            if value is not None and value < 1:
                raise ValueError(f"{setting}={value}: must be 1 or more")
        for setting in ("obs_scale", "reward_scale"):
            value = getattr(self, setting)
            if value == 0 or not math.isfinite(value):
                raise ValueError(f"{setting}={value}: must be a finite number other than 0, or nothing is left to learn from")

    def with_name(self, name: str) -> EnvSpec:
        """This environment by its full name. `options`, which were by section, become those of its own section."""
        options = self.options.get(name.partition(":")[0]) or self.options.get(name.rpartition(":")[2]) or {}
        return replace(self, name=name, options=options)
