"""Logs for other tools, read back by those tools: they hold what the journal holds, also after a run has gone on."""

from __future__ import annotations

import csv
import json

import pytest

import evolute
from evolute.config.error import ConfigError
from evolute.core.population import descent
from evolute.logs.event_file import masked_crc

SPACE = {"h0": evolute.Float(0, 1), "h1": evolute.Float(0, 1), "kind": evolute.Choice("a", "b")}


def train(state, hparams, steps, seed):
    if seed % 17 == 0:
        raise ValueError("unlucky")
    total = (0.0 if state is None else state) + hparams["h0"]
    return total, {"score": total, "loss": -total}


def trained(folder, log, turns=8, **more):
    settings = {"population": 4, "interval": 5, "stop": {"turns": turns}, "display": "none", "log": log, **more}
    return evolute.run(train, space=SPACE, folder=folder, **settings)


def went_on(folder, log):
    """A run that ended and then went on, whose log must be as if it had never stopped."""
    trained(folder, log, turns=5)
    return evolute.resume(folder, learner=train, stop={"turns": 8}, display="none")


def scalars(folder) -> dict[str, list[tuple[int, float]]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    read = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})
    read.Reload()
    return {tag: [(event.step, event.value) for event in read.Scalars(tag)] for tag in read.Tags()["scalars"]}


def test_the_checksum_is_the_one_of_the_standard():
    rotated = (masked_crc(b"123456789") - 0xA282EAD8) & 0xFFFFFFFF
    assert (rotated << 15 | rotated >> 17) & 0xFFFFFFFF == 0xE3069283


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tensorboard_reads_members_lines_and_events(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = went_on(tmp_path / "run", "tensorboard")
    place = run.folder / "logs" / "tensorboard"
    for member in run.population.members:
        turns = [turn for turn in list(member.history())[::-1] if not turn.failed]
        found = scalars(place / f"member-{member.slot:04d}")
        assert [value for _, value in found["score"]] == pytest.approx([turn.score for turn in turns])
        assert [value for _, value in found["hparams/h0"]] == pytest.approx([turn.order.hparams["h0"] for turn in turns])
        assert [value for _, value in found["metrics/loss"]] == pytest.approx([turn.report.metrics["loss"] for turn in turns])
        line = list(descent(member.latest))[::-1]
        assert scalars(place / f"line-{member.slot:04d}")["score"] == [(turn.steps, pytest.approx(turn.score)) for turn in line]
    texts = EventAccumulator(str(place / "events"), size_guidance={"tensors": 0})
    texts.Reload()
    said = [event.tensor_proto.string_val[0].decode() for event in texts.Tensors("events")]
    taken = [t for m in run.population.members for t in m.history() if t.order.start and t.order.start.member != m.slot]
    assert sum("took over the weights" in text for text in said) == sum(not turn.failed for turn in taken) > 0
    assert any("unlucky" in text for text in said)


def test_the_csv_file_has_every_turn(tmp_path):
    run = went_on(tmp_path / "run", ["csv"])
    with (run.folder / "logs" / "turns.csv").open() as file:
        rows = {(int(row["member"]), int(row["turn"])): row for row in csv.DictReader(file)}
    turns = {turn.ref: turn for member in run.population.members for turn in member.history()}
    assert rows.keys() == turns.keys()
    for ref, row in rows.items():
        assert row["score"] == ("" if turns[ref].score is None else str(turns[ref].score))
        assert row["hparams.kind"] == turns[ref].order.hparams["kind"]


@pytest.mark.filterwarnings("ignore")
def test_wandb_offline_keeps_the_run(tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    run = trained(tmp_path / "run", "wandb", turns=3)
    mark = json.loads((run.folder / "logs" / "wandb.json").read_text())
    assert mark["last"] == [[slot, 2] for slot in range(4)]
    assert list((run.folder / "logs").glob(f"wandb/offline-run-*/run-{mark['name']}.wandb"))
    assert not run.notes


@pytest.mark.filterwarnings("ignore")
def test_mlflow_keeps_the_run_in_its_folder_and_goes_on_with_it(tmp_path, monkeypatch):
    tracking = pytest.importorskip("mlflow.tracking")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    run = went_on(tmp_path / "run", "mlflow")
    client = tracking.MlflowClient(f"sqlite:///{run.folder}/logs/mlflow/mlflow.db")
    name = json.loads((run.folder / "logs" / "mlflow.json").read_text())["name"]
    for member in run.population.members:
        found = {metric.step: metric.value for metric in client.get_metric_history(name, f"member-{member.slot:04d}/score")}
        assert found == {turn.ref.turn: turn.score for turn in member.history() if not turn.failed}
    best = {metric.step: metric.value for metric in client.get_metric_history(name, "line-of-best/score")}
    assert list(best.values())[-1] == run.best.score


def test_a_log_that_fails_does_not_take_the_run_down(tmp_path, monkeypatch):
    def full(self, turns):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("evolute.logs.csv_log.CsvLog.turns", full)
    assert len(list(trained(tmp_path / "run", "csv").population[0].history())) == 8


def test_an_unknown_log_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="'paper' is none of: tensorboard, csv, wandb, mlflow"):
        trained(tmp_path / "run", "csv,paper")
