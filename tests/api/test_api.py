"""Evolute from Python: the names of the config, a user's own learner, and what a run tells afterwards."""

from __future__ import annotations

import subprocess
import sys
from typing import TypedDict

import numpy as np
import pytest

import evolute
from evolute.config.error import ConfigError
from evolute.store.error import StoreError
from evolute.strategies.evolution import Evolution
from evolute.strategies.exploit import truncation
from evolute.strategies.explore import perturb


def train(state, hparams, steps, seed):
    total = (0.0 if state is None else state["total"]) + hparams["lr"] * steps
    return {"total": total, "w": np.full(3, total)}, {"score": total, "loss": -total}


SPACE = {"lr": evolute.Float(0.1, 1.0, log=True)}


class Settings(TypedDict):
    lr: float


def run(tmp_path, learner=train, **settings):
    settings = {"space": SPACE, "population": 4, "interval": 5, "stop": {"turns": 6}, **settings}
    return evolute.run(learner, runs=tmp_path, display="none", **settings)


def test_a_run_tells_the_best_its_schedule_its_line_and_its_state(tmp_path):
    best = run(tmp_path).best
    assert best.score == pytest.approx(sum(5 * hparams["lr"] for hparams in best.schedule))
    assert len(best.lineage) == len(best.schedule) == 6
    assert best.state["total"] == best.score
    assert best.state["w"].shape == (3,)
    assert best.hparams == best.schedule[-1]


def test_a_run_can_be_opened_again_without_its_learner(tmp_path):
    made = run(tmp_path)
    opened = evolute.Run.open(made.folder)
    assert opened.best.score == made.best.score
    assert opened.best.state["total"] == made.best.state["total"]
    assert opened.status == "finished"


def test_steps_end_a_run_and_the_last_turn_is_cut_to_fit(tmp_path):
    made = run(tmp_path, stop=None, steps=23)
    assert [turn.report.steps for turn in made.best.lineage] == [5, 5, 5, 5, 3]
    assert all(member.steps == 23 for member in made.population.members)


@pytest.mark.parametrize(("stop", "reason"), [({"score": 9.0}, "target score"), ({"time": 0.2}, "used its 0.2 seconds")])
def test_a_run_ends_at_a_target_score_or_a_time(tmp_path, stop, reason):
    made = run(tmp_path, stop={**stop, "turns": 10**6})
    assert reason in made.meta.ended
    if "score" in stop:
        assert made.best.score >= 9.0


def test_a_metric_with_a_minus_sign_is_minimised(tmp_path):
    made = run(tmp_path, score="-loss")
    assert made.best.score == -made.best.turn.report.metrics["loss"]
    assert made.best.score == max(member.latest.score for member in made.population.members)


def test_a_strategy_can_be_given_as_the_function_that_makes_it(tmp_path):
    def mine(plan, *, quantile: float = 0.5):
        return Evolution(plan, truncation(quantile), perturb())

    made = run(tmp_path, strategy=mine, mine={"quantile": 0.25})
    inherited = [t for m in made.population.members for t in m.history() if t.order.why.get("event") == "inherit"]
    assert len(inherited) == 5
    with pytest.raises(ConfigError, match=r"quantile=0.9"):
        run(tmp_path, strategy=mine, mine={"quantile": 0.9})


def test_a_learner_can_be_an_object_with_train_save_and_load(tmp_path):
    class Trainer:
        def __init__(self, *, scale: float = 1.0):
            self.scale = scale

        def train(self, state, hparams, steps, seed):
            total = (0.0 if state is None else state[0]) + self.scale * hparams["lr"]
            return [total], {"score": total}

        def save(self, state, folder):
            (folder / "total").write_text(str(state[0]))

        def load(self, folder):
            return [float((folder / "total").read_text())]

    for learner in (Trainer, Trainer(scale=1.0)):
        made = run(tmp_path, learner)
        assert made.best.state == [made.best.score]
    scaled = run(tmp_path, Trainer, space={**SPACE, "scale": 100.0})
    assert scaled.best.score > 50


def test_settings_are_those_of_a_preset_then_files_then_arguments(tmp_path):
    (tmp_path / "more.yaml").write_text("population: 3\nseed: 8\n")
    made = evolute.run(preset="toy", config=tmp_path / "more.yaml", seed=9, runs=tmp_path, display="none")
    assert len(made.population) == 3
    assert made.meta.identity["seed"] == 9
    assert made.meta.identity["interval"] == 4


def test_resume_goes_on_with_a_finished_run_when_its_limit_is_raised(tmp_path):
    made = run(tmp_path)
    longer = evolute.resume(made.folder, learner=train, stop={"turns": 9}, display="none")
    whole = run(tmp_path, stop={"turns": 9})
    assert longer.folder == made.folder != whole.folder
    assert longer.best.score == whole.best.score
    assert longer.best.schedule == whole.best.schedule


def test_a_learner_of_a_script_has_to_be_given_again(tmp_path):
    script = (
        "import sys, evolute\n"
        "def train(state, hparams, steps, seed): return None, {'score': hparams['h']}\n"
        "evolute.run(train, space={'h': [0, 1]}, population=2, stop={'turns': 2}, runs=sys.argv[1])\n"
    )
    (tmp_path / "script.py").write_text(script)
    subprocess.run([sys.executable, str(tmp_path / "script.py"), str(tmp_path / "runs")], check=True, capture_output=True)
    command = [sys.executable, "-m", "evolute", "resume", str(tmp_path / "runs" / "train-1"), "-m", "stop.turns=4"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "run that script again" in done.stderr


def test_asking_for_what_a_run_does_not_have_gives_a_sentence(tmp_path):
    made = run(tmp_path)
    with pytest.raises(StoreError, match="there is no member 9"):
        made.member(9)
    with pytest.raises(TypeError, match="has no policy"):
        made.best.policy(None)
    with pytest.raises(StoreError, match="not a run"):
        evolute.Run.open(tmp_path / "nowhere")


def test_arguments_of_a_training_function_are_given_by_position_and_may_have_any_names(tmp_path):
    def learn(params, config: Settings, n, key):
        return n, {"score": config["lr"] + 0 * key}

    made = run(tmp_path, learn)
    assert made.best.score == made.best.hparams["lr"]
    with pytest.raises(ConfigError, match="momentum"):
        run(tmp_path, learn, space={**SPACE, "momentum": 0.9})
    with pytest.raises(ConfigError, match=r"takes \(hparams, state, steps, seed\)"):
        run(tmp_path, lambda hparams, state, steps, seed: (state, {"score": 1.0}))


def test_the_run_folder_of_a_lambda_has_a_plain_name(tmp_path):
    made = run(tmp_path, lambda state, hparams, steps, seed: (None, {"score": hparams["lr"]}))
    assert made.folder.name == "lambda-1"


def test_progress_is_passed_to_those_who_ask_for_it(tmp_path):
    shares = []

    def slow(state, hparams, steps, seed, progress):
        progress(0.5, "half way")
        shares.append(0.5)
        return None, {"score": 0.0}

    run(tmp_path, slow)
    assert len(shares) == 24
