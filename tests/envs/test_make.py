from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest

import evolute
from evolute.envs.adapter import Adapter, Library
from evolute.envs.catalog import adapters, sources, unknown
from evolute.envs.make import make_env, resolve_name
from evolute.envs.ours.cartpole import CartPole
from evolute.envs.ours.pong import Pong
from evolute.envs.spec import EnvSpec


def only_gymnasium(monkeypatch):
    """Let no library but Gymnasium look installed."""
    monkeypatch.setattr(Library, "installed", property(lambda library: library.extra is None))


@pytest.mark.parametrize(
    ("name", "means"),
    [
        ("cartpole", "cartpole"),
        ("pong", "pong"),
        ("CartPole-v1", "cartpole"),
        ("Acrobot-v1", "gymnax:Acrobot-v1"),
        ("LunarLander-v3", "envpool:LunarLander-v3"),
        ("Pong-v5", "envpool:Pong-v5"),
        ("Taxi-v4", "gym:Taxi-v4"),
        ("ALE/Pong-v5", "gym:ALE/Pong-v5"),
        ("AntBulletEnv-v0", "gym:AntBulletEnv-v0"),
        ("gym:CartPole-v1", "gym:CartPole-v1"),
        ("package.module:make", "package.module:make"),
    ],
)
def test_a_name_means_the_fastest(name, means):
    assert resolve_name(name) == means


def test_what_is_not_installed_is_passed_over(monkeypatch):
    only_gymnasium(monkeypatch)
    assert resolve_name("Acrobot-v1") == "gym:Acrobot-v1"


@pytest.mark.parametrize(("name", "kind"), [("cartpole", CartPole), ("CartPole-v1", CartPole), ("pong", Pong)])
def test_ours_are_found_and_take_options(name, kind):
    assert isinstance(make_env(EnvSpec(name)), kind)
    with pytest.raises(ValueError, match="unexpected keyword argument 'speed'; it takes"):
        make_env(EnvSpec(name, {"speed": 2}))
    assert isinstance(make_env(EnvSpec("pong", {"seat": "right"})), Pong)


def test_a_time_limit_can_be_longer_than_the_usual_one():
    assert make_env(EnvSpec("CartPole-v1", time_limit=1000))._time_limit == 1000
    assert make_env(EnvSpec("gym:CartPole-v1", time_limit=1000)).time_limit == 1000


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("CartPol-v1", r"no environment 'CartPol-v1'; the closest are gym:CartPole-v1.*; your own is package.module:make"),
        ("Brekout-MinAtar", "the closest are gymnax:Breakout-MinAtar"),
        ("gymnaxx:Acrobot-v1", "no module 'gymnaxx' to import; did you mean gymnax:Acrobot-v1"),
        ("gym:CartPol-v1", "did you mean 'CartPole-v1'"),
        ("gymnax:Acrobat-v1", "did you mean 'Acrobot-v1'"),
    ],
)
def test_an_unknown_name_is_told_with_the_closest(name, says):
    with pytest.raises(ValueError, match=says):
        make_env(EnvSpec(name))


@pytest.mark.parametrize(("name", "extra"), [("Freeway-MinAtar", "gymnax"), ("ant", "brax"), ("WalkerRun", "playground")])
def test_an_unknown_name_is_told_with_the_extra_that_has_it(name, extra, monkeypatch):
    only_gymnasium(monkeypatch)
    with pytest.raises(ValueError, match=rf"{extra} has it: pip install 'evolute\[{extra}\]'"):
        make_env(EnvSpec(name))


def test_other_unknown_names_are_told_which_extras_there_are(monkeypatch):
    only_gymnasium(monkeypatch)
    assert "`evolute envs` lists what else can be installed" in unknown("Zzz")


def test_the_adapters_are_what_the_folder_holds():
    folder = Path(evolute.__file__).parent / "envs" / "adapters"
    assert sources() == (*sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__"), "connect")
    for adapter in adapters().values():
        assert isinstance(adapter, Adapter)
        assert adapter.jax or adapter.host or adapter.game


def test_ids_registered_later_are_known():
    gymnasium.register("probes/Later-v0", entry_point="nowhere:Nothing")
    assert "probes/Later-v0" in adapters()["gym"].names


LIBRARIES = {
    "gymnax",
    "brax",
    "mujoco",
    "mujoco_playground",
    "Box2D",
    "ale_py",
    "minatar",
    "dm_control",
    "pettingzoo",
    "pgx",
    "jaxmarl",
}


def loaded(code: str) -> set[str]:
    """The modules that a fresh process has loaded after this code."""
    program = f"import sys; {code}; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split())


def test_no_library_is_imported_before_it_is_needed():
    modules = loaded("import evolute.envs.make; from evolute.envs.catalog import adapters, ours; adapters(), ours()")
    assert (LIBRARIES | {"envpool"}) & modules == set()
    assert "jax" not in loaded("from evolute.envs.catalog import adapters; adapters()")


def test_names_to_suggest_are_found_without_importing_other_libraries():
    modules = loaded("from evolute.envs.catalog import unknown; assert 'gym:CartPole-v1' in unknown('CartPoll-v1')")
    assert LIBRARIES & modules == set()
