"""PPO for whole populations, in one compiled program."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evolute.core.order import Json, LinkName
from evolute.core.protocols import Learner
from evolute.envs.spec import EnvSpec, GameSpec
from evolute.learners.ppo.settings import PPOSettings

if TYPE_CHECKING:
    from evolute.learners.kit.programs import Programs


def ppo(*, env: EnvSpec, settings: PPOSettings) -> Learner[Any]:
    """Proximal policy optimisation (Schulman et al. 2017), one compiled program for all members."""
    from evolute.envs.interface import HostEnv, channels_of
    from evolute.envs.make import make_env, resolve_name, spec_for_testing
    from evolute.learners.kit.native import support
    from evolute.learners.kit.programs import Programs
    from evolute.learners.ppo.host_runner import HostRunner
    from evolute.learners.ppo.jax_runner import JaxRunner
    from evolute.learners.ppo.learner import PPO

    devices = settings.devices or max(2, os.cpu_count() or 2)
    programs = Programs(devices)  # before the environment, which may use JAX
    name = resolve_name(env.name)
    spec = env.with_name(name)
    choices = {"env": name, "devices": devices, "code": support.chosen(settings.code)}
    if spec.game is not None:
        return _in_game(spec, spec.game, settings, choices, programs)
    train_env, unseen = make_env(spec), spec_for_testing(spec)
    if settings.test_episodes and unseen is None:
        raise ValueError(f"ppo.test_episodes={settings.test_episodes}: {name} has no levels to test on, as procgen:… has")
    on_host = isinstance(train_env, HostEnv)
    runner = HostRunner(programs, train_env) if isinstance(train_env, HostEnv) else JaxRunner(programs, train_env)
    test_env = make_env(unseen) if settings.test_episodes and unseen is not None else None
    test_runner = HostRunner(programs, test_env) if isinstance(test_env, HostEnv) else None
    spaces = (train_env.observation_space, train_env.action_space)
    channels = () if isinstance(train_env, HostEnv) else channels_of(train_env)
    links = _links(settings)
    return PPO(runner, *spaces, settings, choices, masked=on_host, channels=channels, test_runner=test_runner, links=links)


def _in_game(
    spec: EnvSpec, how: GameSpec, settings: PPOSettings, choices: Mapping[str, Json], programs: Programs
) -> Learner[Any]:
    """The learner whose members take seats in a game."""
    from evolute.envs.host_game import HostGame
    from evolute.envs.make import make_game
    from evolute.learners.kit.arena import has_legal, lineup_numbers
    from evolute.learners.ppo.game_runner import GameRunner
    from evolute.learners.ppo.host_game_runner import HostGameRunner
    from evolute.learners.ppo.learner import PPO

    game = make_game(spec)
    lineup_numbers(game, [how.anchors], [])  # may refuse
    how = replace(how, rating=how.rating or ("panel" if game.zero_sum is False else "descent"))
    return PPO(
        HostGameRunner(programs, game, how) if isinstance(game, HostGame) else GameRunner(programs, game, how),
        game.observation_space,
        game.action_space,
        settings,
        {**choices, "rating": how.rating},
        masked=isinstance(game, HostGame),
        legal=has_legal(game),
        channels=() if isinstance(game, HostGame) else tuple(game.channels),
        tables=how.tables,
        teams=game.teams,
        zero_sum=game.zero_sum,
        bots=("random", *game.bots),
        links=("opponents", *_links(settings)),
    )


def _links(settings: PPOSettings) -> tuple[LinkName, ...]:
    """Networks with memory cannot be taught, since a teacher looks at each step of a rollout alone."""
    return () if settings.memory else ("teacher",)
