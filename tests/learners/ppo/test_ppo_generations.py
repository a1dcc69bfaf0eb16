"""Generations of PPO's architectures, whole: taught, thinned out, resumed and replayed."""

from __future__ import annotations

import contextlib

import pytest

import evolute
from evolute.runs.replay import replay
from evolute.runs.session import Launch
from evolute.store.journal import Journal

pytestmark = [
    pytest.mark.slow(reason="a generation of real networks, compiled with and without a teacher, and trained three times"),
    pytest.mark.timeout(900),
]
SETTINGS = {
    "learner": "ppo", "env": "CartPole-v1", "population": 2, "interval": 256, "stop": {"turns": 16}, "display": "none",
    "strategy": "bg_pbt", "bg_pbt": {"generations": 1, "longest": 2, "taught": 3, "candidates": 2}, "seed": 1,
    "ppo": {
        "envs": 4, "unroll": 32, "minibatches": 2, "epochs": 2, "lr": "log[1e-4, 1e-2]", "width": "ordinal[8, 16]",
        "depth": 1, "teacher_epochs": 2,
    },
    "evaluation": {"members": 0},
}  # fmt: skip


def canonical(folder) -> str:
    with contextlib.closing(Journal.read(folder)) as journal:
        return journal.canonical()


def test_networks_of_other_shapes_are_taught_resumed_and_replayed_to_the_bit(tmp_path, stopped_at):
    whole = evolute.run(**SETTINGS, folder=tmp_path / "whole")
    turns = [turn for member in whole.population.members for turn in member.history()]
    assert not any(turn.failed for turn in turns)
    taught = [turn for turn in turns if turn.order.teacher is not None]
    assert len(taught) == 2 * 6
    assert {turn.order.hparams["width"] for turn in taught} == {8, 16}, "one of them is not the teacher's"
    stopped_at(70, lambda: evolute.run(**SETTINGS, durable=100, folder=tmp_path / "again"))
    evolute.run(**SETTINGS, durable=100, folder=tmp_path / "again")
    assert canonical(tmp_path / "again") == canonical(tmp_path / "whole")
    student = next(
        turn.ref.member for turn in turns if turn.order.why.get("rung") == 3 and turn.parent.order.teacher is not None
    )
    found = replay(whole.member(student), Launch(folder=tmp_path / "replay"), exact=True, seed=None)
    assert found.same == len(found.line)
