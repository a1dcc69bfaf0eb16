"""Games move by move: between players of any kind, with a person, and on video."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest

import evolute
from evolute.cli.games import play_game
from evolute.cli.human import board_of
from evolute.cli.main import play
from evolute.config.error import ConfigError
from evolute.envs.make import make_game
from evolute.envs.spec import EnvSpec
from evolute.runs.playthrough import game_of, member, moments, opponent
from evolute.runs.video import record_match

ROUNDS = 10


def always(action: int):
    return lambda situation: action


def test_a_game_goes_on_until_it_is_over():
    game = make_game(EnvSpec("matrix:rps"))
    seen = list(moments(game, [always(0), always(1)], seed=0))
    assert len(seen) == ROUNDS + 1
    assert [moment.over for moment in seen] == [False] * ROUNDS + [True]
    assert seen[-1].returns.tolist() == [-ROUNDS, ROUNDS]
    assert seen[1].moved == ((0, 0), (1, 1))
    assert game.text(seen[1].state, 1) == "you played paper against rock: +1\nround 2 of 10"


def test_it_is_broken_off_at_a_limit():
    game = make_game(EnvSpec("matrix:rps"))
    assert len(list(moments(game, [always(1), always(1)], seed=0, limit=5))) == 6


def test_bots_play_and_unknown_ones_are_named():
    game = make_game(EnvSpec("pong"))
    strong, weak = (opponent(game, name) for name in ("built_in", "random"))
    last = list(moments(game, [strong.player(0, 0), weak.player(1, 0)], seed=0))[-1]
    assert last.returns[0] > 0
    with pytest.raises(ConfigError, match=r"neither a run nor a bot of this game.*; bots are random, built_in$"):
        opponent(game, "built-in")


def test_the_same_seed_is_the_same_game(rps):
    def returns(seed):
        game = game_of(rps)
        players = [
            member(rps, 0, greedy=False).player(0, seed),
            opponent(game, "random").player(1, seed),
        ]
        return [np.asarray(moment.state.last).tolist() for moment in moments(game, players, seed=seed)]

    assert returns(3) == returns(3)
    assert returns(3) != returns(4)


def test_the_best_of_another_run_samples_as_in_games_that_are_counted(rps):
    game = game_of(rps)
    rival = opponent(game, str(rps))

    def played(seed):
        return [moment.moved for moment in moments(game, [always(0), rival.player(1, seed)], seed=0)]

    assert played(1) == played(1)
    assert played(1) != played(2)


def typed(monkeypatch, *lines: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def human(folder, **more):
    play_game(folder, None, "human", **{"games": None, "seed": 0, "video": None, "sample": None, "as_json": False, **more})


def test_a_person_plays_until_the_end_and_is_told_how_it_went(rps, monkeypatch, capsys):
    typed(monkeypatch, "?", "lizard", "rock", *["paper"] * 9, "y", *["scissors"] * 10, "n")
    human(rps)
    out = capsys.readouterr().out
    assert "Legal: rock paper scissors" in out
    assert "'lizard' is not legal here." in out
    assert "of rps plays " in out
    assert len(re.findall(r"^You (won|lost|drew): ", out, re.MULTILINE)) == 2
    assert re.search(r"2 games: won \d+, drawn \d+, lost \d+$", out)


@pytest.mark.parametrize("lines", [["q"], []])
def test_a_person_may_leave_at_any_time(rps, monkeypatch, capsys, lines):
    typed(monkeypatch, "rock", *lines)
    human(rps)
    assert capsys.readouterr().out.splitlines()[-1] == "0 games: won 0, drawn 0, lost 0"


def moves(out: str) -> list[str]:
    return re.findall(r"of rps plays (\w+)$", out, re.MULTILINE)


def test_a_member_samples_as_in_the_games_that_rated_it(rps, monkeypatch, capsys):
    for sample, alike in ((None, False), (True, False), (False, True)):
        typed(monkeypatch, *["rock"] * 30)
        human(rps, games=3, sample=sample)
        played = moves(capsys.readouterr().out)
        assert (played[:ROUNDS] == played[2 * ROUNDS :]) is alike, "the likeliest moves against rock, in the same seat"
    assert evolute.load(rps).best.policy.greedy is False


def test_without_a_seed_a_person_never_meets_the_same_games_again(rps, monkeypatch, capsys):
    def played(**more):
        typed(monkeypatch, *["rock"] * 40)
        play(rps, against="human", episodes=4, **more)
        return moves(capsys.readouterr().out)

    known = played(seed=7)
    assert known == played(seed=7)
    games = [known[start : start + ROUNDS] for start in range(0, 4 * ROUNDS, ROUNDS)]
    assert games[0] != games[2], "the person is in the same seat again, and the member draws other moves"
    assert games[1] != games[3]
    assert played() != played()


def test_as_many_games_as_were_asked_for(rps, monkeypatch, capsys):
    typed(monkeypatch, *["rock"] * 20)
    human(rps, games=2)
    out = capsys.readouterr().out
    assert "Another game?" not in out
    assert "2 games: won " in out.splitlines()[-1]


def test_what_is_not_played_move_by_move_is_refused(rps):
    with pytest.raises(ConfigError, match="is not played move by move; board, card and matrix games are"):
        board_of(make_game(EnvSpec("pong")), rps)
    with pytest.raises(ConfigError, match="leave out --video and --json"):
        human(rps, as_json=True)


def test_a_match_is_recorded(rps, tmp_path):
    image = pytest.importorskip("PIL.Image")
    frames = record_match(rps, 0, "random", tmp_path / "match.gif", seed=0, greedy=False)
    assert frames == ROUNDS + 1 + 3  # the last one stays for two seconds, at two frames a second
    with image.open(tmp_path / "match.gif") as video:
        assert video.n_frames > 1
    with pytest.raises(ConfigError, match=r"call it \.gif or \.mp4"):
        record_match(rps, 0, "random", tmp_path / "match.avi", seed=0, greedy=False)
