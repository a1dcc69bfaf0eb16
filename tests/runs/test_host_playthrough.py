"""Games on the host, move by move: with a person, on video, and against a response that was trained for it."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from tests.envs.own_zoo import Counting
from tests.runs.conftest import SMALL

import evolute
from evolute.cli.exploit import exploit
from evolute.cli.games import play_game
from evolute.cli.human import board_of
from evolute.config.error import ConfigError
from evolute.envs.make import make_game
from evolute.envs.pettingzoo_game import PettingZooGame
from evolute.envs.spec import EnvSpec
from evolute.runs.playthrough import moments
from evolute.runs.video import record_match

ZOO = "tests.envs.own_zoo"
LENGTH = 5


def trained(folder: Path, name: str) -> Path:
    settings = {f"ppo.{key}": value for key, value in SMALL.items()}
    more = {"population": 2, "interval": 64, "stop": {"turns": 1}, "display": "none", "opponents": "history"}
    space = {"lr": evolute.Float(1e-4, 1e-2, log=True)}
    return evolute.run("ppo", env=f"{ZOO}:{name}", space=space, folder=folder, **more, **settings).folder


@pytest.fixture(scope="module")
def pictured(tmp_path_factory) -> Path:
    return trained(tmp_path_factory.mktemp("games") / "pictured", "Pictured")


def test_a_game_on_the_host_goes_on_until_it_is_over():
    game = PettingZooGame("counting", lambda: Counting(LENGTH))

    def lowest(situation):
        return int(np.flatnonzero(situation.legal)[0])

    seen = list(moments(game, [lowest, lowest], seed=0))
    assert [moment.moved for moment in seen] == [(), ((0, 1),), ((1, 0),), ((0, 0),), ((1, 1),), ((0, 0),)]
    assert [moment.over for moment in seen] == [False] * LENGTH + [True]
    np.testing.assert_allclose(seen[-1].returns, [-0.3 - 1, -0.2 + 1])
    assert len(list(moments(game, [lowest, lowest], seed=0, limit=2))) == 3


def test_a_person_plays_a_member_on_the_host(pictured, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("0\n1\n0\n2\n1\n2\n"))
    play_game(pictured, None, "human", games=1, seed=0, video=None, sample=None, as_json=False)
    out = capsys.readouterr().out
    assert "You see: [0.]\nLegal: 1 2" in out
    assert "'0' is not legal here." in out
    assert out.count("of pictured plays ") == 2
    assert out.splitlines()[-1] == "1 game: won 0, drawn 0, lost 1"


def test_what_all_play_at_once_is_not_for_a_person(pictured):
    with pytest.raises(ConfigError, match="is not played move by move"):
        board_of(make_game(EnvSpec(f"{ZOO}:Hunt")), pictured)


def test_a_match_on_the_host_is_recorded(pictured, tmp_path):
    image = pytest.importorskip("PIL.Image")
    frames = record_match(pictured, None, "random", tmp_path / "match.gif", seed=0, greedy=False)
    assert frames == LENGTH + 1 + 3  # the last one stays for two seconds, at two frames a second
    with image.open(tmp_path / "match.gif") as video:
        assert video.size == (160, 160)
        video.seek(LENGTH)
        assert np.asarray(video.convert("L")).min() > 200


def test_what_cannot_be_recorded_is_refused_before_it_is_played(tmp_path, capsys):
    folder = trained(tmp_path / "counting", "Counting")
    with pytest.raises(ConfigError, match=r"cannot be recorded: what makes it takes no render_mode; let it take render_mode"):
        play_game(folder, None, "random", games=4, seed=0, video=tmp_path / "match.gif", sample=None, as_json=False)
    assert capsys.readouterr().out == ""


def test_a_response_is_trained_in_a_game_on_the_host(pictured, tmp_path, capsys):
    target = tmp_path / "response"
    exploit(pictured, steps="128", members=2, games=20, target=target, overrides=[], as_json=False)
    assert f"the response in {target} wins " in capsys.readouterr().out
