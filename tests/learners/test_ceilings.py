from __future__ import annotations

import itertools
import math

import pytest

from evolute.core.solo import Teacher, adapt
from evolute.learners.ceilings import ACTIVATIONS, DEPTHS, NORMS, WIDTHS, ceiling, ceilings

ALL = [
    {"width": width, "depth": depth, "activation": activation, "norm": norm}
    for width, depth, activation, norm in itertools.product(WIDTHS, DEPTHS, ACTIVATIONS, NORMS)
]


def trained(turns, skill=0.0, teacher=None, **hparams):
    """The skills after each of some turns."""
    state, skills = {"skill": skill}, []
    for _ in range(turns):
        state, metrics = ceilings(state, {"problem": 0, "h": 0.5, **hparams}, 1, 0, teacher=teacher)
        skills.append(metrics["true"])
    return skills


def by_ceiling(problem=0):
    return sorted(ALL, key=lambda one: -ceiling({**one, "problem": problem}))


def test_each_problem_has_one_best_architecture_of_120_and_its_ceiling_is_1():
    assert len(ALL) == 120
    best = set()
    for problem in range(20):
        heights = [ceiling({**one, "problem": problem}) for one in ALL]
        assert sorted(heights)[-1] == pytest.approx(1.0)
        assert sorted(heights)[-2] < 0.95
        assert min(heights) >= 0.4
        best.add(heights.index(max(heights)))
    assert len(best) > 12


def test_the_ceiling_falls_with_the_distance_and_with_other_categories():
    top = by_ceiling()[0]
    other = next(one for one in NORMS if one != top["norm"])
    assert ceiling({**top, "norm": other, "problem": 0}) == pytest.approx(0.4 + 0.6 * 0.85)
    near = {**top, "depth": top["depth"] + (1 if top["depth"] < 4 else -1)}
    assert ceiling({**near, "problem": 0}) == pytest.approx(0.4 + 0.6 * math.exp(-(1 / 9) / 0.245))


def test_skill_rises_to_the_ceiling_and_narrow_networks_are_fast():
    top = by_ceiling()[0]
    height = ceiling({**top, "problem": 0})
    assert trained(400, **top)[-1] == pytest.approx(height, abs=1e-4)
    for width in WIDTHS:
        first = trained(1, **{**top, "width": width})[0] / ceiling({**top, "width": width, "problem": 0})
        assert first == pytest.approx(0.16 - 0.12 * WIDTHS.index(width) / 4)
    assert trained(1, **top, h=0.9)[0] == pytest.approx(trained(1, **top)[0] * math.exp(-2))


def test_a_teacher_pulls_a_student_up_to_its_own_skill_or_the_students_ceiling():
    top, bottom = by_ceiling()[0], by_ceiling()[-1]
    alone = trained(1, **top)[0]
    assert trained(1, teacher=Teacher({"skill": 0.9}, (1.0, 0.0)), **top)[0] == pytest.approx(
        alone + 0.35 * 0.5 * (0.9 - alone)
    )
    assert trained(1, teacher=Teacher({"skill": 0.9}, (0.0, 0.0)), **top)[0] == alone
    assert trained(60, teacher=Teacher({"skill": 0.9}, (1.0, 1.0)), **bottom)[-1] <= ceiling({**bottom, "problem": 0})
    assert trained(1, skill=0.5, teacher=Teacher({"skill": 0.1}, (1.0, 1.0)), **top) == trained(1, skill=0.5, **top)


def test_it_says_that_it_takes_teachers_and_which_hyper_parameters_are_architecture():
    learner = adapt(ceilings)
    assert learner.links == ("teacher",)
    assert learner.architecture == ("width", "depth", "activation", "norm")
