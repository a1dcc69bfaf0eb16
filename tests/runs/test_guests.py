"""Guests: players from elsewhere join a run, stay what they were, and are met again by a run that is resumed."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest
from tests.opponents.duels import canonical, run

import evolute
from evolute.cli.games import ratings as print_ratings
from evolute.config.error import ConfigError
from evolute.core.order import Order
from evolute.envs.spec import EnvSpec, GameSpec
from evolute.learners.ppo import ppo
from evolute.learners.ppo.settings import PPOSettings
from evolute.report.data.standings import ratings
from evolute.runs.result import Run
from evolute.store.error import StoreError
from evolute.store.guests import Guests
from evolute.store.journal import Journal

TINY = {"envs": 4, "unroll": 8, "minibatches": 2, "widths": (4,), "epochs": 1, "lr": "log[1e-3, 1e-1]"}
RPS = {
    "env": "matrix:rps",
    "opponents": "history",
    "opponents.tables": 2,
    "opponents.live": 0.0,
    "opponents.matches": 2,
    "population": 2,
    "interval": 32,
    "display": "none",
}


def rps(folder, *, turns=3, **changes):
    return evolute.run("ppo", **{**RPS, "ppo": TINY, "folder": folder, "stop": {"turns": turns}, **changes})


def untrained(env):
    """A policy that has just begun."""
    made = ppo(env=EnvSpec(env, game=GameSpec(tables=2)), settings=PPOSettings(**{**TINY, "lr": 1e-3}))
    return made.policy(made.dump(made.init([Order(0, 0, {}, seed=7)])[0]))


def met(folder):
    """Everybody who was met in a run's matches, and is no state of it."""
    played = [match for turn in evolute.load(folder).population.latest for match in turn.report.matches]
    older = [decision.reports for decision in Journal.read(folder).decisions()]
    played += [match for reports in older for report in reports for match in report.matches]
    return {player for match in played for player in match.against if isinstance(player, str)}


def names(folder):
    return [name for name, _, _ in Journal.read(folder).meta.guests]


@pytest.fixture(scope="module")
def strong(tmp_path_factory):
    """A run whose members have become much stronger than those of a short one."""
    folder = tmp_path_factory.mktemp("strong") / "strong-1"
    run(folder, turns=30, interval=6)
    return folder


@pytest.fixture(scope="module")
def players(tmp_path_factory):
    """A run of rock-paper-scissors, and the policy of its best."""
    folder = tmp_path_factory.mktemp("players")
    best = rps(folder / "rps-1").best
    best.policy.save(folder / "champion.npz")
    return folder


def test_states_of_another_run_are_opponents_and_are_rated(tmp_path, strong):
    run(tmp_path / "run", **{"opponents.guests": [str(strong), f"{strong}:2@5", f"{strong}:1"]})
    best = evolute.load(strong).best
    assert names(tmp_path / "run") == [f"strong-1:{best.member}@29", "strong-1:2@5", "strong-1:1@29"]
    assert met(tmp_path / "run") == set(names(tmp_path / "run"))
    known = {row["name"]: row["rating"] for row in ratings(evolute.load(tmp_path / "run"))["guests"]}
    ours = [turn.score for turn in evolute.load(tmp_path / "run").population.latest]
    assert known[f"strong-1:{best.member}@29"] > max(ours)
    assert known[f"strong-1:{best.member}@29"] > known["strong-1:2@5"]
    assert list(known.values()) == sorted(known.values(), reverse=True)


def test_a_guest_that_nobody_had_met_at_the_last_decision_is_listed_without_a_rating(tmp_path, strong, capsys):
    run(tmp_path / "run", turns=1, **{"opponents.guests": [f"{strong}:0", f"{strong}:1"]})
    assert ratings(Run.open(tmp_path / "run"))["guests"] == [
        {"name": name, "rating": None, "deviation": None} for name in names(tmp_path / "run")
    ]
    print_ratings([tmp_path / "run"], turns=False, as_json=False)
    out = capsys.readouterr().out
    assert re.findall(r"^guest strong-1:\d@29 +not rated yet", out, re.MULTILINE) == out.splitlines()[5:7]
    assert "beats strong" not in out


