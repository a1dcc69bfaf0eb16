"""Runs that begin with what another run has learnt: forks of a moment, and populations that start from a best."""

from __future__ import annotations

import contextlib
import shutil

import numpy as np
import pytest

import evolute
from evolute.cli.fork import fork
from evolute.config.error import ConfigError
from evolute.core.order import Ref
from evolute.runs.result import Run
from evolute.runs.states import states
from evolute.store.journal import Journal

SETTINGS = {"learner": "toy", "population": 4, "interval": 3, "stop": {"turns": 10}, "display": "none", "durable": 1}
SPACE = {"h0": evolute.Float(0, 1), "h1": evolute.Float(0, 1)}


@pytest.fixture
def old(tmp_path):
    return evolute.run(**SETTINGS, space=SPACE, folder=tmp_path / "old", keep="last 1")


def canonical(folder) -> str:
    with contextlib.closing(Journal.read(folder)) as journal:
        return journal.canonical()


def test_a_fork_without_changes_ends_as_its_run_did(old, tmp_path):
    fork(old.folder, 4, target=tmp_path / "new", overrides=[])
    assert canonical(tmp_path / "new") == canonical(old.folder)


def test_the_most_that_a_forks_checkpoints_can_take_counts_those_that_it_took_over(old, tmp_path):
    with contextlib.closing(Journal.write(old.folder)) as journal:
        journal.put(state_bytes=10**6)  # of another architecture, of which no new one is saved
    fork(old.folder, 4, target=tmp_path / "new", overrides=[])
    assert Run.open(tmp_path / "new").meta.state_bytes == 10**6


def test_a_fork_with_another_strategy_keeps_the_past_and_then_goes_its_own_way(old, tmp_path):
    fork(old.folder, 4, target=tmp_path / "new", overrides=["strategy=random_search", "stop.turns=12"])
    new = Run.open(tmp_path / "new")
    assert new.meta.strategy == "random_search"
    for slot in range(4):
        turns = {turn.ref: turn.report.digest for turn in new.population[slot].history()}
        before = {turn.ref: turn.report.digest for turn in old.population[slot].history() if turn.ref.turn <= 4}
        assert len(turns) == 12
        assert before.items() <= turns.items()
        assert all(turn.order.start.member == slot for turn in new.population[slot].history() if turn.ref.turn > 4)


def test_a_fork_with_another_space_begins_with_the_states_of_that_moment(old, tmp_path):
    fork(old.folder, 4, target=tmp_path / "new", overrides=["toy.h0=[0.2,0.4]", "toy.h1=0.5", "stop.turns=5"])
    new = Run.open(tmp_path / "new")
    moment = {slot: turn for slot in range(4) for turn in old.population[slot].history() if turn.ref.turn == 4}
    for slot in range(4):
        *_, first = new.population[slot].history()
        assert first.report.digest == moment[slot].report.digest
        assert first.order.why == {"event": "import", "run": str(old.folder), "member": slot, "turn": 4}
        assert first.order.hparams == {"h0": min(max(moment[slot].order.hparams["h0"], 0.2), 0.4)}
        assert new.population[slot].turns == 5


def test_a_population_can_start_from_the_best_of_another_run(old, tmp_path):
    new = evolute.run(**{**SETTINGS, "population": 6}, space=SPACE, folder=tmp_path / "new", init={"from": str(old.folder)})
    firsts = [list(member.history())[-1] for member in new.population.members]
    assert {first.report.digest for first in firsts} == {old.best.turn.report.digest}
    assert firsts[0].order.hparams == old.best.hparams
    assert len({first.order.hparams["h0"] for first in firsts}) == 6
    assert new.best.score > old.best.score


def test_an_imported_state_outlives_the_loss_of_all_checkpoints(old, tmp_path):
    settings = {**SETTINGS, "space": SPACE, "init": {"from": str(old.folder)}}
    whole = evolute.run(**settings, folder=tmp_path / "whole")
    cut = evolute.run(**{**settings, "stop": {"turns": 5}}, folder=tmp_path / "cut")
    shutil.rmtree(cut.folder / "checkpoints")
    shutil.rmtree(old.folder)
    evolute.resume(cut.folder, stop={"turns": 10}, display="none")
    assert canonical(cut.folder) == canonical(whole.folder)


def test_states_that_are_not_kept_are_made_again_and_the_run_is_left_alone(old):
    before = sorted(path.name for path in (old.folder / "checkpoints").iterdir())
    ref = Ref(1, 3)
    assert not (old.folder / "checkpoints" / "m0001-t000003.state").exists()
    tree = states(old.folder, [ref, old.best.turn.ref])
    assert np.array_equal(tree[old.best.turn.ref]["theta"], old.best.state["theta"])
    turn = old.population.find(ref)
    assert 1.2 - float(tree[ref]["theta"] @ tree[ref]["theta"]) == pytest.approx(turn.score)
    assert sorted(path.name for path in (old.folder / "checkpoints").iterdir()) == before


@pytest.mark.parametrize(
    ("overrides", "turn", "said"),
    [(["population=5"], 4, "a fork has as many members"), ([], 10, "the run has turns 0 to 9")],
)
def test_what_cannot_be_forked_is_said_in_a_sentence(old, tmp_path, overrides, turn, said):
    with pytest.raises(ConfigError, match=said):
        fork(old.folder, turn, target=tmp_path / "new", overrides=overrides)
    assert not (tmp_path / "new").exists()
