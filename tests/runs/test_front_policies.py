"""Diverse Pong agents, on a small scale: what objectives are made of, and the policies and videos of a front."""

from __future__ import annotations

import numpy as np
import pytest

import evolute
from evolute.cli.policy import export_front, film_ends
from evolute.config.error import ConfigError
from evolute.policy import load

pytestmark = pytest.mark.slow(reason="trains PPO on Pong with channels, exports a front and films both of its ends")
SMALL = {"envs": 8, "unroll": 64, "widths": [16], "minibatches": 2, "epochs": 1}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    settings = {f"ppo.{name}": value for name, value in SMALL.items()}
    folder = tmp_path_factory.mktemp("diverse") / "run"
    more = {"interval": 16_384, "population": 4, "stop": {"turns": 2}, "display": "none", "evaluation": {"members": 1}}
    return evolute.run(preset="pong-diverse", folder=folder, **more, **settings)


def test_objectives_are_made_of_the_return_and_the_means_of_a_step(run):
    for member in run.population.members:
        metrics = member.latest.report.metrics
        for name, value in zip(("lazy", "busy"), member.latest.objectives, strict=True):
            assert 0 <= metrics[f"per_step.{name}"] <= 1
            assert metrics[f"per_step.{name}"] == pytest.approx(metrics[f"return.{name}"] / metrics["episode_length"])
            assert value == pytest.approx(0.025 * metrics["return"] + metrics[f"per_step.{name}"])
        assert metrics["return"] == metrics["return.point"]


def test_a_front_is_exported_member_by_member(run, tmp_path, capsys):
    export_front(run.folder, tmp_path / "front")
    names = [f"policy-m{agent.member}-t{agent.turn.ref.turn}.npz" for agent in run.front]
    assert sorted(path.name for path in (tmp_path / "front").iterdir()) == sorted(names)
    assert capsys.readouterr().out.count("wrote ") == len(run.front)
    for agent, name in zip(run.front, names, strict=True):
        obs = np.zeros(10, np.float32)
        assert load(tmp_path / "front" / name)(obs, greedy=True) == agent.policy(obs, greedy=True)


def test_both_ends_of_a_front_are_filmed_side_by_side(run, tmp_path, capsys):
    from PIL import Image

    film_ends(run.folder, tmp_path / "ends.gif", seed=1)
    with Image.open(tmp_path / "ends.gif") as film:
        assert film.size == ((328, 160) if len(run.front) > 1 else (160, 160))
    out = capsys.readouterr().out
    assert f"left: member {run.front[0].member} after turn {run.front[0].turn.ref.turn}, 0.025*return+per_step.lazy" in out


def test_a_run_with_one_score_has_no_front_to_film_or_export(tmp_path):
    toy = evolute.run(preset="toy", stop={"turns": 1}, folder=tmp_path / "toy", display="none")
    with pytest.raises(ConfigError, match="has no front"):
        export_front(toy.folder, tmp_path / "front")
    with pytest.raises(ConfigError, match="--ends records a video"):
        film_ends(toy.folder, None, seed=1)