def test_guests_of_a_game_with_a_panel_are_listed_without_a_rating(tmp_path, capsys):
    untrained("matrix:prisoners_dilemma").save(tmp_path / "stranger.npz")
    rps(tmp_path / "run", env="matrix:prisoners_dilemma", **{"opponents.guests": str(tmp_path / "stranger.npz")})
    print_ratings([tmp_path / "run"], turns=False, as_json=False)
    out = capsys.readouterr().out
    assert re.search(r"^guest stranger.npz +not rated +–$", out, re.MULTILINE)
    assert "beats stranger" not in out


def test_a_guest_stays_what_it_was(tmp_path, strong):
    """Its run may go on or be deleted: what was imported counts, and is checked when the run is resumed."""
    shutil.copytree(strong, tmp_path / "other-1")
    settings = {"opponents.guests": str(tmp_path / "other-1")}
    run(tmp_path / "run", **settings)
    shutil.rmtree(tmp_path / "other-1")
    evolute.resume(tmp_path / "run", display="none", **{"stop.turns": 10})
    (name,) = names(tmp_path / "run")
    kept = Guests(tmp_path / "run").path(name)
    kept.write_bytes(kept.read_bytes()[:-9])
    with pytest.raises(StoreError, match=r"is damaged.*this run cannot go on without it"):
        evolute.resume(tmp_path / "run", display="none", **{"stop.turns": 12})
    kept.unlink()
    with pytest.raises(StoreError, match=r"the guest other-1:\d@29 is not in .*imported"):
        evolute.resume(tmp_path / "run", display="none", **{"stop.turns": 12})


def test_a_resume_may_bring_more_guests(tmp_path, strong):
    whole = run(tmp_path / "run", **{"opponents.guests": f"{strong}:0"})
    assert whole.population[0].turns == 8
    evolute.resume(tmp_path / "run", display="none", **{"stop.turns": 16, "opponents.guests": f"{strong}:0,{strong}:1"})
    assert names(tmp_path / "run") == ["strong-1:0@29", "strong-1:1@29"]
    assert met(tmp_path / "run") == set(names(tmp_path / "run"))


def test_a_run_that_was_stopped_anywhere_meets_the_same_guests(tmp_path, strong, stopped_at):
    settings = {"opponents.guests": [str(strong), f"{strong}:2@5"], "turns": 5}
    run(tmp_path / "whole", **settings)
    for count in (1, 3, 4, 5, 6, 20, 31):
        stopped_at(count, lambda count=count: run(tmp_path / f"at{count}", **settings))
        run(tmp_path / f"at{count}", **settings)
        assert canonical(tmp_path / f"at{count}") == canonical(tmp_path / "whole"), count


def test_workers_and_children_meet_the_same_guests(tmp_path, strong):
    """Guests travel to processes, and to the child in which turns with a time limit train."""
    settings = {"opponents.guests": str(strong), "turns": 5}
    run(tmp_path / "inline", **settings)
    for name, where in {"processes": {"engine": "processes", "workers": 2}, "limit": {"limit": 60}}.items():
        run(tmp_path / name, **settings, **where)
        assert canonical(tmp_path / name) == canonical(tmp_path / "inline"), name


@pytest.mark.slow
@pytest.mark.parametrize("where", [{"limit": 120}, {"engine": "processes", "workers": 2}, {"engine": "ray", "workers": 2}])
def test_exported_policies_travel_to_workers(tmp_path, players, where):
    """PPO's guests on every kind of worker that starts here."""
    settings = {"opponents.guests": str(players / "champion.npz")}
    rps(tmp_path / "inline", **settings)
    rps(tmp_path / "other", **settings, **where)
    assert canonical(tmp_path / "inline") == canonical(tmp_path / "other")


