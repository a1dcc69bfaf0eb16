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


@pytest.mark.parametrize("strategy", ["mf_pbt", "ipbt", "ga", "map_elites map_elites.cells.score=[0,1,5]"])
def test_other_strategies_whose_heirs_keep_their_architecture_say_so_as_well(strategy):
    said = advice("ceilings", "bg_pbt=", *f"strategy={strategy}".split())
    assert sum("heirs take the architecture over with the weights" in one for one in said) == 1


@pytest.mark.parametrize("overrides", [["strategy=random_search", "bg_pbt="], ["bg_pbt.generations=1"]])
def test_where_members_keep_what_they_drew_or_architectures_are_searched_it_is_not_said(overrides):
    assert not any("heirs take the architecture over" in said for said in advice("ceilings", *overrides))


def test_a_space_without_architecture_needs_no_advice():
    assert advice("drift", "strategy=bg_pbt") == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            ["stop.turns=60"],
            "takes 21 of the run's 60 turns to be taught and thinned out; at most 1 of 2 generations can finish, and",
        ),
        (["stop.turns=200"], "takes 70 of the run's 200 turns to be taught and thinned out; at most 2 generations can finish"),
        (["stop.turns=20"], "none can finish, so none is begun"),
        (
            ["stop.turns=60", "bg_pbt.teacher=false"],
            "takes 21 of the run's 60 turns to be trained and thinned out; at most 1 of",
        ),
    ],
)
def test_the_cost_of_a_generation_is_told(given, said):
    (told,) = advice("ceilings", *given)
    assert told.startswith("bg_pbt: a new generation ")
    assert said in told


TAUGHT = ["strategy=bg_pbt", "bg_pbt.generations=1", "stop.turns=40", "population=4"]
SHAPES = ["ppo.unroll=ordinal[32,64,128]", "ppo.minibatches=ordinal[2,4]"]
WIDTHS = ["ppo.width=ordinal[8,16,32]", "ppo.activation=choice[tanh,relu]"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "bg_pbt: lessons compile a program of their own"),
        (["bg_pbt.teacher=false"], None),
        (
            WIDTHS,
            "a generation tries up to 4 architectures and compiles up to 4 programs for lessons and 4 without a teacher, as",
        ),
        (
            [*WIDTHS, "bg_pbt.teacher=false"],
            "a generation tries up to 4 architectures and compiles up to 4 programs, as members",
        ),
        (
            [*WIDTHS, *SHAPES],
            "tries up to 4 architectures, each in up to 6 shapes by ppo.unroll and ppo.minibatches, and compiles up to 12 "
            "programs for lessons and 24 without a teacher",
        ),
        (
            SHAPES,
            "a generation has up to 6 shapes by ppo.unroll and ppo.minibatches, and compiles up to 6 programs for lessons",
        ),
    ],
)
def test_how_many_programs_a_generation_may_compile_is_told(given, said):
    told = [one for one in advice("cartpole", *TAUGHT, *given) if "program" in one]
    assert [said in one for one in told] == ([] if said is None else [True])


@pytest.mark.parametrize(
    ("candidates", "said"),
    [
        ("[20,9]", ["bg_pbt: candidates=[20, 9]: every slot trains as many as the others, so there are [24, 16]"]),
        ("200", ["bg_pbt: candidates=200: rungs may take half of the run's 40 turns at most, so there are 160"]),
        ("[24,16]", []),
    ],
)
def test_where_other_numbers_of_candidates_start_than_were_asked_for_it_is_told(candidates, said):
    assert advice("drift", "strategy=bg_pbt", "population=8", "stop.turns=40", f"bg_pbt.candidates={candidates}") == said


@pytest.mark.parametrize("learner", ["sb3:A2C", "toy"])
def test_a_learner_that_takes_no_teacher_is_refused_before_training(learner):
    env = ["env=CartPole-v1", "sb3.learning_rate=log[1e-4,1e-2]"] if learner.startswith("sb3") else []
    layers = map(override, [f"learner={learner}", *env, "strategy=bg_pbt", "bg_pbt.generations=1", "stop.turns=40"])
    with pytest.raises(ConfigError, match=f"^bg_pbt: generations=1: students have a teacher, .*; the learner {learner[:3]}"):
        assembled(resolved(stack([*([] if env else [preset("toy")]), *layers])), {})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["ppo.memory=choice[0,8]"], r"^ppo\.memory=choice\[0, 8\]: .*memory.*; with bg_pbt\.teacher=false members learn by"),
        (
            ["env=Pendulum-v1", "ppo.squash=choice[false,true]"],
            r"^ppo\.squash=choice\[false, true\]: the teacher's actions are",
        ),
        (["ppo.memory=16"], r"; networks with memory cannot be taught, and ppo\.memory=16: set ppo\.memory=0$"),
        (["strategy=ipbt", "bg_pbt=", "ppo.memory=choice[0,8]"], r"^ppo\.memory=choice\[0, 8\]: .*with ipbt\.teacher=false"),
    ],
)
def test_members_who_could_not_teach_one_another_are_refused_before_training(given, said):
    with pytest.raises(ConfigError, match=said):
        advice("cartpole", *TAUGHT, *given)


@pytest.mark.parametrize(
    "given",
    [
        ["ppo.memory=choice[0,8]", "bg_pbt.teacher=false"],
        ["ppo.width=ordinal[8,16]", "ppo.activation=choice[tanh,relu]", "ppo.spectral=choice[false,true]"],
        ["env=Pendulum-v1", "strategy=ipbt", "bg_pbt=", "ppo.squash=choice[false,true]"],
    ],
)
def test_members_who_can_or_need_not_teach_one_another_are_not(given):
    advice("cartpole", *TAUGHT, *given)
