"""The end of a run: the best few play fresh episodes in both ways, one of them is chosen, and every view says the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from typer.testing import CliRunner

import evolute
from evolute import policy as policies
from evolute.cli.main import app
from evolute.config.layers import python, stack
from evolute.config.resolve import resolved
from evolute.core.events import Notice, Progressed
from evolute.core.protocols import Outcome
from evolute.report.data.compare import final
from evolute.report.data.details import run_details
from evolute.report.data.page import page_data
from evolute.report.data.run_row import run_row
from evolute.runs.final_evaluation import FinalEvaluation
from evolute.runs.result import Run
from evolute.runs.session import Launch, launch, proceed
from evolute.runs.states import remembered
from evolute.runs.turns import TurnTable

SMALL = {"envs": 4, "unroll": 32, "minibatches": 2, "widths": [8], "lr": "log[1e-5, 1e-4]"}
PPO = {"learner": "ppo", "population": 4, "interval": 256, "stop": {"turns": 2}, "ppo": SMALL, "display": "none"}
TRUTH = {0: (5, 5), 1: (20, 10), 2: (-100, 70), 3: (500, 500)}
"""What each member returns with the likeliest actions and with sampled ones, plus noise; scores rank them 2, 1, 0, 3."""


class Misjudged:
    """A learner whose scores mislead: member 2 has the highest, but only if it samples, and member 3 is the best of all."""

    together = False
    repeatable = True
    links = ()
    architecture = ()
    choices: ClassVar = {}
    rounds = (4, 16)
    ways = (True, False)

    def advice(self, interval, examples):
        return ()

    def shape(self, hparams):
        return ""

    def init(self, orders):
        return [np.array([order.member]) for order in orders]

    def train(self, states, orders, *, fetch, progress):
        scores = {0: 50.0, 1: 60.0, 2: 110.0, 3: -10.0}
        return list(states), [Outcome({"score": scores[int(state[0])]}) for state in states]

    def dump(self, state):
        return {"member": state}

    def load(self, tree):
        return tree["member"]

    def policy(self, tree):
        return lambda obs: tree["member"]

    def evaluate(self, tree, hparams, *, seed, episodes, progress):
        return self.play(tree, hparams, seed=seed, episodes=episodes, greedy=True, progress=progress)

    def play(self, tree, hparams, *, seed, episodes, greedy, progress):
        progress(0.5, "")
        mean = TRUTH[int(tree["member"][0])][not greedy]
        return list(np.random.default_rng(seed).normal(mean, 1, episodes))


class OneWay(Misjudged):
    """The same, evaluated in a way of its own."""

    rounds = None
    play = None

    def evaluate(self, tree, hparams, *, seed, episodes, progress):
        return [float(TRUTH[int(tree["member"][0])][0])] * 3


def misjudged(folder, learner=Misjudged, **settings):
    settings = {"strategy": "random_search", "population": 4, "stop": {"turns": 2}, **settings}
    return evolute.run(learner, folder=folder, display="none", space={}, **settings)


def means(run):
    return {(one.member, one.greedy): round(one.mean) for one in run.meta.evaluations}


def test_the_best_few_by_score_play_both_ways_and_the_best_of_them_wins(tmp_path):
    run = misjudged(tmp_path / "run")
    assert means(run) == {(2, True): -100, (2, False): 70, (1, True): 20, (1, False): 10, (0, True): 5, (0, False): 5}
    assert {one.episodes for one in run.meta.evaluations} == {20}
    assert (run.best.member, run.best.greedy) == (2, False)
    assert run.best.score == 110
    assert run.member(1).greedy
    wide = misjudged(tmp_path / "wide", evaluation={"members": 4})
    assert (wide.best.member, wide.best.greedy) == (3, True)
    assert wide.best.score == -10


def test_every_view_names_the_same_winner(tmp_path):
    folder = misjudged(tmp_path / "run", evaluation={"members": 4}).folder
    table = TurnTable.read(folder)
    shown, page = run_details(Run.open(folder)), page_data(table)
    assert {shown["best"]["member"], page["best"]["member"], int(table.member[table.best])} == {3}
    assert shown["best"]["score"] == page["best"]["score"] == run_row(folder)["score"] == -10
    assert shown["best"]["evaluation"] == page["evaluation"]
    assert shown["best"]["evaluation"]["mean"] == final(table) == pytest.approx(500, abs=1)
    assert shown["best"]["evaluated"] == page["evaluated"]
    assert [one["member"] for one in page["evaluations"]] == [2, 2, 1, 1, 0, 0, 3, 3]


def test_both_figures_are_told_where_they_differ_by_more_than_noise(tmp_path):
    folder = misjudged(tmp_path / "run").folder
    first, second, third = run_details(Run.open(folder))["best"]["evaluated"]
    assert first.startswith("evaluated: 69.") or first.startswith("evaluated: 70")
    assert first.endswith("over 20 fresh episodes with sampled actions")
    assert second.startswith("with the likeliest actions instead: -")
    assert "chosen among 3" in third
    wide = misjudged(tmp_path / "wide", evaluation={"members": 4}).folder
    assert "instead" not in " ".join(run_details(Run.open(wide))["best"]["evaluated"])


def test_nobody_is_evaluated_if_that_is_not_wanted(tmp_path):
    run = misjudged(tmp_path / "run", evaluation={"members": 0})
    assert (run.meta.evaluation, run.meta.evaluations, run.status) == (None, (), "finished")
    assert (run.best.member, run.best.greedy) == (2, True)


def test_a_learner_with_a_way_of_its_own_is_evaluated_in_it(tmp_path):
    run = misjudged(tmp_path / "run", OneWay)
    assert means(run) == {(2, None): -100, (1, None): 20, (0, None): 5}
    assert {one.episodes for one in run.meta.evaluations} == {3}
    assert run.best.member == 1
    assert run_details(run)["best"]["evaluated"][0] == "evaluated: 20 ± 0 over 3 fresh episodes"


def test_a_run_that_trains_further_has_no_winner_until_it_ends_again(tmp_path):
    folder = misjudged(tmp_path / "run", evaluation={"members": 4}).folder
    seen = []
    config = remembered(folder, [python({"stop": {"turns": 4}})])

    def watch(event):
        seen.append(Run.open(folder).meta)

    ended = proceed(folder, config, Launch(notify=watch))
    assert {(meta.chosen, meta.evaluations) for meta in seen} == {(None, ())}
    assert ended.meta.chosen == (3, 3)


@pytest.mark.parametrize("engine", [{"engine": "processes", "workers": 2}, {"limit": 60}])
def test_the_evaluation_is_the_same_on_every_engine(tmp_path, engine):
    one, other = misjudged(tmp_path / "one"), misjudged(tmp_path / "other", **engine)
    assert one.meta.evaluations == other.meta.evaluations


class Clock:
    """A clock that goes on by a second whenever it is read."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1.0
        return self.now