def test_exported_policies_are_opponents(tmp_path, players):
    """The file plays as the state does from which it was exported."""
    best = evolute.load(players / "rps-1").best
    state, file = f"rps-1:{best.member}@2", "champion.npz"
    rps(tmp_path / "run", **{"opponents.guests": f"{players}/{state},{players}/{file}"}, turns=4)
    assert met(tmp_path / "run") == {"random", state, file}
    trees = [Guests(tmp_path / "run").read(name) for name in (state, file)]
    for part in ("weights",):
        np.testing.assert_array_equal(*(tree["learnt"]["optimiser"][part] for tree in trees))
    assert trees[0]["about"] == trees[1]["about"]


def test_new_files_of_a_watched_folder_join_when_they_are_whole(tmp_path, players, capsys):
    watched = tmp_path / "arrivals"
    watched.mkdir()
    whole = (players / "champion.npz").read_bytes()
    (watched / "half.npz").write_bytes(whole[: len(whole) // 2])
    (watched / "notes.txt").write_text("not a policy")
    settings = {"opponents.guests": str(watched)}
    rps(tmp_path / "run", **settings)
    assert names(tmp_path / "run") == []
    (watched / "half.npz").write_bytes(whole)
    untrained("matrix:prisoners_dilemma").save(watched / "other.npz")
    evolute.resume(tmp_path / "run", **{"stop.turns": 12})
    assert names(tmp_path / "run") == ["half.npz"]
    assert met(tmp_path / "run") == {"random", "half.npz"}
    told = capsys.readouterr()
    assert f"{watched}/half.npz joins the opponents" in told.out + told.err
    assert "other.npz: it plays another game" in told.out + told.err
    assert sorted(path.name for path in watched.iterdir()) == ["half.npz", "notes.txt", "other.npz"]


def test_two_guests_of_one_name_are_told_apart(tmp_path, players):
    other = tmp_path / "champion.npz"
    untrained("matrix:rps").save(other)
    rps(tmp_path / "run", **{"opponents.guests": [str(players / "champion.npz"), str(other)]})
    assert names(tmp_path / "run") == ["champion.npz", "champion-2.npz"]


def test_a_fork_takes_its_guests_along(tmp_path, strong):
    run(tmp_path / "run", **{"opponents.guests": str(strong)})
    run(tmp_path / "fork", turns=10, **{"init.from": str(tmp_path / "run"), "init.turn": 4})
    assert names(tmp_path / "fork") == names(tmp_path / "run")


@pytest.mark.parametrize(
    ("guest", "changes", "message"),
    [
        ("{}/nobody", {}, "is neither a run"),
        ("{}/rps-1:7", {}, "has no such state"),
        ("{}/rps-1:0@99", {}, "has no such state"),
        (
            "{}/rps-1",
            {"env": "matrix:prisoners_dilemma"},
            "it plays another game: such players see 6 numbers and choose one of 3",
        ),
        ("{}/champion.npz", {"env": "matrix:prisoners_dilemma"}, "and members here see 4 numbers and choose one of 2"),
        (
            "{}/champion.npz",
            {"ppo": {**TINY, "widths": (8,)}},
            r"its network is another one: ppo.widths is \[4\] there and \[8\] here",
        ),
        ("{}/broken.npz", {}, "it is not a whole file of a policy"),
        ("{}/rps-1", {"env": "cartpole", "opponents": None}, "say who plays whom, as in opponents=history"),
    ],
)
def test_a_guest_that_cannot_play_is_refused_before_anything_is_written(tmp_path, players, guest, changes, message):
    (players / "broken.npz").write_bytes(b"PK nothing")
    given = {**RPS, "ppo": TINY, "opponents.guests": guest.format(players), **changes}
    given = {key: value for key, value in given.items() if value is not None}
    with pytest.raises(ConfigError, match=message):
        evolute.run("ppo", **given, folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()
