"""Laws 1 and 2 for a taught population: killed in any stage of a generation, it ends as if nothing had happened."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from tests.laws.killed import Killer, alone

import evolute
from evolute.config.error import ConfigError
from evolute.config.layers import preset, python, stack
from evolute.config.resolve import resolved
from evolute.core.durability import reachable
from evolute.core.population import descent
from evolute.runs import fork
from evolute.runs.assemble import assembled
from evolute.runs.replay import replay
from evolute.runs.result import Run
from evolute.runs.session import Launch
from evolute.store.checkpoints import Checkpoints
from evolute.store.journal import Journal

BEGUN, COST, TURNS = 4 + 2, 4 + 3, 19
"""Candidates and a turn of the chosen ones, two turns of evolution; then a ladder, and six turns of the new generation."""
SETTINGS = {
    "preset": "ceilings", "population": 3, "stop": {"turns": TURNS}, "durable": 2, "seed": 3,
    "bg_pbt": {"generations": 1, "longest": 2, "taught": 4},
}  # fmt: skip
ASYNC = {**SETTINGS, "mode": "async", "engine": "simulated", "simulated": {"durations": [3, 4, 5]}, "stop": {"turns": 26}}
PARTS = 24
"""The write points of all stages, in parts that take less than a minute each; with EVOLUTE_EVERY_POINT=1 all parts are run."""
EVERY = pytest.mark.slow(reason="write points of every stage of a generation, an eighth of them or all")


@pytest.fixture(scope="module")
def train():
    killer = Killer()
    yield killer.train
    killer.close()


@pytest.fixture(scope="module")
def whole(train, tmp_path_factory):
    """A run that was left alone, and the write points it passed."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    assert train(folder, SETTINGS) == 0
    return folder, json.loads(folder.with_suffix(".points").read_text())


def outcome(folder: Path) -> tuple[str, dict[str, bytes]]:
    """The canonical dump and the bytes of every final state."""
    journal = Journal.read(folder)
    dump = journal.canonical()
    journal.close()
    checkpoints = Checkpoints(folder / "checkpoints")
    return dump, {str(ref): checkpoints.path(ref).read_bytes() for ref in sorted(reachable(Run.open(folder).population))}


def killed(train, folder: Path, settings: dict, point: int) -> Path:
    assert train(folder, settings, point) == -signal.SIGKILL
    assert train(folder, settings) == 0
    return folder


def turns_of(folder):
    return [turn for member in Run.open(folder).population.members for turn in member.history()]


def test_the_run_has_all_stages_of_a_generation(whole):
    stages = {(turn.order.why.get("event"), turn.order.why.get("rung")) for turn in turns_of(whole[0])}
    assert {("student", 0), ("promoted", 1), ("promoted", 2), ("chosen", 3), ("inherit", None)} <= stages
    assert sum(turn.order.teacher is not None for turn in turns_of(whole[0])) == 3 * COST


@pytest.mark.slow("on processes, MPI ranks and Ray actors as well, a run that is killed in a rung ends with the same states")
@pytest.mark.parametrize("engine", ["processes", "mpi", "ray"])
def test_on_every_engine_a_run_killed_in_a_rung_ends_like_one_that_was_not(whole, tmp_path, engine):
    folder, _ = whole
    settings = {**SETTINGS, "engine": engine, **({} if engine == "mpi" else {"workers": 2})}
    points = [("journal.decide.filled", BEGUN + COST - 1), ("journal.decide.done", BEGUN + 2)]
    for point, times in points if engine == "processes" else points[:1]:
        target = tmp_path / point
        assert alone(target, settings, point, times) != 0
        assert 0 < sum("teacher" in order for _, order in decided(target)) < 3 * COST
        assert alone(target, settings) == 0
        assert outcome(target) == outcome(folder)


def test_a_run_killed_in_any_stage_ends_like_one_that_was_not(train, whole, tmp_path):
    """A few points, of another kind each time; the slow test below has all of them."""
    folder, passed = whole
    expected = outcome(folder)
    for point in range(40, len(passed), 61):
        assert outcome(killed(train, tmp_path / f"killed-{point}", SETTINGS, point)) == expected


@EVERY
@pytest.mark.parametrize("part", range(0, PARTS, 1 if os.environ.get("EVOLUTE_EVERY_POINT") else 8))
def test_a_run_killed_at_any_write_point_ends_like_one_that_was_not(train, whole, tmp_path, part):
    folder, passed = whole
    expected = outcome(folder)
    different = [
        point
        for point in range(1 + part, len(passed) + 1, PARTS)
        if outcome(killed(train, tmp_path / f"killed-{point}", SETTINGS, point)) != expected
    ]
    assert different == []


