"""What stays in memory and on disk: whatever an order can reach, what is asked to be kept, and no more."""

from __future__ import annotations

import contextlib

import pytest

import evolute
from evolute.core.durability import Keep, Keeper, reachable
from evolute.core.order import Ref
from evolute.core.population import descent
from evolute.report.data.details import disk
from evolute.store.checkpoints import Checkpoints
from evolute.store.journal import Journal


def climb(state, hparams, steps, seed):
    total = (0.0 if state is None else state["total"]) + hparams["h"] + (seed % 7) / 10
    return {"total": total}, {"score": total}


def train(tmp_path, keep: str, durable: int | str = 1, turns: int = 12, **settings):
    return evolute.run(
        climb,
        space={"h": evolute.Float(0.0, 1.0)},
        population=4,
        stop={"turns": turns},
        keep=keep,
        durable=durable,
        runs=tmp_path,
        display="none",
        **settings,
    )


def durable_refs(run) -> set[Ref]:
    return Checkpoints(run.folder / "checkpoints").refs()


def test_last_keeps_the_newest_states_of_every_member(tmp_path):
    assert durable_refs(train(tmp_path, "last")) == {Ref(member, 11) for member in range(4)}


def test_last_two_keeps_the_generation_before_as_well(tmp_path):
    refs = durable_refs(train(tmp_path, "last 2", durable=3))
    assert {Ref(member, 11) for member in range(4)} <= refs
    assert len(refs) <= 8


def test_every_n_keeps_all_members_of_those_turns(tmp_path):
    refs = durable_refs(train(tmp_path, "last, every 5", durable=100))
    assert {Ref(member, turn) for member in range(4) for turn in (0, 5, 10)} <= refs


def test_best_keeps_the_best_state_ever_even_when_its_member_has_moved_on(tmp_path):
    def peak(state, hparams, steps, seed):
        turn = 0 if state is None else state["turn"]
        return {"turn": turn + 1}, {"score": -abs(turn - 4) + hparams["h"]}

    settings = {"space": {"h": evolute.Float(0.0, 0.5)}, "population": 3, "stop": {"turns": 10}, "durable": 1}
    run = evolute.run(peak, keep="last, best", runs=tmp_path, display="none", **settings)
    assert 4 in {ref.turn for ref in durable_refs(run)}


def test_lineage_of_best_keeps_the_winners_ancestors(tmp_path):
    run = train(tmp_path, "last, lineage-of-best")
    line = {turn.ref for turn in descent(run.best.turn)}
    assert line <= durable_refs(run)
    assert durable_refs(run) <= line | {Ref(member, 11) for member in range(4)}


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("keep", ["last", "last 2, best", "last, best 3, every 4", "last, lineage-of-best"])
def test_disk_use_stays_under_the_bound_that_show_prints(tmp_path, keep, mode, monkeypatch):
    most = 0
    written = Checkpoints.write

    def write(self, ref, tree):
        nonlocal most
        size = written(self, ref, tree)
        most = max(most, sum(path.stat().st_size for path in self.folder.iterdir()))
        return size

    monkeypatch.setattr(Checkpoints, "write", write)
    run = train(tmp_path, keep, mode=mode, engine="simulated", simulated={"durations": [1, 2, 5]})
    assert 0 < most <= disk(run)["checkpoints_at_most"]


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("rhythm", [1, 2, 5])
def test_collection_never_removes_what_an_order_can_still_reach(tmp_path, monkeypatch, mode, rhythm):
    """After every decision, each state that is needed is in memory, durable, or can be made again from durable ones."""
    tended = Keeper.tend

    def tend(self, population, retain):
        tended(self, population, retain)
        on_disk = self.checkpoints.refs()
        assert self.durable == on_disk
        in_memory = set(self.engine.worker._states)
        assert reachable(population, retain) <= in_memory | on_disk
        for ref in reachable(population, retain) - on_disk:
            ancestors = [turn.ref for turn in descent(population.find(ref))]
            fresh = population.find(ancestors[-1]).order.start is None
            assert fresh or set(ancestors) & on_disk

    monkeypatch.setattr(Keeper, "tend", tend)
    train(tmp_path, "last", durable=rhythm, mode=mode, engine="simulated", simulated={"durations": [1, 3, 2, 7]})


def test_memory_holds_no_more_than_what_is_reachable(tmp_path, monkeypatch):
    sizes = []
    tended = Keeper.tend

    def tend(self, population, retain):
        tended(self, population, retain)
        sizes.append(len(self.engine.worker._states))

    monkeypatch.setattr(Keeper, "tend", tend)
    train(tmp_path, "last", durable=100, turns=50)
    assert max(sizes) <= 4 * 3 + 1


def test_the_journal_says_how_large_states_are(tmp_path):
    run = train(tmp_path, "last")
    with contextlib.closing(Journal.read(run.folder)) as journal:
        size = journal.meta.state_bytes
    assert size >= max(path.stat().st_size for path in (run.folder / "checkpoints").iterdir())


def test_a_bound_counts_what_a_generation_can_hold():
    assert Keep(last=1, best=0).most(4, 10, barrier=True) == 16
    assert Keep(last=2, best=1, every=5).most(4, 10, barrier=True) == 3 * 9 + 12


def test_a_learner_that_is_saved_at_every_turn_stays_under_the_bound_too(tmp_path):
    class Trainer:
        def train(self, state, hparams, steps, seed):
            return "state", {"score": hparams["h"]}

        def save(self, state, folder):
            (folder / "file").write_text(state)

        def load(self, folder):
            return (folder / "file").read_text()

    settings = {"space": {"h": evolute.Float(0.0, 1.0)}, "population": 4, "stop": {"turns": 40}, "durable": 100}
    run = evolute.run(Trainer, runs=tmp_path, display="none", **settings)
    assert disk(run)["checkpoints"] <= disk(run)["checkpoints_at_most"]
    assert len(durable_refs(run)) <= 27
