"""Populations whose members meet: rated by their games, seated against each other and their past, on every engine, resumed."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from tests.opponents.duels import SETTINGS, canonical, run

import evolute
from evolute.config.error import ConfigError
from evolute.core.order import Ref
from evolute.core.population import best
from evolute.report.data.standings import ratings
from evolute.runs.result import Run
from evolute.runs.turns import TurnTable
from evolute.store import points
from evolute.store.journal import Journal
from evolute.store.requests import RequestFolder


def test_members_are_rated_by_their_games(tmp_path):
    made = run(tmp_path / "run", turns=10, strategy="random_search")
    skills = [made.member(slot).state["skill"] for slot in range(4)]
    rated = [made.member(slot).score for slot in range(4)]
    assert made.best.member == int(np.argmax(skills)) == int(np.argmax(rated))
    assert np.corrcoef(skills, rated)[0, 1] > 0.95
    assert made.best.turn.deviation < 100


def test_members_evolve_by_their_ratings(tmp_path):
    made = run(tmp_path / "run", turns=10)
    assert sum(turn.order.why.get("event") == "inherit" for m in made.population.members for turn in m.history()) > 3
    line = [turn.score for turn in made.best.lineage]
    assert line[-1] > line[1] + 100  # it has become better than its ancestors
    order = made.population[0].last.order
    assert len(order.opponents) == 4
    assert order.opponents[0] == (None,)


def test_every_view_of_a_run_has_the_same_ratings(tmp_path):
    made = run(tmp_path / "run")
    table = TurnTable.read(tmp_path / "run")
    for member in made.population.members:
        for turn in member.history():
            row = next(r for r in range(len(table)) if (table.member[r], table.turn[r]) == turn.ref)
            np.testing.assert_equal(table.score[row], np.nan if turn.score is None else turn.score)
    journal = Journal.read(tmp_path / "run")
    assert journal.best_score() == made.best.score == float(table.score[table.best])
    rows = ratings(Run.open(tmp_path / "run"))
    assert [row["rating"] for row in rows["members"]] == sorted((m.latest.score for m in made.population.members), reverse=True)
    assert 0.5 <= rows["lead"] <= 1


def test_views_agree_in_the_middle_of_a_run(tmp_path, stopped_at):
    stopped_at(30, lambda: run(tmp_path / "run"))
    opened, table = Run.open(tmp_path / "run"), TurnTable.read(tmp_path / "run")
    journal = Journal.read(tmp_path / "run")
    top = best(opened.population)
    assert top is not None
    assert journal.best_score() == top.score == float(table.score[table.best])


def test_a_pool_of_past_states_is_kept_and_played(tmp_path):
    made = run(tmp_path / "run", turns=12, **{"opponents.every": 1, "opponents.capacity": 5})
    journal = Journal.read(tmp_path / "run")
    decisions = journal.decisions()
    pools = [[Ref(*pair) for pair in decision.state["pool"]] for decision in decisions]
    assert max(map(len, pools)) == 5
    played = {p for d in decisions for o in d.orders for lineup in o.opponents for p in lineup if isinstance(p, Ref)}
    assert any(ref.turn < made.population[0].turns - 6 for ref in played)
    late = decisions[-1].orders
    assert {p.turn for o in late for lineup in o.opponents for p in lineup if isinstance(p, Ref)} - {10}
    told = ratings(made)
    assert (told["pool"], told["pool_at_most"]) == (5, 5)


@pytest.mark.parametrize("engine", [{"engine": "processes", "workers": 2}, {"mode": "async", "engine": "simulated"}])
def test_engines_end_in_the_same_league(tmp_path, engine):
    run(tmp_path / "here", **(engine if "mode" in engine else {}))
    run(tmp_path / "there", **engine)
    assert canonical(tmp_path / "here") == canonical(tmp_path / "there")


@pytest.mark.parametrize("count", [3, 17, 18, 19, 33, 47, 61])
def test_a_league_that_was_stopped_anywhere_ends_the_same(tmp_path, stopped_at, count):
    run(tmp_path / "whole", durable=3)
    stopped_at(count, lambda: run(tmp_path / "again", durable=3))
    run(tmp_path / "again", durable=3)
    assert canonical(tmp_path / "again") == canonical(tmp_path / "whole")


@pytest.mark.parametrize("strategy", ["random_search", "winner_takes_all", "pbt_marl", "pb2", "bg_pbt"])
def test_every_strategy_works_with_ratings(tmp_path, strategy):
    made = run(tmp_path / "run", turns=5, strategy=strategy)
    assert made.best.score is not None


@pytest.mark.parametrize("rating", ["descent", "elo"])
@pytest.mark.parametrize("admit", ["every", "better"])
@pytest.mark.parametrize("forget", ["thin", "oldest", "easiest"])
def test_pools_and_ratings_of_all_kinds(tmp_path, rating, admit, forget):
    settings = {"rating": rating, "admit": admit, "forget": forget, "capacity": 3, "every": 1}
    made = run(
        tmp_path / "run", turns=7, strategy="random_search", **{f"opponents.{key}": value for key, value in settings.items()}
    )
    skills = [made.member(slot).state["skill"] for slot in range(4)]
    assert np.corrcoef(skills, [made.member(slot).score for slot in range(4)])[0, 1] > 0.8


def test_learners_that_train_members_alone_say_so(tmp_path):
    def alone(state, hparams, steps, seed):
        return {}, {"score": 1.0}

    with pytest.raises(ConfigError, match="opponents = history: the learner alone trains members alone"):
        evolute.run(alone, **{**SETTINGS, "folder": tmp_path / "run", "stop": {"turns": 1}})


def test_results_that_are_none_fail_one_turn(tmp_path):
    def wrong(state, hparams, steps, seed, opponents):
        bad = hparams["lr"] > 0.05
        return {"skill": 0.0}, {"results": [2.0 if bad else None] * len(opponents), "score": 1.0}

    made = evolute.run(wrong, **{**SETTINGS, "folder": tmp_path / "run", "stop": {"turns": 2}, "seed": 1})
    failed = [turn.report.reason for m in made.population.members for turn in m.history() if turn.failed]
    assert failed
    assert all("a result is 1 for a win, 0.5 for a draw, 0 for a loss" in reason for reason in failed)


def test_logs_have_the_ratings_also_after_a_resume(tmp_path, stopped_at):
    made = run(tmp_path / "whole", log="csv", durable=3)
    stopped_at(33, lambda: run(tmp_path / "again", log="csv", durable=3))
    run(tmp_path / "again", log="csv", durable=3)
    tables = [
        list(csv.DictReader((tmp_path / name / "logs" / "turns.csv").read_text().splitlines())) for name in ("whole", "again")
    ]
    scores = [{(int(row["member"]), int(row["turn"])): row["score"] for row in table} for table in tables]
    turns = {turn.ref: turn.score for member in made.population.members for turn in member.history()}
    assert {ref: float(score) for ref, score in scores[0].items() if score} == {k: v for k, v in turns.items() if v is not None}
    assert scores[0] == scores[1]
    assert len(scores[0]) == len(tables[0]) == len(turns)


@pytest.mark.parametrize("changes", [{}, {"opponents": "pfsp"}, {"strategy": "random_search"}])
def test_a_league_can_be_forked(tmp_path, changes):
    run(tmp_path / "run", durable=1, keep="every 1")
    init = {"from": str(tmp_path / "run"), "turn": 4}
    forked = run(tmp_path / "fork", init=init, **changes)
    assert forked.best.score is not None
    assert forked.population[0].turns == 8


def test_a_run_can_begin_with_the_best_of_a_league(tmp_path):
    made = run(tmp_path / "run")
    begun = run(tmp_path / "next", init={"from": str(tmp_path / "run")}, turns=3)
    skills = [begun.member(slot).state["skill"] for slot in range(4)]
    assert min(skills) > made.best.state["skill"]


def test_steered_members_play_and_are_rated_like_the_others(tmp_path, monkeypatch):
    def leave(point):
        if point == "folder.named":
            for body in ({"kind": "pin", "member": 1, "turn": 2}, {"kind": "clone", "member": 3, "donor": 1, "turn": 5}):
                RequestFolder(tmp_path / "run").put(body)

    monkeypatch.setattr(points, "hooks", [leave])
    made = run(tmp_path / "run", turns=9)
    pinned = [turn.order for turn in made.population[1].history() if turn.order.turn > 2]
    assert {order.why["event"] for order in pinned} == {"pinned"}
    assert all(len(order.opponents) == 4 and "rating" in order.why for order in pinned)
    cloned = next(turn.order for turn in made.population[3].history() if turn.order.why.get("event") == "clone")
    assert (cloned.start, len(cloned.opponents)) == (Ref(1, 4), 4)
    assert all(member.latest.deviation is not None for member in made.population.members)
