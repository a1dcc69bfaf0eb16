"""PPO in games on the host: turns that repeat themselves, matches, games that raise, and that it learns."""

from __future__ import annotations

import numpy as np
import pytest

import evolute
from evolute.core.order import Order, Ref
from evolute.core.protocols import silently
from evolute.core.tree import digest
from evolute.core.worker import Worker
from evolute.envs.spec import EnvSpec, GameSpec
from evolute.learners.ppo import ppo
from evolute.learners.ppo.settings import PPOSettings
from evolute.runs.tournament import against
from evolute.store.journal import Journal

pytest.importorskip("pettingzoo")

TINY = {"envs": 4, "unroll": 8, "minibatches": 2, "widths": (4,), "epochs": 1, "network": "mlp"}
HOW = GameSpec(tables=2, matches=4)
LINEUPS = {
    0: ((None,), (Ref(1, 0),)),
    1: ((Ref(0, 0),), (Ref(2, 0),)),
    2: (("random",), (Ref(2, 0),)),
}


def learner(env, options=None, **settings):
    spec = EnvSpec(env, {env.rpartition(":")[2]: options or {}}, game=HOW)
    return ppo(env=spec, settings=PPOSettings(**{**TINY, **settings}))


def order(member, turn=0, **given):
    return Order(member, turn, {}, steps=64, seed=100 * member + turn, **given)


def trained(made, orders, states=None, known=None):
    fetch = (known or {}).__getitem__
    return made.train(states or made.init(orders), orders, fetch=fetch, progress=silently)


@pytest.fixture(scope="module")
def counting():
    made = learner("tests.envs.own_zoo:Counting", lr=0.3)
    orders = [order(member) for member in range(3)]
    states, _ = trained(made, orders)
    return made, {one.ref: state for one, state in zip(orders, states, strict=True)}


def test_a_turn_is_the_same_alone_and_in_a_cohort(counting):
    made, known = counting
    orders = [order(m, 1, start=Ref(m, 0), opponents=LINEUPS[m]) for m in range(3)]
    together, outcomes = trained(made, orders, [known[Ref(m, 0)] for m in range(3)], known)
    for member, one in enumerate(orders):
        (alone,), (outcome,) = trained(made, [one], [known[Ref(member, 0)]], known)
        assert digest(made.dump(alone)) == digest(made.dump(together[member]))
        assert outcome.matches == outcomes[member].matches
    assert [match.against for match in outcomes[0].matches] == [(Ref(1, 0),), ("random",)]
    assert [match.games for match in outcomes[0].matches] == [4, 4]
    assert outcomes[0].metrics["score"] is None


def test_what_was_legal_is_learnt_from(counting):
    made, known = counting
    _, (outcome,) = trained(made, [order(0)])
    assert outcome.metrics["entropy"] <= np.log(2) + 1e-6  # one of three actions is always illegal
    policy = made.policy(made.dump(known[Ref(0, 0)]))
    assert policy(np.zeros(1), legal=[False, True, False]) == 1


def test_an_opponent_with_another_network_fails_one_member(counting):
    made, known = counting
    (other,), _ = trained(learner("tests.envs.own_zoo:Counting", widths=(8,)), [order(1)])
    orders = [order(0, 1, start=Ref(0, 0), opponents=LINEUPS[0]), order(2, 1, start=Ref(2, 0), opponents=LINEUPS[2])]
    worker = Worker(made, states={}, _states={**known, Ref(1, 0): other})
    failed, whole = worker.train(orders)
    assert failed.reason == "ValueError: member 1 after turn 0 cannot be an opponent: its network is another one"
    assert whole.error is None
    assert whole.matches


@pytest.mark.parametrize("when", ["training", "matches"])
def test_a_game_that_raises_fails_one_member(when, monkeypatch):
    """Copies are made for training, and then for the matches; one of them breaks down."""
    from tests.envs import own_zoo

    broken = 1 + {"training": 5, "matches": 8 + 3}[when]  # the second member's, after the one that is looked at; the first's
    real, made_so_far = own_zoo.Counting.__init__, [0]
    made = learner("tests.envs.own_zoo:Counting")

    def counted(self, *given, **options):
        made_so_far[0] += 1
        real(self, *given, broken=made_so_far[0] == broken)

    monkeypatch.setattr(own_zoo.Counting, "__init__", counted)
    reports = Worker(made, states={}).train([order(0), order(1)])
    failed = {"training": 1, "matches": 0}[when]
    assert reports[failed].reason == "RuntimeError: the board fell off the table"
    assert reports[1 - failed].error is None
    assert reports[1 - failed].matches


SETTINGS = {
    "env": "pettingzoo:classic.tictactoe_v3",
    "opponents": "history",
    "population": 3,
    "interval": 32,
    "stop": {"turns": 3},
    "opponents.tables": 2,
    "opponents.matches": 2,
    "display": "none",
}


def canonical(folder):
    return Journal.read(folder).canonical()


@pytest.mark.slow(reason="trains a game on the host three times")
def test_a_run_that_was_stopped_ends_in_the_same_weights(tmp_path, stopped_at):
    def run(name):
        return evolute.run("ppo", **SETTINGS, folder=tmp_path / name, ppo={**TINY, "lr": "log[1e-3, 1e-1]"}, durable=2)

    whole = run("whole")
    stopped_at(17, lambda: run("again"))
    run("again")
    assert canonical(tmp_path / "whole") == canonical(tmp_path / "again")
    assert whole.best.turn.deviation > 0
    assert against(tmp_path / "whole", None, "random", games=4).match.games == 4


@pytest.mark.slow
def test_workers_play_the_same_games(tmp_path):
    """Law 1 for games on the host: states travel to other processes, and copies of the game are made there."""
    for name, where in (("inline", {}), ("processes", {"engine": "processes", "workers": 2})):
        evolute.run("ppo", **SETTINGS, **where, folder=tmp_path / name, ppo={**TINY, "lr": "log[1e-3, 1e-1]"})
    assert canonical(tmp_path / "inline") == canonical(tmp_path / "processes")


@pytest.mark.slow
def test_one_agent_of_both_seats_beats_random_play(tmp_path):
    """It only ever meets itself; PettingZoo pays the loser after the winner's move, so it learns from losses as well."""
    settings = {"lr": 1e-3, "network": "mlp", "envs": 16, "unroll": 64, "entropy": 0.01}
    evolute.run(
        "ppo",
        env="pettingzoo:classic.tictactoe_v3",
        opponents="self",
        population=1,
        interval=40_960,
        stop={"turns": 1},
        ppo=settings,
        display="none",
        folder=tmp_path / "run",
    )
    assert against(tmp_path / "run", None, "random", games=300).match.score > 0.65


@pytest.mark.parametrize("episodes", [1, 5])
def test_any_number_of_episodes_is_played_by_one_policy_for_all_agents(episodes):
    """Both agents of a game play it to its end, also where only one of their episodes is asked for."""
    made = ppo(env=EnvSpec("tests.envs.own_zoo:Alike"), settings=PPOSettings(**TINY))
    tree = made.dump(made.init([Order(0, 0, {}, steps=8, seed=1)])[0])
    assert len(made.play(tree, {}, seed=3, episodes=episodes, greedy=True, progress=silently)) == episodes
