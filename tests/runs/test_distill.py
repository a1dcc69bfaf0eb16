"""`evolute distill`: one student of a run's best member, in a run folder of its own."""

from __future__ import annotations

import itertools
import subprocess
import sys

import pytest

import evolute
from evolute.cli.fork import fork
from evolute.config.error import ConfigError
from evolute.config.layers import override, python
from evolute.runs.distill import _layer, _length, distill
from evolute.runs.result import Run
from evolute.runs.session import Launch
from evolute.runs.states import remembered


@pytest.fixture(scope="module")
def student(tmp_path_factory):
    """A run of code that takes a teacher, a student of its best as a user types it, and what was printed."""
    place = tmp_path_factory.mktemp("distill")
    evolute.run(preset="ceilings", population=2, stop={"turns": 3}, folder=place / "run", display="none")
    typed = [sys.executable, "-m", "evolute", "distill", "run", "--folder", "student", "-m", "ceilings.width=32", "steps=6"]
    told = subprocess.run(typed, cwd=place, capture_output=True, text=True, check=True).stdout.splitlines()
    return Run.open(place / "run").best, Run.open(place / "student"), told


def test_a_student_is_a_run_of_its_own_and_taught_by_the_best(student):
    teacher, run, _ = student
    turns = list(run.population[0].history())[::-1]
    assert len(turns) == 7
    assert turns[0].report.digest == teacher.turn.report.digest
    assert [turn.order.teacher for turn in turns[1:]] == [turns[0].ref] * 6
    assert [turn.order.start for turn in turns[1:3]] == [None, turns[1].ref]
    weights = [turn.order.teacher_weight for turn in turns[1:]]
    assert (weights[0][0], weights[-1][1]) == (1.0, 0.05)
    assert all(one[0] > one[1] == other[0] for one, other in itertools.pairwise(weights))


def test_it_has_the_values_of_its_teacher_but_for_those_that_were_given(student):
    teacher, run, _ = student
    assert run.meta.space == {}
    assert run.meta.config["ceilings.width"][0] == 32
    assert run.meta.config["ceilings.depth"][0] == teacher.hparams["depth"]


def test_teacher_and_student_are_told_side_by_side(student):
    """Such code plays no episodes, so both scores are those of their last turns."""
    teacher, run, told = student
    assert told[-2].startswith(f"teacher: member {teacher.member} of run, score {teacher.score:.2f}")
    assert told[-1].startswith(f"student: score {run.best.score:.2f}")


def test_it_takes_one_value_of_each_setting(student, tmp_path):
    with pytest.raises(ConfigError, match=r"^a student is trained alone, so h cannot be a range: give it one value$"):
        distill(student[0], Launch(folder=tmp_path / "none"), [python({"ceilings": {"h": [0.0, 1.0]}})])
    assert not (tmp_path / "none").exists()


def test_who_takes_no_teacher_is_refused(tmp_path):
    evolute.run(preset="toy", population=2, stop={"turns": 1}, folder=tmp_path / "run", display="none")
    with pytest.raises(ConfigError, match=r"^a student of .*: the learner toy takes no teacher: ppo, sac, td3 and dqn do, and"):
        distill(Run.open(tmp_path / "run").best, Launch())


def play(state, hparams, steps, seed, opponents, teacher):
    return (state or 0) + 1, {"results": [None if one is None else (0.5, 2) for one in opponents]}


def test_members_of_a_game_are_refused(tmp_path):
    given = {"opponents": "history", "opponents.anchors": [], "play": {"lr": [0.1, 1.0]}, "population": 2, "stop": {"turns": 2}}
    evolute.run("test_distill:play", **given, folder=tmp_path / "run", display="none")
    with pytest.raises(ConfigError, match="play each other"):
        distill(Run.open(tmp_path / "run").member(0), Launch())


TINY = {"envs": 8, "unroll": 16, "minibatches": 2, "teacher_lr": 1e-2, "lr": "log[0.01, 0.03]", "widths": [16]}
PROBE = {"learner": "ppo", "env": "tests.envs.probes:action_by_obs", "population": 2, "interval": 1024, "display": "none"}


