"""Every preset starts and runs two turns in its own environment, shrunk by settings that anyone can give."""

from __future__ import annotations

import math

import pytest

import evolute
from evolute.config.layers import preset, presets, stack
from evolute.config.resolve import resolved
from evolute.runs.assemble import assembled
from evolute.strategies.generations import SPARE, ladder_of

PPO = {"envs": 2, "unroll": 16, "minibatches": 1, "epochs": 1, "widths": [8]}
SB3 = {"envs": 1, "n_steps": 16, "batch_size": 16, "n_epochs": 1, "net_arch": [8]}
REPLAY = {"batch": 8, "widths": [8], "warmup": 16, "capacity": 1000}
SHRUNK = {
    "ppo": {"interval": 32, "ppo": PPO},
    "impala": {"interval": 32, "impala": {"envs": 2, "unroll": 8, "widths": [8]}},
    "sac": {"interval": 32, "sac": REPLAY},
    "dqn": {"interval": 32, "dqn": REPLAY},
    "sb3": {"interval": 16, "sb3": SB3},
}
GAMES = {"opponents.tables": 2, "opponents.matches": 2}
IMAGES = {"procgen": {"network": "cnn", "test_episodes": 1}, "atari": {"unroll": 8}}


def shrunk(name):
    config = resolved(stack([preset(name)]))
    settings = {**SHRUNK.get(config.learner.name, {}), **(GAMES if config.opponents is not None else {})}
    if "width" in config.space:
        settings["ppo"] = {**{name: value for name, value in PPO.items() if name != "widths"}, "width": 8, "depth": 1}
    images, key = next((more for start, more in IMAGES.items() if name.startswith(start)), {}), config.learner.name
    return {**settings, **({key: {**settings[key], **images}, "wrap": {"time_limit": 10}} if images else {})}


ROBOTS = tuple(f"bgpbt-{name}" for name in ("ant", "halfcheetah", "hopper", "humanoid", "pusher", "walker2d"))
"""Presets like that of the reacher, whose environments take minutes to compile."""
SLOW = ("procgen-bigfish", "atari", "ant-bullet-wta", "minatar", "bgpbt-", "halfcheetah-sac", "pendulum-sac")
SLOW_PRESETS = pytest.mark.slow(reason="slow to compile; one preset with images and one with a replay buffer are run always")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=SLOW_PRESETS) if name.startswith(SLOW) else name for name in presets() if name not in ROBOTS],
)
@pytest.mark.filterwarnings("ignore:Accessing `:DeprecationWarning")  # Brax asks MuJoCo so
def test_a_preset_runs_two_turns(name, tmp_path):
    if name.startswith("football"):
        pytest.importorskip("gfootball", reason="built from source: `evolute envs football` says how")
    run = evolute.run(
        preset=name, population=2, stop={"turns": 2, "steps": None}, runs=str(tmp_path), display="none", **shrunk(name)
    )
    for slot in range(2):
        turns = list(run.population[slot].history())
        assert [turn.report.error for turn in turns] == [None, None]
        assert all(value is None or math.isfinite(value) for turn in turns for value in turn.report.metrics.values())
    if name.startswith("procgen"):
        assert "test_return" in run.member(0).turn.report.metrics


BRAX = ("ant", "halfcheetah", "humanoid", "hopper", "reacher", "pusher", "walker2d")


@pytest.mark.parametrize("name", BRAX)
def test_the_presets_of_bg_pbts_paper_search_its_space(name):
    config = resolved(preset(f"bgpbt-{name}"))
    assert config.settings.env == f"brax:{name}"
    assert (config.settings.population, config.settings.interval, config.settings.stop.steps) == (8, 10**6, 150 * 10**6)
    searched = set(config.space)
    assert searched - {"width", "depth", "spectral"} == {
        "lr", "discount", "entropy", "gae_lambda", "clip", "reward_scale", "epochs", "unroll", "minibatches"
    }  # fmt: skip
    assert searched >= {"width", "depth", "spectral"}
    assert config.strategy.settings["generations"] == (1 if name in ("humanoid", "hopper") else 2)


def test_the_small_preset_of_bg_pbt_has_room_for_both_generations_however_late_they_begin():
    strategy = assembled(resolved(preset("bgpbt-cartpole")), {}).strategy
    cost = ladder_of(strategy.when.taught).length
    second = strategy.start.ladder.length + 1 + strategy.when.longest + cost + 1 + strategy.when.longest
    assert second + cost + SPARE <= strategy.plan.turns
