"""What users are told before training about architectures and generations."""

from __future__ import annotations

import pytest

from evolute.config.error import ConfigError
from evolute.config.layers import override, preset, stack
from evolute.config.resolve import resolved
from evolute.runs.assemble import assembled


def advice(name, *overrides):
    return assembled(resolved(stack([preset(name), *map(override, overrides)])), {}).advice


def test_a_strategy_that_never_changes_an_architecture_says_so_and_names_one_that_does():
    (said,) = advice("ceilings", "strategy=pbt", "bg_pbt=")
    assert said.startswith(
        "ceilings.width, ceilings.depth, ceilings.activation, ceilings.norm: heirs take the architecture over"
    )
    assert "strategy=bg_pbt bg_pbt.generations=2 tries" in said
    assert advice("ceilings", "bg_pbt.generations=0") == [said]


@pytest.mark.parametrize("overrides", [["strategy=random_search", "bg_pbt="], ["bg_pbt.generations=1"]])
def test_where_members_keep_what_they_drew_or_architectures_are_searched_it_is_not_said(overrides):
    assert not any("heirs take the architecture over" in said for said in advice("ceilings", *overrides))


def test_a_space_without_architecture_needs_no_advice():
    assert advice("drift", "strategy=bg_pbt") == []


@pytest.mark.parametrize(
    ("turns", "said"),
    [
        (60, "takes 21 of the run's 60 turns to be taught and thinned out; at most 1 of 2 can finish"),
        (200, "takes 70 of the run's 200 turns to be taught and thinned out; 2 can finish"),
        (20, "none can finish, so none is begun"),
    ],
)
def test_the_cost_of_a_generation_is_told(turns, said):
    told, *compiled = advice("ceilings", f"stop.turns={turns}")
    assert told.startswith("bg_pbt: a new generation ")
    assert said in told
    assert ["up to two programs for each" in one for one in compiled] == ([] if turns == 20 else [True])


@pytest.mark.parametrize("learner", ["sb3:A2C", "toy"])
def test_a_learner_that_takes_no_teacher_is_refused_before_training(learner):
    env = ["env=CartPole-v1", "sb3.learning_rate=log[1e-4,1e-2]"] if learner.startswith("sb3") else []
    layers = map(override, [f"learner={learner}", *env, "strategy=bg_pbt", "bg_pbt.generations=1", "stop.turns=40"])
    with pytest.raises(ConfigError, match="bg_pbt: generations=1: this learner takes no teacher"):
        assembled(resolved(stack([*([] if env else [preset("toy")]), *layers])), {})
