"""How far a member can be exploited: exactly in matrix games, and elsewhere by a run that trains a response to it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.opponents import duels

import evolute
from evolute.cli.exploit import exploit
from evolute.config.error import ConfigError
from evolute.core.order import Ref
from evolute.runs.exploit import exact, exact_against, responded, response_config
from evolute.runs.playthrough import game_of
from evolute.runs.session import Launch


def test_a_matrix_game_is_solved_exactly(rps, capsys):
    known = exact(rps)
    assert 0 < known.exploitability < 1
    assert known.values == pytest.approx((0.0, 0.0), abs=1e-6)
    exploit(rps, steps="2M", members=4, games=1000, target=None, overrides=[], as_json=True)
    assert json.loads(capsys.readouterr().out)["exploitability"] == known.exploitability
    exploit(rps, steps="2M", members=4, games=1000, target=None, overrides=[], as_json=False)
    assert f"its exploitability is {known.exploitability:.4f} a round, exactly" in capsys.readouterr().out


@pytest.mark.parametrize(("logits", "gain"), [([50, 0, 0], 1.0), ([0, 0, 0], 0.0), ([np.log(2), 0, 0], 0.25)])
def test_known_policies_have_their_exploitability(rps, logits, gain):
    """Always rock loses every round to paper; rock half of the time loses a quarter: 1/2 - 1/4."""
    policy = evolute.load(rps).best.policy
    policy.arrays["policy/w"] = np.zeros_like(policy.arrays["policy/w"])
    policy.arrays["policy/b"] = np.array(logits, np.float32)
    assert exact_against(game_of(rps), policy).exploitability == pytest.approx(gain, abs=1e-6)


@pytest.fixture(scope="module")
def duelled(tmp_path_factory):
    return duels.run(tmp_path_factory.mktemp("duel") / "run", turns=3)


def response(folder, source, **more):
    given = {
        **duels.SETTINGS,
        "opponents": "exploit",
        "opponents.live": 0.0,
        "opponents.tables": 2,
        "init": {"from": str(source)},
    }
    return evolute.run(duels.duel, **{**given, "folder": folder, "stop": {"turns": 6}, **more})


def test_fresh_members_play_the_frozen_winner_alone(tmp_path, duelled):
    run = response(tmp_path / "run", duelled.folder)
    for slot in range(len(run.population)):
        assert run.population.find(Ref(slot, 1)).order.start is None
        assert run.population.find(Ref(slot, 2)).order.start is not None
    for one in run.population.members:
        for turn in one.history():
            if turn.ref.turn > 0:
                assert turn.order.opponents == ((Ref(0, 0),),) * 2
    assert run.population.find(Ref(0, 0)).report.digest == duelled.population.find(duelled.best.turn.ref).report.digest
    assert (run.folder / "imported" / "m0000-t000000.state").exists()


def test_a_response_is_resumed_like_any_run(tmp_path, duelled, stopped_at):
    response(tmp_path / "whole", duelled.folder)
    stopped_at(25, lambda: response(tmp_path / "cut", duelled.folder))
    response(tmp_path / "cut", duelled.folder)
    assert duels.canonical(tmp_path / "cut") == duels.canonical(tmp_path / "whole")


def test_a_response_has_the_settings_of_its_run(rps):
    config = response_config(rps, steps="500k", members=3)
    assert (config.opponents.name, config.strategy.name, config.settings.population) == ("exploit", "pbt", 3)
    assert config.stop.steps == 500_000
    assert config.env.name == "matrix:rps"
    assert list(config.space) == ["lr"]
    assert config.learner.settings["widths"] == (4,)


def test_settings_of_other_choosers_and_strategies_are_left_out(tmp_path):
    more = {"opponents": "league", "league.mains": 2, "strategy": "pbt_marl", "pbt_marl.burn_in": 2}
    config = response_config(duels.run(tmp_path / "run", turns=1, **more).folder, steps=10, members=2)
    assert (config.opponents.name, config.strategy.name) == ("exploit", "pbt")


def test_members_that_train_alone_cannot_be_exploited(tmp_path):
    alone = evolute.run(preset="toy", population=2, stop={"turns": 1}, folder=tmp_path / "run", display="none")
    with pytest.raises(ConfigError, match="train alone"):
        responded(alone.folder, Launch())


@pytest.mark.slow(reason="trains a response to a weak player of tic-tac-toe, which it beats by a clear margin")
def test_a_weak_player_is_exploited(tmp_path, capsys, monkeypatch):
    pytest.importorskip("pgx")
    monkeypatch.chdir(tmp_path)
    tiny = {"ppo.envs": 16, "ppo.unroll": 32, "ppo.widths": [32]}
    more = {"population": 2, "interval": 512, "stop": {"turns": 1}, "display": "none", "opponents": "history"}
    space = {"lr": evolute.Float(1e-3, 5e-3, log=True)}
    weak = evolute.run("ppo", env="pgx:tic_tac_toe", space=space, folder="weak", **more, **tiny)
    exploit(weak.folder, steps="60k", members=2, games=200, target=None, overrides=["interval=15k"], as_json=False)
    out = capsys.readouterr().out
    assert "it can be exploited by at least 0." in out
    assert (tmp_path / "runs" / "weak-exploit-1").is_dir()