@pytest.mark.parametrize(
    ("limit", "arms", "episodes", "said"),
    [(1, 0, None, "0 of 6 pairs"), (5, 2, 4, "2 of 6 pairs"), (14, 6, 4, "4 of 20 episodes each"), (99, 6, 20, None)],
)
def test_an_evaluation_is_bounded_in_time_and_says_what_it_left_out(tmp_path, limit, arms, episodes, said):
    run = misjudged(tmp_path / "run", evaluation={"members": 0})
    events = []
    found = FinalEvaluation(run, seed=0, members=3, limit=limit, notify=events.append, clock=Clock()).evaluations()
    assert len(found) == arms
    assert {one.episodes for one in found} == ({episodes} if arms else set())
    notices = [event.text for event in events if isinstance(event, Notice)]
    assert len(notices) == (said is not None)
    assert said is None or (said in notices[0] and "evaluation.time" in notices[0])


class LeftError(BaseException):
    """Ends a run as a kill would."""


@pytest.mark.parametrize("moment", [1, 3])
def test_a_run_that_is_killed_while_it_is_evaluated_ends_as_if_it_had_not_been(tmp_path, moment):
    whole = evolute.run(env="cartpole", folder=tmp_path / "whole", **PPO)
    calls = []

    def watch(event):
        calls.extend([event] if isinstance(event, Progressed) and event.note.startswith("evaluating") else [])
        if len(calls) == moment:
            raise LeftError

    settings = {name: value for name, value in PPO.items() if name != "display"}
    config = resolved(stack([python({"env": "cartpole", **settings})]))
    with pytest.raises(LeftError):
        launch(config, Launch(folder=tmp_path / "left", notify=watch))
    assert (Run.open(tmp_path / "left").status, Run.open(tmp_path / "left").meta.evaluations) == ("unfinished", ())
    left = evolute.resume(tmp_path / "left", display="none")
    assert left.status == "finished"
    assert left.meta.evaluations == whole.meta.evaluations
    assert len(left.meta.evaluations) == 6
    assert left.best.turn.report.digest == whole.best.turn.report.digest


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Runs of PPO where only sampled actions are rewarded, in JAX and on the host."""
    parent = tmp_path_factory.mktemp("places")
    for name, env in (("jax", "tests.envs.probes:change_action"), ("host", "tests.envs.host_probes:ChangeAction")):
        evolute.run(env=env, folder=parent / name, **PPO)
    return parent


@pytest.mark.parametrize("name", ["jax", "host"])
def test_an_agent_acts_in_the_way_that_did_better(places, name):
    run = evolute.load(places / name)
    assert run.meta.evaluation.greedy is False
    assert run.meta.evaluation.mean == pytest.approx(4, abs=0.8)
    assert {one.mean for one in run.meta.evaluations if one.greedy} == {0}
    assert sum(run.best.evaluate(seed=1, episodes=6)) > 0
    assert run.best.evaluate(seed=1, episodes=6) == run.best.evaluate(seed=1, episodes=6, greedy=False)
    assert list(run.best.evaluate(seed=1, episodes=6, greedy=True)) == [0] * 6


@pytest.mark.parametrize("name", ["jax", "host"])
def test_an_exported_policy_acts_in_the_way_that_did_better(places, name, tmp_path):
    done = CliRunner().invoke(app, ["export", str(places / name), str(tmp_path / "policy.npz")])
    assert "samples its actions" in done.stdout
    policy = policies.load(tmp_path / "policy.npz")
    seen = np.zeros((64, 1))
    assert set(policy(seen).tolist()) == {0, 1}
    assert len(set(policy(seen, greedy=True).tolist())) == 1
    drawn = [policy(seen, rng=np.random.default_rng(5)).tolist() for _ in range(2)]
    assert drawn[0] == drawn[1]


def test_a_policy_from_before_takes_the_likeliest_action(places, tmp_path):
    policy = evolute.load(places / "jax").best.policy
    del policy.about["greedy"]
    policy.save(tmp_path / "old.npz")
    old = policies.load(tmp_path / "old.npz")
    assert old.greedy
    assert len(set(old(np.zeros((64, 1))).tolist())) == 1


@pytest.mark.parametrize(("option", "greedy"), [((), False), (("--sample",), False), (("--greedy",), True)])
def test_play_counts_returns_as_asked_for(places, option, greedy):
    words = ["play", "host", "--episodes", "5", "--json", *option]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, "-m", "evolute", *words], cwd=places, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    played = json.loads(done.stdout)
    assert (played["greedy"], played["mean"] > 0) == (greedy, not greedy)


def test_stable_baselines_acts_in_the_way_that_did_better(tmp_path):
    pytest.importorskip("stable_baselines3")
    settings = {"n_steps": 18, "batch_size": 18, "n_epochs": 1, "learning_rate": "log[1e-6, 1e-5]"}
    run = evolute.run(
        "sb3:PPO", env="tests.envs.host_probes:ChangeAction", population=2, interval=36, stop={"turns": 1}, sb3=settings,
        folder=tmp_path / "run", display="none",
    )  # fmt: skip
    assert run.meta.evaluation.greedy is False
    assert {one.mean for one in run.meta.evaluations if one.greedy} == {0}
    assert run.best.evaluate(seed=3, episodes=4) == run.best.evaluate(seed=3, episodes=4, greedy=False)
    assert run.best.evaluate(seed=3, episodes=4) != run.best.evaluate(seed=4, episodes=4)
    assert {int(run.best.policy(np.zeros(1, np.float32))) for _ in range(64)} == {0, 1}
    assert "deterministic=False" in run.best.policy.use("policy.zip")


def test_a_score_that_is_far_from_the_return_gets_a_hint(places):
    details = run_details(Run.open(places / "host"))
    assert any("ppo.fitness=evaluation" in hint for hint in details["hints"])
    assert details["hints"][0] in page_data(TurnTable.read(places / "host"))["hints"]


@pytest.mark.parametrize("learner", ["ppo", "sb3:PPO"])
def test_episodes_on_the_host_can_be_stopped_at_any_time(tmp_path, learner):
    """Progress is shown while they are played, and what it raises ends them."""
    if learner != "ppo":
        pytest.importorskip("stable_baselines3")
    small = {"ppo": SMALL} if learner == "ppo" else {"sb3": {"n_steps": 16, "batch_size": 16, "n_epochs": 1}}
    run = evolute.run(
        learner, env="tests.envs.host_probes:TrueEnd", population=2, interval=128, stop={"turns": 1},
        evaluation={"members": 0}, folder=tmp_path / "run", display="none", **small,
    )  # fmt: skip
    calls = []

    def progress(share, note):
        calls.extend([] if note else [share])  # a note is about compiling
        if len(calls) == 3:
            raise LeftError

    with pytest.raises(LeftError):
        run.best.evaluate(seed=1, episodes=500, progress=progress)
    assert calls == sorted(calls)
    assert calls[-1] < 0.5