@EVERY
def test_without_a_barrier_every_decision_that_was_journalled_is_honoured(train, tmp_path):
    assert train(tmp_path / "whole", ASYNC) == 0
    passed = json.loads((tmp_path / "whole.points").read_text())
    assert sum(turn.order.teacher is not None for turn in turns_of(tmp_path / "whole")) == 3 * COST
    for point in range(12, len(passed), 19):
        folder = tmp_path / f"killed-{point}"
        assert train(folder, ASYNC, point) == -signal.SIGKILL
        if not folder.exists():
            continue
        before = decided(folder)
        assert train(folder, ASYNC) == 0
        assert decided(folder)[: len(before)] == before
        taught = [turn for turn in turns_of(folder) if turn.order.teacher is not None]
        assert len(taught) == 3 * COST
        assert not any(turn.failed for turn in turns_of(folder))


def decided(folder: Path) -> list:
    journal = Journal.read(folder)
    orders = [[order.ref, order.to_json()] for decision in journal.decisions() for order in decision.orders]
    journal.close()
    return orders


@pytest.mark.parametrize("turn", [BEGUN + 1, BEGUN + 4, BEGUN + COST - 1])
def test_a_fork_in_the_middle_of_a_rung_goes_on_like_its_run(whole, tmp_path, turn):
    folder, _ = whole
    init = {"from": str(folder), "turn": turn}
    fork = evolute.run(**SETTINGS, init=init, folder=tmp_path / "fork", display="none")
    assert outcome(fork.folder) == outcome(folder)


@pytest.mark.parametrize(
    ("turn", "other", "kept"),
    [
        (BEGUN + 1, {"generations": 0}, "4 more states"),  # the teacher, and who has been on the first rung
        (BEGUN - 1, {"generations": 0}, None),
        (1, {"generations": 0}, "3 more states"),
        (BEGUN + 1, {}, None),
    ],
)
def test_a_fork_with_another_strategy_says_what_it_leaves_behind(whole, tmp_path, turn, other, kept):
    told = []
    given = {**SETTINGS, "bg_pbt": {**SETTINGS["bg_pbt"], **other}, "init": {"from": str(whole[0]), "turn": turn}}
    config = resolved(stack([preset(given.pop("preset")), python(given)]))
    fork.beginning(config, (parts := assembled(config, {})).strategy, parts.learner, told.append)
    assert [kept in notice.text for notice in told] == ([] if kept is None else [True])


def test_an_exact_replay_of_a_taught_line_ends_in_the_same_bits(whole, tmp_path):
    best = Run.open(whole[0]).best
    taught = [turn for turn in descent(best.turn) if turn.order.teacher is not None]
    assert len(taught) == 4
    found = replay(best, Launch(folder=tmp_path / "again"), exact=True, seed=None)
    assert found.same == len(found.line) == len(best.lineage)
    assert [turn.order.teacher_weight for turn in found.run.member(0).lineage] == [
        turn.order.teacher_weight for turn in best.lineage
    ]


def test_a_replay_that_is_stopped_has_its_teachers_when_it_goes_on(whole, tmp_path, stopped_at):
    best = Run.open(whole[0]).best
    again = Launch(folder=tmp_path / "again")
    stopped_at(60, lambda: replay(best, again, exact=True, seed=None))
    for path in (again.folder / "checkpoints").glob("*.state"):
        path.unlink()
    found = replay(best, again, exact=True, seed=None)
    assert found.same == len(best.lineage)


def test_a_replay_with_other_seeds_has_the_same_teachers(whole, tmp_path):
    best = Run.open(whole[0]).best
    found = replay(best, Launch(folder=tmp_path / "again"), exact=False, seed=None)
    line = found.run.member(0).lineage
    assert [turn.order.teacher_weight for turn in line] == [turn.order.teacher_weight for turn in best.lineage]
    teacher = Run.open(whole[0]).population.find(best.lineage[0].order.teacher)
    assert found.run.population.find(line[0].order.teacher).report.digest == teacher.report.digest


@pytest.mark.parametrize(
    ("init", "said"),
    [
        ({}, "schedule.rows name 1 teachers, and init.teachers has 0"),
        ({"teachers": [[0, 1]]}, r"init.teachers are states of another run: set init.from"),
        ({"teachers": [[0, 99]], "from": "."}, "has no state of member 0 after turn 99"),
        ({"teachers": [[7, 0]], "from": "."}, "has no state of member 7 after turn 0"),
    ],
)
def test_teachers_that_are_not_there_are_named(whole, tmp_path, init, said):
    best = Run.open(whole[0]).best
    rows = [{"hparams": dict(best.turn.order.hparams), "teacher": 0, "teacher_weight": [1, 0]}]
    init = {**init, **({"from": str(whole[0])} if "from" in init else {})}
    settings = {**SETTINGS, "strategy": "schedule", "schedule": {"rows": rows}, "init": init}
    settings.pop("bg_pbt")
    with pytest.raises(ConfigError, match=said):
        evolute.run(**settings, folder=tmp_path / "run", display="none")
