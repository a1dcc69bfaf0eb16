"""Members of general-sum games are rated by their returns against a panel, the same for all."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console
from tests.opponents.duels import SETTINGS, canonical

import evolute
from evolute.config.error import ConfigError
from evolute.envs.spec import EnvSpec, GameSpec
from evolute.learners.ppo import ppo
from evolute.learners.ppo.settings import PPOSettings
from evolute.ratings.panel import SIZE
from evolute.report.data.standings import ratings
from evolute.report.figures import games
from evolute.report.summary import ratings_table
from evolute.runs.turns import TurnTable
from evolute.store.journal import Journal


def harvest(state, hparams, steps, seed, opponents):
    """Who cares more gains more, and wins less often: the result says the opposite of the return."""
    care = (0.0 if state is None else state["care"]) + hparams["lr"] * steps
    results = [None if other is None else (1 / (1 + care), 10, care - 0.1 * other["care"], 0.5) for other in opponents]
    return {"care": care}, {"results": results}


def run(folder, **changes):
    given = {
        **SETTINGS,
        "opponents.rating": "panel",
        "folder": folder,
        "stop": {"turns": 12},
        "opponents.live": 0.25,
        **changes,
    }
    return evolute.run(harvest, **given)


def test_everybody_meets_the_newest_of_the_pool_and_is_rated_by_what_it_gained(tmp_path):
    made = run(tmp_path / "run", strategy="random_search")
    decisions = Journal.read(tmp_path / "run").decisions()
    for decision in decisions:
        panels = {order.opponents[4:] for order in decision.orders}
        newest = tuple((member, turn) for member, turn in decision.state["pool"][-SIZE:])
        assert panels == {tuple((player,) for player in newest)}
    assert len(newest) == SIZE
    assert {len(order.opponents) for order in decisions[0].orders} == {4}
    for turn in made.population.latest:
        gains = {match.against: match.gain for match in turn.report.matches if match.against in turn.order.opponents[4:]}
        assert turn.score == pytest.approx(np.mean(list(gains.values())), abs=1e-5)
        assert turn.deviation == pytest.approx(0.5 / np.sqrt(10 * SIZE), abs=1e-5)
    cares = [made.member(slot).state["care"] for slot in range(4)]
    assert made.best.member == int(np.argmax(cares))
    assert ratings(made)["rule"] == "panel"


def test_tables_and_plots_tell_returns(tmp_path):
    """Two places, not Elo's points; and no Nash mixture, which is about winning."""
    made = run(tmp_path / "run")
    best = made.ratings[0]
    assert str(best) == f"{best.rating:.2f} ± {best.deviation:.2f}"
    out = io.StringIO()
    Console(file=out, width=200).print(ratings_table(ratings(made)))
    assert "mean return" in out.getvalue()
    assert str(best) in out.getvalue()
    charts = {chart.key: chart for chart in games.charts(TurnTable.read(made.folder))}
    assert list(charts) == ["ratings", "payoff", "pool"]
    assert charts["ratings"].y.label == "mean return"
    assert "odds" not in charts["ratings"].note
    assert charts["ratings"].series[-1].texts[-1] == f"± {1.645 * best.deviation:.2f} (90%)"


def test_nobody_is_told_of_circles_where_winning_does_not_count(tmp_path):
    run(tmp_path / "run")
    assert {decision.state["compared"] for decision in Journal.read(tmp_path / "run").decisions()} == {0}


def test_members_evolve_by_their_returns_and_a_stopped_run_ends_alike(tmp_path, stopped_at):
    made = run(tmp_path / "whole")
    assert made.best.hparams["lr"] > 0.1
    stopped_at(40, lambda: run(tmp_path / "again"))
    run(tmp_path / "again")
    assert canonical(tmp_path / "whole") == canonical(tmp_path / "again")


TINY = {"envs": 4, "unroll": 8, "minibatches": 2, "widths": (4,), "epochs": 1, "lr": "log[1e-3, 1e-1]"}
DILEMMA = {
    "env": "matrix:prisoners_dilemma",
    "opponents": "history",
    "opponents.tables": 2,
    "opponents.matches": 2,
    "population": 2,
    "interval": 32,
    "ppo": TINY,
    "display": "none",
}


def test_it_is_the_default_in_general_sum_games_and_older_runs_go_on_as_they_began(tmp_path):
    made = evolute.run("ppo", **DILEMMA, folder=tmp_path / "run", stop={"turns": 4})
    assert made.meta.choices["rating"] == "panel"
    assert min(len(turn.order.opponents) for turn in made.population.latest) > 2
    assert all(abs(turn.score) <= 10 * 5 for turn in made.population.latest)
    assert all(match.spread is not None for turn in made.population.latest for match in turn.report.matches)
    journal = Journal.write(tmp_path / "run")
    journal.put(choices={name: value for name, value in journal.meta.choices.items() if name != "rating"})
    journal.close()
    older = evolute.resume(tmp_path / "run", display="none", **{"stop.turns": 6})
    assert {len(turn.order.opponents) for turn in older.population.latest} == {2}
    assert all(match.spread is None for turn in older.population.latest for match in turn.report.matches)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"opponents.rating": "descent"},
            r"opponents.rating = descent: in this game one may gain .* use opponents.rating=panel",
        ),
        ({"opponents.rating": "elo"}, r"opponents.rating = elo: .*opponents.rating=panel"),
        ({"strategy": "pbt_marl"}, r"strategy = pbt_marl: takes over weights by who would win.*use strategy=pbt"),
    ],
)
def test_what_says_little_in_general_sum_games_is_refused(tmp_path, changes, message):
    with pytest.raises(ConfigError, match=message):
        evolute.run("ppo", **DILEMMA, **changes, folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("env", "given", "rule"), [("rps", None, "descent"), ("rps", "panel", "panel"), ("prisoners_dilemma", None, "panel")]
)
def test_the_rule_follows_from_the_game_unless_it_is_given(env, given, rule):
    spec = EnvSpec(f"matrix:{env}", game=GameSpec(tables=2, rating=given))
    assert ppo(env=spec, settings=PPOSettings(envs=4)).choices["rating"] == rule
