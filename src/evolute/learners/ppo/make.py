"""Puts PPO together, or a learner on its parts: the environment, and where members act."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evolute.core.order import Json, LinkName
from evolute.core.protocols import Learner
from evolute.envs.actors import Actors
from evolute.envs.host_game import HostGame
from evolute.envs.interface import (
    Advises,
    HostEnv,
    JaxEnv,
    Paced,
    Separable,
    WithClock,
    WithLegal,
    channels_of,
    seats_per_game_of,
    time_step_of,
)
from evolute.envs.make import make_env, make_game, resolve_name, spec_for_testing
from evolute.envs.spec import ActorSpec, EnvSpec, GameSpec
from evolute.learners.kit.arena import has_legal, lineup_numbers
from evolute.learners.kit.far_actors import FarActors
from evolute.learners.kit.native import support
from evolute.learners.kit.programs import Programs
from evolute.learners.ppo.algorithm import Algorithm
from evolute.learners.ppo.far_runner import FarRunner
from evolute.learners.ppo.game_runner import GameRunner
from evolute.learners.ppo.host_game_runner import HostGameRunner
from evolute.learners.ppo.host_runner import HostRunner
from evolute.learners.ppo.jax_runner import JaxRunner
from evolute.learners.ppo.learner import PPO
from evolute.learners.ppo.pace import TOGETHER, PaceSpec, pace_of, without_actors
from evolute.learners.ppo.paced_runner import PacedRunner
from evolute.learners.ppo.runner import Runner
from evolute.learners.ppo.settings import OnPolicySettings


def make(algorithm: Algorithm, env: EnvSpec, settings: OnPolicySettings) -> Learner[Any]:
    """The learner for an environment."""
    devices = settings.devices or max(2, os.cpu_count() or 2)
    programs = Programs(devices)  # before the environment, which may use JAX
    name = resolve_name(env.name)
    spec = env.with_name(name)
    choices = {"env": name, "devices": devices, "code": support.chosen(settings.code)}
    if spec.game is not None:
        return _in_game(algorithm, spec, spec.game, settings, choices, programs)
    train_env, unseen = make_env(spec), spec_for_testing(spec)
    if settings.test_episodes and unseen is None:
        asked = f"{algorithm.name}.test_episodes={settings.test_episodes}"
        raise ValueError(f"{asked}: {name} has no levels to test on, as procgen:… has")
    pace = pace_of(train_env, settings, spec.actors, algorithm.name)
    notes = _notes(spec, train_env, settings.envs)
    test_env = make_env(unseen) if settings.test_episodes and unseen is not None else None
    return PPO(
        _runner(programs, train_env, pace, spec.actors),
        train_env.observation_space,
        train_env.action_space,
        settings,
        choices,
        algorithm,
        masked=isinstance(train_env, HostEnv),
        legal=isinstance(train_env, WithLegal) and train_env.legal,
        channels=channels_of(train_env),
        seats=seats_per_game_of(train_env),
        test_runner=HostRunner(programs, test_env) if isinstance(test_env, HostEnv) else None,
        links=_links(algorithm, settings),
        pace=pace,
        time_step=_time_step(train_env, settings, f"{algorithm.name}.discount_per", name),
        repeatable=pace.pace != "free" and not (isinstance(train_env, Paced) and not train_env.repeatable),
        notes=notes,
    )


def _runner(programs: Programs, env: JaxEnv | HostEnv, pace: PaceSpec, actors: ActorSpec) -> Runner:
    if not isinstance(env, HostEnv):
        return JaxRunner(programs, env)
    near, evaluators = (
        Actors(env, count, actors.limit) if count and isinstance(env, Separable) else None
        for count in (0 if actors.far else actors.count, actors.evaluators)
    )
    if actors.crew is not None and actors.far:
        far = FarActors(actors.crew, env, actors.count, actors.limit)
        return FarRunner(programs, env, far, pace.max_lag, evaluators)
    if pace == TOGETHER and near is None and not isinstance(env, Paced):
        return HostRunner(programs, env, evaluators)
    return PacedRunner(programs, env, pace, near, evaluators)


def _time_step(env: JaxEnv | HostEnv, settings: OnPolicySettings, key: str, name: str) -> float | None:
    """The seconds that a step takes, if discounts are for seconds and not every step says it itself."""
    if settings.discount_per is None or (isinstance(env, WithClock) and env.has_clock):
        return None
    found = time_step_of(env)
    if found is None:
        raise ValueError(
            f"{key}={settings.discount_per:g}: nothing tells how long a step of {name} takes; games with a clock do, and "
            "environments with a number `dt`, the seconds of a step"
        )
    return found


def _notes(spec: EnvSpec, env: JaxEnv | HostEnv, envs: int) -> tuple[str, ...]:
    """A word on actors that have nothing to do, and what the environment has to say."""
    reason, actors = without_actors(env), spec.actors
    asked = {"count": 0 if actors.far else actors.count, "evaluators": actors.evaluators}
    idle = [
        f"actors.{key}={number} does nothing with {spec.name}: {reason}" for key, number in asked.items() if number and reason
    ]
    return (*idle, *(env.advice(envs // seats_per_game_of(env)) if isinstance(env, Advises) else ()))


def _in_game(
    algorithm: Algorithm,
    spec: EnvSpec,
    how: GameSpec,
    settings: OnPolicySettings,
    choices: Mapping[str, Json],
    programs: Programs,
) -> Learner[Any]:
    """The learner whose members take seats in a game."""
    if settings.pace in ("rollout", "free") or settings.ahead:
        raise ValueError(f"{algorithm.name}.pace={settings.pace}: in games with opponents all seats move together, pace=step")
    if settings.discount_per is not None:
        raise ValueError(f"{algorithm.name}.discount_per={settings.discount_per:g}: games with opponents tell no time")
    game = make_game(spec)
    lineup_numbers(game, [how.anchors], [])  # may refuse
    how = replace(how, rating=how.rating or ("panel" if game.zero_sum is False else "descent"))
    return PPO(
        HostGameRunner(programs, game, how) if isinstance(game, HostGame) else GameRunner(programs, game, how),
        game.observation_space,
        game.action_space,
        settings,
        {**choices, "rating": how.rating},
        algorithm,
        masked=isinstance(game, HostGame),
        legal=has_legal(game),
        channels=() if isinstance(game, HostGame) else tuple(game.channels),
        tables=how.tables,
        teams=game.teams,
        zero_sum=game.zero_sum,
        bots=("random", *game.bots),
        links=("opponents", *_links(algorithm, settings)),
    )


def _links(algorithm: Algorithm, settings: OnPolicySettings) -> tuple[LinkName, ...]:
    """PPO takes teachers. Networks with memory cannot be taught, since a teacher looks at each step of a rollout alone."""
    return () if settings.memory or algorithm.objective != "clip" else ("teacher",)