@pytest.mark.slow(reason="four programs are compiled: a smaller network of PPO comes to play as its teacher does")
def test_a_smaller_network_plays_as_its_teacher_does(tmp_path):
    evolute.run(**PROBE, ppo=TINY, folder=tmp_path / "run", stop={"turns": 2})
    given = python({"ppo": {"widths": [4]}, "steps": 1024, "interval": 256}, "test")
    done = distill(Run.open(tmp_path / "run").best, Launch(folder=tmp_path / "student"), [given])
    assert done.run.best.policy.about["network"]["widths"] == [4]
    assert done.teacher.episodes == done.student.episodes == 100
    assert done.student.mean > 0.9 * done.teacher.mean > 0
    taught = [turn.report.metrics["teacher_kl"] for turn in list(done.run.population[0].history())[-2::-1]]
    assert taught[-1] < taught[0]


@pytest.fixture(scope="module")
def probe(tmp_path_factory):
    """A small run of PPO, in which members see one number and choose one of two actions."""
    shape = {"widths": None, "width": 8, "depth": "int[1,2]", "activation": "choice[tanh,relu]"}
    folder = tmp_path_factory.mktemp("probe") / "run"
    evolute.run(**{**PROBE, "interval": 128}, ppo={**TINY, **shape}, folder=folder, stop={"turns": 1})
    return Run.open(folder).best


OTHER = "the teacher observes 1 numbers and the student 4: both must be trained in environments with the same observations"


def refused(agent, tmp_path, match, **given):
    """A student with these settings is refused before there is a folder."""
    with pytest.raises(ConfigError, match=match):
        distill(agent, Launch(folder=tmp_path / "none"), [python(given)])
    assert not (tmp_path / "none").exists()


def test_a_student_in_another_environment_must_see_and_do_the_same(probe, tmp_path):
    refused(probe, tmp_path, f"^init.teachers: {OTHER}$", env="cartpole", steps=256)


def test_a_student_with_memory_is_refused(probe, tmp_path):
    refused(
        probe, tmp_path, r": networks with memory cannot be taught, and ppo\.memory=8: set ppo\.memory=0$", **{"ppo.memory": 8}
    )


@pytest.mark.parametrize("given", [{"strategy": "pbt"}, {"population": 4}])
def test_what_a_student_cannot_have_is_refused(probe, tmp_path, given):
    refused(probe, tmp_path, "a student is trained alone, along its lessons; leave (strategy|population) out$", **given)


def test_widths_take_the_place_of_width_and_depth_and_the_other_way_round(probe):
    """Of the teacher's width and depth, or of its widths."""
    source = remembered(probe.folder)
    removed = {"ppo.width": None, "ppo.depth": None}
    layer = _layer(probe, source, [override("ppo.widths=[4]")])
    assert {key: layer[key].value for key in removed} == removed
    config = remembered(probe.folder, [layer, override("ppo.widths=[4]")])
    assert [config.learner.settings[name] for name in ("width", "depth", "widths")] == [0, 0, (4,)]
    assert config.learner.settings["activation"] == probe.hparams["activation"]
    layer = _layer(probe, source, [override("ppo.width=4")])
    assert (layer["ppo.widths"].value, layer["ppo.depth"].value) == (None, probe.hparams["depth"])


@pytest.mark.parametrize(
    ("given", "turns", "each"),
    [
        (["steps=2k"], 2, 1024),
        (["steps=100"], 1, 1024),
        (["steps=20k"], 10, 2048),
        (["steps=20k", "interval=4096"], 5, 4096),
        (["steps=20k", "stop.turns=4"], 4, 5120),
        (["stop.turns=3", "interval=1024"], 3, 1024),
        (["stop.turns=8"], 8, 25600),
        (["steps=2k", "stop.turns=8"], 2, 1024),
        ([], 10, 20480),
    ],
)
def test_a_student_trains_about_as_many_steps_as_were_asked_for(probe, given, turns, each):
    """In whole rollouts of 1,024 steps, as many turns as were asked for at most."""
    layers = list(map(override, given))
    asked = remembered(probe.folder, [_layer(probe, remembered(probe.folder), layers), *layers])
    assert _length(asked, 1024) == (turns, each)


def test_a_student_stops_early_if_it_was_asked_to(student, tmp_path):
    given = [override(text) for text in ("steps=6", "stop.score=-1")]
    done = distill(student[0], Launch(folder=tmp_path / "student"), given)
    assert done.run.population[0].turns == 2


def test_a_fork_in_another_environment_must_see_and_do_the_same(probe, tmp_path):
    with pytest.raises(ConfigError, match="that member observes 1 numbers and a member of this run 4: both must be trained in"):
        fork(probe.folder, 0, target=tmp_path / "fork", overrides=["env=cartpole"])
    assert not (tmp_path / "fork").exists()
