from __future__ import annotations

import subprocess
import sys

import gymnasium
import pytest

from evolute.envs import catalog
from evolute.envs.cartpole import cartpole
from evolute.envs.catalog import ids, installed, names
from evolute.envs.make import make_env, resolve_name
from evolute.envs.pong import pong
from evolute.envs.spec import EnvSpec


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
def test_a_name_settles_on_the_fastest(name, means):
    assert resolve_name(name) == means


def test_what_is_not_installed_is_passed_over(monkeypatch):
    monkeypatch.setattr("evolute.envs.make.installed", lambda source: source == "gym")
    assert resolve_name("Acrobot-v1") == "gym:Acrobot-v1"


@pytest.mark.parametrize(("name", "kind"), [("cartpole", cartpole), ("CartPole-v1", cartpole), ("pong", pong)])
def test_ours_are_found_and_take_options(name, kind):
    assert isinstance(make_env(EnvSpec(name)), kind)
    with pytest.raises(ValueError, match="unexpected keyword argument 'speed'; it takes"):
        make_env(EnvSpec(name, {"speed": 2}))
    assert isinstance(make_env(EnvSpec("pong", {"seat": "right"})), pong)


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
    monkeypatch.setattr(catalog, "installed", lambda source: source == "gym")
    monkeypatch.setattr("evolute.envs.make.installed", lambda source: source == "gym")
    with pytest.raises(ValueError, match=rf"{extra} has it: pip install 'evolute\[{extra}\]'"):
        make_env(EnvSpec(name))


def test_other_unknown_names_are_told_which_extras_there_are(monkeypatch):
    monkeypatch.setattr(catalog, "installed", lambda source: source == "gym")
    assert "`evolute envs` tells what more can be installed" in catalog.unknown("Zzz")


def test_all_names_by_source():
    found = names()
    assert found[""] == ("cartpole", "pong")
    assert set(found) - {""} == {source for source in catalog.SOURCES if installed(source)}
    assert "CartPole-v1" in found["gym"]


def test_ids_registered_later_are_known():
    gymnasium.register("probes/Later-v0", entry_point="nowhere:Nothing")
    assert "probes/Later-v0" in ids("gym")


def test_no_library_is_imported_before_it_is_needed():
    code = "import evolute, evolute.envs, evolute.envs.make, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"gymnax", "envpool", "brax", "mujoco", "mujoco_playground", "Box2D"} & set(loaded) == set()
