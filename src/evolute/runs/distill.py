"""One student of a run's best member: a fresh agent, of another architecture, that learns from the member's policy.

It is a run of its own along a schedule whose every turn has the member as its teacher, which counts less from turn to turn.
Hyper-parameters that evolved are fixed to the teacher's, unless they are told otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from evolute.config.error import ConfigError
from evolute.config.layers import Layer, Setting
from evolute.config.resolve import Config
from evolute.core.protocols import InRollouts, Learner, PlaysEitherWay, silently
from evolute.core.rng import derive
from evolute.runs.assemble import assembled
from evolute.runs.likeness import untaught
from evolute.runs.result import Agent, Run
from evolute.runs.session import Launch, launch
from evolute.runs.states import choices_of, remembered, states

STEPS, TURNS = 200_000, 10
"""How long a student is taught, and in how many turns, unless it is said."""
WEIGHTS = (1.0, 0.05)
"""How much the teacher counts at the beginning and in the end."""


@dataclass(frozen=True)
class Evaluated:
    """Returns in fresh episodes on common seeds; the last training score if the learner plays none."""

    mean: float
    error: float
    episodes: int


@dataclass(frozen=True)
class Distilled:
    """The student's run, and how good teacher and student are."""

    run: Run
    teacher: Evaluated | None
    student: Evaluated | None


def distill(agent: Agent, how: Launch, layers: Sequence[Layer] = ()) -> Distilled:
    """Train a student of an agent, under the config of the agent's run with these layers on top."""
    source, choices = remembered(agent.folder), choices_of(agent.folder, layers)
    _check(agent.folder, source, layers)
    begin = _layer(agent, source, layers)
    asked = remembered(agent.folder, [begin, *layers])
    student = assembled(asked, choices, to_train=False).learner
    if "teacher" not in student.links:
        raise ConfigError(f"a student of {agent.folder}: {untaught(asked)}")
    config = remembered(agent.folder, [begin, *layers, _lessons(asked, student)])
    learner = _player(agent.folder, layers)
    run = launch(config, replace(how, choices=choices))
    seed = derive(config.settings.seed, "distill")
    return Distilled(run, _evaluated(agent, learner, seed), _evaluated(run.best, run.learner, seed))


def _player(folder: Path, layers: Sequence[Layer]) -> Learner[Any]:
    """The learner as whose member the teacher plays, where its student does."""
    where = [{key: value for key, value in layer.items() if key.partition(".")[0] in ("env", "wrap")} for layer in layers]
    return assembled(remembered(folder, where), choices_of(folder, where), to_train=False).learner


def _check(folder: Path, source: Config, layers: Sequence[Layer]) -> None:
    if source.opponents is not None:
        raise ConfigError(f"the members of {folder} play each other (opponents=…): a student would have nobody to play against")
    for key, setting in (item for layer in layers for item in layer.items()):
        if key in ("strategy", "population"):
            raise ConfigError(f"{key}={setting.value}: a student is trained alone, along its lessons; leave {key} out")


def _layer(agent: Agent, source: Config, layers: Sequence[Layer]) -> Layer:
    """What makes a run of one student out of the config of its teacher's run."""
    name = source.learner.name
    given = {key for layer in layers for key in layer}
    size = [f"{name}.widths"], [f"{name}.width", f"{name}.depth"]
    replaced = [key for one, other in (size, size[::-1]) if given.intersection(one) for key in other]
    chosen: dict[str, Any] = {
        **{f"{name}.{setting}": value for setting, value in agent.hparams.items()},
        **dict.fromkeys(replaced),
        "strategy": "random_search",
        "population": 1,
        "stop": None,
        "interval": None,
        "init": None,
        "init.from": str(agent.folder),
        "init.teachers": [list(agent.turn.ref)],
        "mode": "sync",
        "name": f"{agent.folder.resolve().name}-student",
    }
    return {key: Setting(value, "distill") for key, value in chosen.items()}


def _lessons(config: Config, learner: Learner[Any]) -> Layer:
    """The turns of a student: as many steps as were asked for, with a teacher that counts less and less."""
    if config.space:
        raise ConfigError(f"a student is trained alone, so {', '.join(config.space)} cannot be a range: give it one value")
    turns, interval = _length(config, learner.rollout_steps({}) if isinstance(learner, InRollouts) else 1)
    weights = np.linspace(*WEIGHTS, turns + 1).tolist()
    rows = [{"hparams": {}, "teacher": 0, "teacher_weight": weights[turn : turn + 2]} for turn in range(turns)]
    chosen: dict[str, Any] = {
        "strategy": "schedule",
        "schedule.rows": rows,
        "interval": interval,
        "stop.steps": None,
        "stop.turns": 1 + turns,  # the first one is the teacher
    }
    return {key: Setting(value, "distill") for key, value in chosen.items()}


def _length(config: Config, rollout: int) -> tuple[int, int]:
    """How many turns a student has, and the steps of each: whole rollouts, so few steps are few turns."""
    stop = config.settings.stop
    turns = stop.turns if "stop.turns" in config.given else None
    interval = config.settings.interval if "interval" in config.given else None
    both = None if turns is None or interval is None else turns * interval
    steps = stop.steps or both or STEPS
    each = rollout * math.ceil((interval or steps / (turns or TURNS)) / rollout)
    enough = math.ceil(steps / each)
    return enough if turns is None else min(turns, enough), each


def _evaluated(agent: Agent, learner: Learner[Any] | None, seed: int) -> Evaluated | None:
    plays: object = learner
    if isinstance(plays, PlaysEitherWay):
        tree, episodes = states(agent.folder, [agent.turn.ref])[agent.turn.ref], sum(plays.rounds)
        play = partial(plays.play, tree, agent.hparams, seed=seed, episodes=episodes, progress=silently)
        returns = np.array(play(greedy=agent.greedy))
        return Evaluated(float(returns.mean()), float(returns.std(ddof=1) / len(returns) ** 0.5), len(returns))
    return None if agent.score is None else Evaluated(agent.score, 0.0, 0)
