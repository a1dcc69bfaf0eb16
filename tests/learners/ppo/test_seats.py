"""PPO in games: turns that repeat themselves, matches, and what cannot be played."""

from __future__ import annotations

import numpy as np
import pytest

import evolute
from evolute.config.error import ConfigError
from evolute.core.order import Order, Ref
from evolute.core.protocols import silently
from evolute.core.tree import digest
from evolute.envs.spec import EnvSpec, GameSpec
from evolute.learners.ppo import ppo
from evolute.learners.ppo.settings import PPOSettings
from evolute.store.journal import Journal

TINY = {"envs": 4, "unroll": 8, "minibatches": 2, "widths": (4,), "epochs": 1}
HOW = GameSpec(tables=2, matches=4)


def learner(env="matrix:rps", **settings):
    return ppo(env=EnvSpec(env, game=HOW), settings=PPOSettings(**{**TINY, **settings}))


def order(member, turn=0, **given):
    return Order(member, turn, {}, steps=64, seed=100 * member + turn, **given)


def trained(made, orders, states=None, known=None):
    fetch = (known or {}).__getitem__
    return made.train(states or made.init(orders), orders, fetch=fetch, progress=silently)


@pytest.fixture(scope="module")
def rps():
    made = learner(lr=0.3)  # so that they come to play differently
    orders = [order(member) for member in range(3)]
    states, _ = trained(made, orders)
    return made, {one.ref: state for one, state in zip(orders, states, strict=True)}


LINEUPS = {
    0: ((None,), (Ref(1, 0),)),
    1: ((Ref(0, 0),), (Ref(2, 0),)),
    2: (("random",), (Ref(2, 0),)),
}


def test_a_turn_is_the_same_alone_and_in_a_cohort(rps):
    made, known = rps
    orders = [order(m, 1, start=Ref(m, 0), opponents=LINEUPS[m]) for m in range(3)]
    together, outcomes = trained(made, orders, [known[Ref(m, 0)] for m in range(3)], known)
    for member, one in enumerate(orders):
        (alone,), (outcome,) = trained(made, [one], [known[Ref(member, 0)]], known)
        assert digest(made.dump(alone)) == digest(made.dump(together[member]))
        assert outcome.matches == outcomes[member].matches


def test_opponents_make_a_difference(rps):
    made, known = rps
    digests = []
    for lineups in (LINEUPS[0], LINEUPS[1], (("random",), ("random",))):
        one = order(0, 1, start=Ref(0, 0), opponents=lineups)
        (state,), _ = trained(made, [one], [known[Ref(0, 0)]], known)
        digests.append(digest(made.dump(state)))
    assert len(set(digests)) == 3


def test_matches_are_played_against_everybody_but_oneself_and_against_the_anchors(rps):
    made, known = rps
    one = order(0, 1, start=Ref(0, 0), opponents=((None,), (Ref(1, 0),)))
    _, (outcome,) = trained(made, [one], [known[Ref(0, 0)]], known)
    assert [match.against for match in outcome.matches] == [(Ref(1, 0),), ("random",)]
    assert [match.games for match in outcome.matches] == [4, 4]
    assert outcome.metrics["score"] is None
    assert outcome.metrics["result"] == np.mean([match.score for match in outcome.matches])


def test_the_stronger_one_wins_matches():
    """Policies that always play rock, paper or scissors."""
    made = learner()
    (state,) = made.init([order(0)])
    trees = [_with_bias(made.dump(state), action, 50.0) for action in range(3)]
    assert [int(made.policy(tree)(np.zeros(6))) for tree in trees] == [0, 1, 2]
    lineups, others = [(Ref(0, 0),), (Ref(1, 0),), (Ref(2, 0),), ("random",)], {Ref(n, 0): t for n, t in enumerate(trees)}
    shares = []
    for tree in trees:
        played = made.play_matches(tree, {}, lineups, others, games=8, seed=1, progress=silently)
        assert [games.seats for games in played] == [(0, 1) * 4] * 4
        matches = [games.match for games in played]
        shares.append([match.score for match in matches[:3]])
        assert abs(matches[3].gain) < 8
    assert shares == [[0.5, 0.0, 1.0], [1.0, 0.5, 0.0], [0.0, 1.0, 0.5]]


def test_a_greedy_player_takes_its_likeliest_actions_and_the_others_sample_theirs():
    """One likes paper a little, the other rock: 58 % of their moves. In ten rounds that is worth 1.3, and paper alone 3.6."""
    made = learner()
    (state,) = made.init([order(0)])
    rock, paper = _with_bias(made.dump(state), 0, 1.0), _with_bias(made.dump(state), 1, 1.0)

    def mean_return(greedy):
        known = {Ref(0, 0): rock}
        (played,) = made.play_matches(paper, {}, [(Ref(0, 0),)], known, games=400, seed=1, progress=silently, greedy=greedy)
        return np.mean(played.returns)

    assert mean_return(greedy=False) == pytest.approx(1.3, abs=0.8)
    assert mean_return(greedy=True) == pytest.approx(3.6, abs=0.8)


