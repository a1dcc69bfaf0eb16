"""The environments that extras bring, each stepped for real, and what is said of those that are missing."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from rows import alone_as_among_others, play

from evolute.cli.main import main
from evolute.envs import qt
from evolute.envs.adapter import Library
from evolute.envs.adapters import minatar
from evolute.envs.adapters.pettingzoo import shared
from evolute.envs.adapters.procgen import GAMES, host
from evolute.envs.catalog import adapters
from evolute.envs.gymnasium_env import gymnasium_maker
from evolute.envs.make import make_env, spec_for_testing
from evolute.envs.spec import EnvSpec

STEPPED = {
    "gym:HalfCheetah-v5": ("mujoco", (17,), np.float64),
    "envpool:HalfCheetah-v5": ("envpool", (17,), np.float64),
    "envpool:CheetahRun-v1": ("envpool", (17,), np.float32),
    "dm_control:cheetah-run": ("dm_control", (17,), np.float32),
    "atari:Pong": ("ale_py", (84, 84, 4), np.uint8),
    "envpool:Pong-v5": ("envpool", (84, 84, 4), np.uint8),
    "procgen:bigfish": ("PyQt5", (64, 64, 3), np.uint8),
    "AntBulletEnv-v0": ("pybullet_envs_gymnasium", (28,), np.float32),
    "minatar:Breakout": ("minatar", (10, 10, 4), np.float32),
    "pettingzoo:sisl.pursuit_v5": ("pettingzoo", (7, 7, 3), np.float32),
}


def need(module):
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")


@pytest.mark.parametrize("name", STEPPED)
def test_it_is_stepped(name):
    module, shape, kind = STEPPED[name]
    need(module)
    env = make_env(EnvSpec(name))
    rows = 8 if name.startswith("pettingzoo") else 2
    obs, rewards, terminated, truncated = play(env, [list(range(rows))], length=5)
    assert (obs.shape, obs.dtype) == ((6, rows, *shape), kind)
    assert env.observation_space.shape == shape
    assert (obs[1:] != obs[:-1]).any()
    assert np.isfinite(rewards).all()
    assert rewards.shape == terminated.shape == truncated.shape == (5, rows)


@pytest.mark.parametrize("game", GAMES)
def test_each_game_of_procgen_is_stepped(game):
    need("PyQt5")
    obs = play(host(game, {"num_levels": 1}), [[1]], length=3)[0]
    assert obs.shape == (4, 1, 64, 64, 3)


def test_procgen_has_modes_levels_and_a_version_to_test_in():
    need("PyQt5")
    spec = EnvSpec("procgen:bigfish", {"num_levels": 1, "start_level": 7})
    first = [play(make_env(spec), [[seed]], length=1)[0][0, 0] for seed in (1, 2)]
    np.testing.assert_array_equal(*first)  # one level looks the same whatever the seed
    unseen = spec_for_testing(spec)
    assert unseen.options == {"num_levels": 0, "start_level": 0}
    others = [play(make_env(unseen), [[seed]], length=1)[0][0, 0] for seed in (1, 2)]
    assert (others[0] != others[1]).any()
    assert spec_for_testing(EnvSpec("cartpole")) is None
    with pytest.raises(ValueError, match=r"procgen\.mode=extreme: bigfish has easy, hard"):
        host("bigfish", {"mode": "extreme"})
    with pytest.raises(ValueError, match="did you mean 'bigfish'"):
        host("bigfsh", {})


def test_a_member_of_a_game_with_several_agents_is_the_same_alone_as_among_others():
    need("pettingzoo")
    env = shared("classic.rps_v2", {"max_cycles": 7})
    assert env.observation_space.shape == (4,)
    alone_as_among_others(env, length=20)
    with pytest.raises(ValueError, match="no whole games of 2 agents"):
        env.vector([[1, 2, 3]])


def test_all_agents_of_a_game_end_together_and_then_start_again():
    need("pettingzoo")
    _, rewards, terminated, truncated = play(shared("classic.rps_v2", {"max_cycles": 3}), [[1, 2]], length=8)
    ends = (terminated | truncated)[:, 0]
    assert ends.tolist() == (terminated | truncated)[:, 1].tolist()
    assert np.flatnonzero(ends)[:2].tolist() == [2, 6]
    assert (rewards.sum(axis=1) == 0).all()


def test_atari_is_preprocessed_in_the_standard_way():
    need("ale_py")
    env = gymnasium_maker(EnvSpec("atari:Pong", {"noop_max": 0}))()
    obs, _ = env.reset(seed=1)
    assert (obs[..., 0] == obs[..., 3]).all()
    seen = [env.step(2)[0] for _ in range(4)]
    assert (seen[-1][..., 0] == seen[0][..., 3]).all()
    ticks = env.unwrapped.ale.getEpisodeFrameNumber()
    env.step(0)
    assert env.unwrapped.ale.getEpisodeFrameNumber() - ticks == 4


def test_the_control_suite_ends_by_its_time_and_follows_from_its_seed():
    need("dm_control")
    make = gymnasium_maker(EnvSpec("dm_control:cartpole-balance", time_limit=5))
    one, other = make(), make()
    first, again = one.reset(seed=3)[0], other.reset(seed=3)[0]
    np.testing.assert_array_equal(first, again)
    steps = [one.step(np.zeros(1, np.float32)) for _ in range(5)]
    assert [step[3] for step in steps] == [False] * 4 + [True]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_brax_is_stepped():
    need("brax")
    import jax

    env = make_env(EnvSpec("brax:inverted_pendulum", {"backend": "spring"}))
    state, obs = jax.jit(env.reset)(jax.random.key(0))
    moved = jax.jit(env.step)(jax.random.key(1), state, np.zeros(1, np.float32))
    assert obs.shape == moved.obs.shape == (4,)


def test_every_library_has_an_extra_and_an_example():
    extras = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for source, adapter in adapters().items():
        assert adapter.library.example.startswith(f"{source}:")
        for library in (adapter.library, *adapter.parts.values()):
            assert library.extra is None or library.extra in extras


@pytest.mark.parametrize(
    ("name", "missing", "extra"),
    [
        ("atari:Pong", "ale_py", "atari"),
        ("minatar:Breakout", "minatar.gym", "minatar"),
        ("dm_control:cheetah-run", "dm_control.suite", "dm_control"),
        ("pettingzoo:sisl.pursuit_v5", "pettingzoo.sisl.pursuit_v5", "pettingzoo"),
        ("AntBulletEnv-v0", "pybullet_envs_gymnasium", "pybullet"),
    ],
)
def test_a_missing_extra_is_one_line_that_says_what_to_install(name, missing, extra, monkeypatch):
    real = importlib.import_module

    def without(module, *rest):
        if module == missing:
            raise ModuleNotFoundError(f"No module named {missing!r}", name=missing.partition(".")[0])
        return real(module, *rest)

    monkeypatch.setattr("importlib.import_module", without)
    for known_id in [known_id for known_id in gymnasium.registry if known_id.endswith("BulletEnv-v0")]:
        monkeypatch.delitem(gymnasium.registry, known_id)
    with pytest.raises(ValueError, match=rf"pip install 'evolute\[{extra}\]'") as caught:
        make_env(EnvSpec(name))
    assert "\n" not in str(caught.value)


def test_procgen_without_its_libraries_says_what_to_install(monkeypatch):
    def nothing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(qt.ctypes.util, "find_library", lambda name: None)
    monkeypatch.setattr(qt.importlib.metadata, "distribution", nothing)
    with pytest.raises(ValueError, match=r"pip install 'evolute\[procgen\]'"):
        qt.load_qt.__wrapped__()


def test_games_that_are_not_there_are_told():
    with pytest.raises(ValueError, match="did you mean 'Breakout'"):
        minatar.single("Brakout", {})


LOUD = """
import sys, warnings
print("Failed to import warp")
print("GLFWError: no display", file=sys.stderr)
warnings.warn("deprecated")
"""


def test_a_library_is_imported_in_silence(tmp_path, monkeypatch, capsys):
    (tmp_path / "loud_library.py").write_text(LOUD)
    monkeypatch.syspath_prepend(tmp_path)
    assert Library(("loud_library",), None, "loud_library:Ant", "").load("loud_library").__name__ == "loud_library"
    assert capsys.readouterr() == ("", "")


def test_a_misspelt_name_is_answered_with_one_line():
    need("brax")
    command = [sys.executable, "-m", "evolute", "run", "-m", "learner=ppo", "env=brax:antt"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == ""
    assert done.stderr == "error: ppo: brax has no environment 'antt'; did you mean 'ant'?\n"


@pytest.mark.skipif(importlib.util.find_spec("gfootball") is not None, reason="football is installed")
def test_football_says_in_one_sentence_how_it_is_built(capsys):
    with pytest.raises(ValueError, match="football needs gfootball, which is not installed; `evolute envs football` says how"):
        make_env(EnvSpec("football:academy_empty_goal_close"))
    with pytest.raises(SystemExit):
        main(["envs", "football"])
    assert "--no-build-isolation gfootball==2.10.2" in capsys.readouterr().err
