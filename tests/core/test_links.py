"""Orders that link to other states: what an heir keeps of its own, a teacher, opponents; alone, in cohorts, and resumed."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import evolute
from evolute.core.order import Match, Order, Ref
from evolute.core.population import best
from evolute.core.protocols import LinkError, Outcome
from evolute.store.journal import Journal
from evolute.strategies.evolution import Evolution
from evolute.strategies.exploit import truncation
from evolute.strategies.explore import perturb


@dataclass(frozen=True)
class League:
    """A cohort learner whose state is [3]: plays its opponents, listens to its teacher, and keeps a memory of its own and of
    what all others are."""

    together: bool = True
    repeatable: bool = True
    links: tuple[str, ...] = ("own", "others", "teacher", "opponents")
    architecture: tuple[str, ...] = ()

    choices: ClassVar = {}

    def advice(self, interval, examples):
        return ()

    def evaluate(self, tree, hparams, *, seed, episodes, progress):
        return None

    def shape(self, hparams):
        return "one"

    def init(self, orders):
        return [np.random.default_rng(order.seed).normal(size=3) for order in orders]

    def train(self, states, orders, *, fetch, progress):
        rows, outcomes = [], []
        for row, order in zip(states, orders, strict=True):
            teacher = row if order.teacher is None else fetch(order.teacher)
            memory = row[2] if order.own is None else fetch(order.own)[2]
            matches = tuple(Match((ref,), float(row[0] > fetch(ref)[0])) for (ref,) in order.opponents)
            skill = row[0] + order.hparams["lr"] * (teacher[0] - row[0]) + np.random.default_rng(order.seed).normal()
            seen = sum(float(fetch(ref)[0]) for ref in order.others)
            rows.append(np.array([skill, row[1] + 1, memory + 1 + seen]))
            outcomes.append(Outcome({"score": skill}, matches=matches))
        return rows, outcomes

    def dump(self, state):
        return {"row": state.copy()}

    def load(self, tree):
        return tree["row"]

    def policy(self, tree):
        return lambda observation: float(tree["row"][0] * observation)


@dataclass(frozen=True)
class Linked(Evolution):
    """Evolution in which everybody plays everybody and learns from the best."""

    def step(self, state, population, ready, rng):
        state, orders = super().step(state, population, ready, rng)
        latest = [member.latest.ref for member in population.members if member.latest is not None]
        top = best(population)
        return state, [
            replace(
                order,
                teacher=None if top is None or order.start is None else top.ref,
                opponents=tuple((ref,) for ref in latest if ref.member != order.member),
            )
            for order in orders
        ]


def linked(plan):
    return Linked(plan, truncation(), perturb())


def run(folder, **settings):
    return evolute.run(
        League(),
        strategy=linked,
        space={"lr": evolute.Float(0.01, 0.5, log=True)},
        population=4,
        stop={"turns": 6},
        folder=folder,
        display="none",
        **settings,
    )


def canonical(folder) -> str:
    journal = Journal.read(folder)
    dump = journal.canonical()
    journal.close()
    return dump


def test_opponents_teachers_own_and_other_states_reach_the_learner(tmp_path):
    made = run(tmp_path / "run")
    heirs = 0
    for member in made.population.members:
        for turn in member.history():
            assert len(turn.report.matches) == (3 if turn.order.turn else 0)
            heirs += turn.order.own is not None
            assert turn.order.own is None or turn.order.own.member == member.slot
            latest = [Ref(other, turn.order.turn - 1) for other in range(4) if other != member.slot]
            assert turn.order.others == (tuple(latest) if turn.order.turn else ())
    assert heirs == 5
    assert made.best.policy(2.0) == made.best.state["row"][0] * 2.0


@pytest.mark.parametrize("limit", [None, 30.0])
def test_a_limit_makes_no_difference(tmp_path, limit):
    run(tmp_path / "plain")
    run(tmp_path / "other", limit=limit, durable=2)
    assert canonical(tmp_path / "plain") == canonical(tmp_path / "other")


@pytest.mark.parametrize("count", [25, 40, 55, 70])
def test_everything_that_orders_link_to_is_made_again(tmp_path, stopped_at, count):
    run(tmp_path / "whole", durable=100)
    stopped_at(count, lambda: run(tmp_path / "again", durable=100))
    run(tmp_path / "again", durable=100)
    assert canonical(tmp_path / "again") == canonical(tmp_path / "whole")


def train(state, hparams, steps, seed):
    return {"n": 1}, {"score": hparams["lr"]}


@dataclass(frozen=True)
class Linking(Evolution):
    """Evolution that gives every member who goes on the best one as its teacher, or the others as opponents."""

    link: str = "teacher"

    def step(self, state, population, ready, rng):
        state, orders = super().step(state, population, ready, rng)
        top = best(population)
        value = None if top is None else top.ref if self.link == "teacher" else ((top.ref,),)
        return state, [order if value is None else replace(order, **{self.link: value}) for order in orders]


OWN = {"space": {"lr": evolute.Float(0.01, 0.5)}, "interval": 8}
PPO = {"env": "cartpole", "interval": 32, "ppo": {"envs": 2, "unroll": 16, "minibatches": 1, "widths": [4]}}
A2C = {"env": "CartPole-v1", "interval": 16, "sb3": {"n_steps": 8}}


@pytest.mark.parametrize(
    ("learner", "settings", "link"),
    [
        (train, OWN, "teacher"),
        (train, OWN, "opponents"),
        ("ppo", PPO, "opponents"),
        ("sb3:A2C", A2C, "teacher"),
        ("sb3:A2C", A2C, "opponents"),
    ],
)
def test_a_learner_is_not_given_links_that_it_would_ignore(tmp_path, learner, settings, link):
    """The first turn has nobody to link to; the second is refused before anything of it is written or trained."""

    def strategy(plan):
        return Linking(plan, truncation(), perturb(), link=link)

    with pytest.raises(LinkError, match=f"gave member 0 {link} to learn from, and this learner uses (none of these|teacher)"):
        evolute.run(
            learner, strategy=strategy, population=2, stop={"turns": 2}, engine="inline", folder=tmp_path / "run",
            display="none", **settings,
        )  # fmt: skip
    journal = Journal.read(tmp_path / "run")
    assert {order.turn for decision in journal.decisions() for order in decision.orders} == {0}
    journal.close()


@pytest.mark.parametrize("weight", [(0.0, 0.0), (1.0, 0.25)])
def test_a_teacher_and_its_weight_survive_the_journal(weight):
    order = Order(1, 2, {"lr": 0.1}, start=Ref(1, 1), teacher=Ref(0, 1), teacher_weight=weight)
    body = json.loads(json.dumps(order.to_json()))
    assert body["teacher_weight"] == list(weight)
    assert Order.from_json(1, 2, body) == order


def test_other_members_are_in_the_journal():
    order = Order(1, 2, {"lr": 0.1}, start=Ref(0, 1), own=Ref(1, 1), others=(Ref(0, 1), Ref(2, 1)))
    assert Order.from_json(1, 2, json.loads(json.dumps(order.to_json()))) == order
    assert order.links == (Ref(0, 1), Ref(1, 1), Ref(2, 1))


def test_orders_without_a_teacher_are_written_as_before_and_older_ones_are_read():
    plain = Order(1, 2, {"lr": 0.1}, steps=3, seed=4)
    assert plain.to_json() == {"hparams": {"lr": 0.1}, "steps": 3, "seed": 4}
    older = {**plain.to_json(), "teacher": [0, 1]}
    assert Order.from_json(1, 2, older) == replace(plain, teacher=Ref(0, 1))


@dataclass(frozen=True)
class Weighting(Linking):
    """Gives a weight to the teacher, or to nobody."""

    weight: tuple[float, float] = (0.5, 0.5)
    taught: bool = True

    def step(self, state, population, ready, rng):
        state, orders = super().step(state, population, ready, rng)
        taught = [order if self.taught else replace(order, teacher=None) for order in orders]
        return state, [replace(one, teacher_weight=self.weight) if one.start else one for one in taught]


def listen(state, hparams, steps, seed, teacher):
    """Moves to its teacher by the mean weight; remembers what it was given."""
    skill = np.random.default_rng(seed).random() if state is None else state["skill"]
    if teacher is not None:
        skill += teacher.weight_at(0.5) * (teacher.state["skill"] - skill)
        teacher.state["skill"] = np.nan  # its own copy
    return {"skill": skill}, {"score": skill}


def taught(folder, learner=listen, **settings):
    return evolute.run(
        learner, strategy=lambda plan: Weighting(plan, truncation(), perturb(), **settings), population=3, interval=1,
        space={"lr": evolute.Float(0.01, 0.5)}, stop={"turns": 4}, engine="inline", folder=folder, display="none",
    )  # fmt: skip


class Listener:
    """As `listen`, with a state in files."""

    def train(self, state, hparams, steps, seed, *, teacher):
        return listen(state, hparams, steps, seed, teacher)

    def save(self, state, folder):
        np.save(folder / "skill.npy", state["skill"])

    def load(self, folder):
        return {"skill": float(np.load(folder / "skill.npy"))}


@pytest.mark.parametrize("learner", [listen, Listener])
def test_code_that_takes_a_teacher_gets_its_state_and_its_weight(tmp_path, learner):
    """Halfway to the best in each turn: the distances halve, and nobody's state is changed by a student."""
    made = taught(tmp_path / "run", learner, weight=(0.8, 0.2))
    for member in made.population.members:
        for turn in list(member.history())[:-1]:
            teacher = made.population.find(turn.order.teacher)
            assert turn.score == pytest.approx((turn.parent.score + teacher.score) / 2)
            assert turn.order.teacher_weight == (0.8, 0.2)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"weight": (1.5, 0.0)}, r"teacher_weight=\(1.5, 0.0\) for member 0: both lie in \[0, 1\]"),
        ({"weight": (0.0, float("nan"))}, r"both lie in \[0, 1\]"),
        ({"taught": False}, r"teacher_weight=\(0.5, 0.5\) for member 0 without a teacher"),
    ],
)
def test_a_weight_is_a_teachers_and_a_share(tmp_path, settings, said):
    with pytest.raises(ValueError, match=said):
        taught(tmp_path / "run", **settings)


@pytest.mark.parametrize(("learner", "links"), [(listen, {"teacher"}), (train, set())])
def test_a_strategy_is_told_what_the_learner_uses(tmp_path, learner, links):
    plans = []

    def strategy(plan):
        plans.append(plan)
        return Evolution(plan, truncation(), perturb())

    space = {"lr": evolute.Float(0.01, 0.5)}
    evolute.run(
        learner, strategy=strategy, space=space, population=2, stop={"turns": 1}, folder=tmp_path / "run", display="none"
    )
    assert all(plan.links == links for plan in plans)
