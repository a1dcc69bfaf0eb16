"""Logs for other tools, read back by those tools: they hold what the journal holds, also after a run was resumed."""

from __future__ import annotations

import csv
import json
import sys

import pytest

import evolute
from evolute.config.error import ConfigError
from evolute.core.names import shipped
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


def resumed(folder, log):
    """A run that ended and was resumed, whose log must be as if it had never stopped."""
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

    run = resumed(tmp_path / "run", "tensorboard")
    place = run.folder / "logs" / "tensorboard"
    for member in run.population.members:
        turns = [turn for turn in list(member.history())[::-1] if not turn.failed]
        read = scalars(place / f"member-{member.slot:04d}")
        assert [value for _, value in read["score"]] == pytest.approx([turn.score for turn in turns])
        assert [value for _, value in read["hparams/h0"]] == pytest.approx([turn.order.hparams["h0"] for turn in turns])
        assert [value for _, value in read["metrics/loss"]] == pytest.approx([turn.report.metrics["loss"] for turn in turns])
        line = list(descent(member.latest))[::-1]
        assert scalars(place / f"line-{member.slot:04d}")["score"] == [(turn.steps, pytest.approx(turn.score)) for turn in line]
    texts = EventAccumulator(str(place / "events"), size_guidance={"tensors": 0})
    texts.Reload()
    texts_read = [event.tensor_proto.string_val[0].decode() for event in texts.Tensors("events")]
    taken = [t for m in run.population.members for t in m.history() if t.order.start and t.order.start.member != m.slot]
    assert sum("took over the weights" in text for text in texts_read) == sum(not turn.failed for turn in taken) > 0
    assert any("unlucky" in text for text in texts_read)


def test_the_csv_file_has_every_turn(tmp_path):
    run = resumed(tmp_path / "run", ["csv"])
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


@pytest.mark.slow(reason="MLflow itself is slow to start")
@pytest.mark.filterwarnings("ignore")
def test_mlflow_keeps_the_run_in_its_folder_and_continues_it(tmp_path, monkeypatch):
    tracking = pytest.importorskip("mlflow.tracking")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    run = resumed(tmp_path / "run", "mlflow")
    client = tracking.MlflowClient(f"sqlite:///{run.folder}/logs/mlflow/mlflow.db")
    name = json.loads((run.folder / "logs" / "mlflow.json").read_text())["name"]
    for member in run.population.members:
        logged = {metric.step: metric.value for metric in client.get_metric_history(name, f"member-{member.slot:04d}/score")}
        assert logged == {turn.ref.turn: turn.score for turn in member.history() if not turn.failed}
    best = {metric.step: metric.value for metric in client.get_metric_history(name, "line-of-best/score")}
    assert list(best.values())[-1] == run.best.score


def test_a_log_that_fails_is_reported_once_and_does_not_take_the_run_down(tmp_path, monkeypatch, capsys):
    def full(self, turns):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("evolute.logs.csv.CsvLog.turns", full)
    assert len(list(trained(tmp_path / "run", "csv", display="auto").population[0].history())) == 8
    shown = "".join(capsys.readouterr())
    assert shown.count("the log csv failed and is no longer written: OSError: [Errno 28] No space left on device") == 1


def broken(run):
    raise OSError(13, "Permission denied")


def test_a_log_that_cannot_be_opened_is_reported_and_does_not_take_the_run_down(tmp_path, capsys):
    run = trained(tmp_path / "run", f"{__name__}:broken,csv", display="auto")
    assert (run.folder / "logs" / "turns.csv").exists()
    assert "".join(capsys.readouterr()).count(f"the log {__name__}:broken failed and is no longer written") == 1


def test_a_log_that_is_no_function_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="should be a function that opens a log, and is a dict"):
        trained(tmp_path / "run", f"{__name__}:SPACE")
    assert not (tmp_path / "run").exists()


def test_an_unknown_log_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"no log 'tensorbord'; did you mean 'tensorboard'.*package.module:name"):
        trained(tmp_path / "run", "csv,tensorbord")
    with pytest.raises(ConfigError, match=r"log = nowhere:lines: .*no module 'nowhere'"):
        trained(tmp_path / "run", "nowhere:lines")
    assert not (tmp_path / "run").exists()


def test_a_sink_is_one_module_that_defines_its_own_name():
    assert shipped("logs") == ("csv", "mlflow", "tensorboard", "wandb")


OWN = """
import missing_for_tests
def lines(run): ...
"""


@pytest.mark.parametrize("library", ["wandb", "mlflow.tracking"])
def test_a_missing_library_is_named_before_a_folder_is_made(tmp_path, monkeypatch, library):
    name = library.partition(".")[0]
    monkeypatch.delitem(sys.modules, f"evolute.logs.{name}", raising=False)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ConfigError, match=rf"log = {name}: .*; pip install 'evolute\[{name}\]'"):
        trained(tmp_path / "run", name)
    assert not (tmp_path / "run").exists()


def test_a_library_that_a_users_own_sink_misses_is_named(tmp_path, monkeypatch):
    (tmp_path / "needy_sink.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match="no module 'missing_for_tests'"):
        trained(tmp_path / "run", "needy_sink:lines")


class Lines:
    def __init__(self, path):
        self.file = path.open("w")

    def turns(self, turns):
        self.file.writelines(f"{turn.ref.member} {turn.ref.turn}\n" for turn in turns)

    def event(self, text):
        self.file.write(f"event {text}\n")

    def close(self, population):
        self.file.close()


def lines(run):
    return Lines(run.folder / "lines.txt")


def events(run):
    """What the own sink of a run was told."""
    found = (run.folder / "lines.txt").read_text().splitlines()
    return [line.removeprefix("event ") for line in found if line.startswith("event ")]


def test_a_users_own_sink_is_told_of_failures(tmp_path):
    run = trained(tmp_path / "run", f"{__name__}:lines")
    failed = [turn.ref for member in run.population.members for turn in member.history() if turn.failed]
    assert failed
    assert sorted(text for text in events(run) if "failed turn" in text) == [
        f"member {ref.member} failed turn {ref.turn}: ValueError: unlucky" for ref in sorted(failed)
    ]


def test_a_users_own_sink_gets_every_turn_also_after_a_resume(tmp_path):
    run = resumed(tmp_path / "run", f"csv,{__name__}:lines")
    rows = [line.split() for line in (run.folder / "lines.txt").read_text().splitlines() if not line.startswith("event")]
    assert sorted((int(member), int(turn)) for member, turn in rows) == [(m, t) for m in range(4) for t in range(8)]
    assert (run.folder / "logs" / "turns.csv").exists()