def _with_bias(tree, action, bias):
    """A state whose policy prefers an action: its biases stand before the value's four weights and bias."""
    weights = tree["learnt"]["optimiser"]["weights"].copy()
    weights[-5 - 3 + action] = bias
    return {**tree, "learnt": {**tree["learnt"], "optimiser": {**tree["learnt"]["optimiser"], "weights": weights}}}


def test_illegal_actions_are_never_learnt_or_exported():
    payoff = [[[1, 0], [0, 1], [2, 0]], [[-1, 0], [0, -1], [-2, 0]]]  # three actions against two
    made = ppo(
        env=EnvSpec("matrix:own", {"matrix": {"payoff": payoff, "rounds": 2}}, game=HOW), settings=PPOSettings(**TINY, lr=0.05)
    )
    one = order(0)
    (state,), (outcome,) = trained(made, [one])
    assert outcome.error is None
    assert outcome.metrics["entropy"] <= np.log(3)
    policy = made.policy(made.dump(state))
    obs = np.random.default_rng(0).normal(size=(200, policy.about["network"]["obs"][0]))
    drawn = policy(obs, greedy=False, rng=np.random.default_rng(0), legal=np.tile([True, True, False], (200, 1)))
    assert set(drawn.tolist()) == {0, 1}


def test_an_opponent_with_another_network_fails_one_member(tmp_path, rps):
    made, known = rps
    other = learner(widths=(8,))
    (state,), _ = trained(other, [order(1)])
    one = order(0, 1, start=Ref(0, 0), opponents=((None,), (Ref(1, 0),)))
    with pytest.raises(ValueError, match="member 1 after turn 0 cannot be an opponent: its network is another one"):
        trained(made, [one], [known[Ref(0, 0)]], {**known, Ref(1, 0): state})


SETTINGS = {
    "env": "matrix:rps",
    "opponents": "history",
    "population": 3,
    "interval": 64,
    "stop": {"turns": 3},
    "display": "none",
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"opponents.anchors": ["stockfish"]}, "this game has no bot 'stockfish'; there are random"),
        ({"opponents.tables": 3}, "ppo.envs=4: must be a multiple of the 3 tables"),
        ({"env": "cartpole"}, "has one seat"),
        ({"opponents": None}, "is a game with 2 seats"),
        (
            {"opponents": None, "env": "pong", "strategy": "pbt_marl"},
            r"strategy = pbt_marl: compares members by their games, and they play none: .* opponents=history",
        ),
        ({"ppo": {**TINY, "widths": "ordinal[[4],[8]]"}}, "widths must be fixed, since members meet"),
        ({"opponents": "histori"}, "did you mean 'history'"),
        *(
            ({"learner": "sb3:PPO", "ppo": None, "env": env}, "learner=sb3 plays no games against opponents; use learner=ppo")
            for env in ("CartPole-v1", "pong")
        ),
    ],
)
def test_what_cannot_be_played_is_said_before_training(tmp_path, changes, message):
    given = {"ppo": {**TINY, "lr": "log[1e-3, 1e-1]"}, **SETTINGS, "folder": tmp_path / "run", **changes}
    with pytest.raises(ConfigError, match=message):
        evolute.run(given.pop("learner", "ppo"), **{key: value for key, value in given.items() if value is not None})
    assert not (tmp_path / "run").exists()


def test_a_run_that_was_stopped_ends_in_the_same_weights(tmp_path, stopped_at):
    def run(name):
        return evolute.run("ppo", **SETTINGS, folder=tmp_path / name, ppo={**TINY, "lr": "log[1e-3, 1e-1]"}, durable=2)

    whole = run("whole")
    stopped_at(17, lambda: run("again"))
    run("again")
    dumps = [Journal.read(tmp_path / name).canonical() for name in ("whole", "again")]
    assert dumps[0] == dumps[1]
    assert whole.best.turn.deviation > 0


def test_teams_may_differ_in_size(tmp_path):
    """Members take all seats, alone and as one of two; a pair of them finds somebody who always hides in one place."""
    settings = {**SETTINGS, "env": "tests.envs.own_games:Hiding", "interval": 2048}
    run = evolute.run("ppo", **settings, folder=tmp_path / "run", ppo={**TINY, "envs": 12, "lr": 0.01})
    assert {len(lineup) for turn in run.best.lineage for lineup in turn.order.opponents} == {3}
    assert all(turn.order.opponents[0] == (None, None, None) for turn in run.best.lineage)
    assert all(match.against[0] is None for match in run.best.turn.report.matches)
    assert run.best.turn.deviation > 0
    played = evolute.tournament(run, bots=["random"], games=12)
    assert len(played.standings) == 4
