"""The commands about members that meet in a game: `ratings` and `tournament`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from evolute.cli.agents import chosen
from evolute.cli.files import write
from evolute.cli.human import play_human
from evolute.config.error import ConfigError
from evolute.core.order import Json, PlayedGames
from evolute.report import formats
from evolute.report.data.standings import lines, table
from evolute.report.data.standings import ratings as ratings_of
from evolute.report.formats import who
from evolute.report.rated_lines import print_lines
from evolute.report.summary import printed, ratings_table
from evolute.report.tournament import circle_sentence, tournament_page
from evolute.runs.rated import rating_text
from evolute.runs.result import Run
from evolute.runs.tournament import GAMES, against
from evolute.runs.tournament import tournament as played
from evolute.runs.video import record_match
from evolute.store.evaluation import WAYS

HUMAN = "human"
ON_VIDEO = "the member has seat 0: orange on boards of pgx, green in pong and soccer"


def ratings(folders: Sequence[Path], *, turns: bool, as_json: bool) -> None:
    """Print how the members of runs are rated, or with `turns` their ratings along their lines of descent."""
    runs = [Run.open(folder) for folder in folders]
    data = [{**ratings_of(run), **({"lines": lines(run)} if turns else {})} for run in runs]
    for folder, one in zip(folders, data, strict=True):
        if not one["members"]:
            raise ConfigError(f"the members of {folder} are not rated: they train alone, or have not played yet")
    if as_json:
        print(json.dumps(data[0] if len(data) == 1 else data))
        return
    for number, (run, one) in enumerate(zip(runs, data, strict=True)):
        if len(runs) > 1:
            printed(Text(f"{chr(10) * bool(number)}{run.folder}", style="bold"))
        if turns:
            print_lines(run.ratings)
        else:
            printed(ratings_table(one))
    if len(runs) > 1:
        printed(Text("\nratings of different runs cannot be compared: `evolute tournament RUN RUN` lets their best meet"))


def play_game(
    folder: Path,
    member: int | None,
    other: str,
    *,
    games: int | None,
    seed: int,
    video: Path | None,
    sample: bool | None,
    as_json: bool,
) -> None:
    """Let a member play against the best of another run, a bot or a person."""
    greedy = None if sample is None else not sample
    if other == HUMAN:
        if video or as_json:
            raise ConfigError("--against human is played in the terminal: leave out --video and --json")
        play_human(folder, member, games=games, seed=seed, greedy=greedy)
        return
    greedy = chosen(Run.open(folder), member).greedy if greedy is None else greedy
    frames = 0
    if video is not None:  # first, so that a game that cannot be recorded is not played for nothing
        with Console(file=sys.stderr).status("recording"):
            frames = record_match(folder, member, other, video, seed=seed, greedy=greedy)
    play_against(folder, member, other, games=games or GAMES, seed=seed, greedy=greedy, as_json=as_json)
    if video is not None and not as_json:
        print(f"wrote {video} ({frames} frames, {formats.size(video.stat().st_size)}): {ON_VIDEO}")


def play_against(folder: Path, member: int | None, other: str, *, games: int, seed: int, greedy: bool, as_json: bool) -> None:
    """Print how a member fares against the best of another run, or a bot: won, drawn and lost by seat."""
    with Console(file=sys.stderr).status("playing"):
        played = against(folder, member, other, games=games, seed=seed, greedy=greedy)
    match, rows = played.match, by_seat(played)
    low, high = rows[-1]["low"], rows[-1]["high"]
    if as_json:
        data = {"against": other, "greedy": greedy, "games": match.games, "score": match.score, "low": low, "high": high}
        print(json.dumps({**data, "return": match.gain, "seats": rows[:-1]}))
        return
    print(f"{who(chosen(Run.open(folder), member))}:")
    print(f"{match.games:,} games against {other} {WAYS[greedy]}, in each seat equally often")
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("seat", "won", "drawn", "lost", "wins", "90% interval"):
        grid.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        counts = (f"{row[key]:,}" for key in ("won", "drawn", "lost"))
        seat = "all" if row["seat"] is None else str(row["seat"])
        grid.add_row(seat, *counts, f"{row['score']:.0%}", f"{row['low']:.0%} to {row['high']:.0%}")
    printed(grid)
    print(f"draws count as half a win; mean return {match.gain:.4g}")


def by_seat(played: PlayedGames) -> list[dict[str, Json]]:
    """How many games were won, drawn and lost in each seat and in all of them, and the share of wins with its interval."""
    seats, results = np.array(played.seats), np.array(played.results)
    return [
        _counts(None if seat is None else int(seat), results[seats == seat] if seat is not None else results)
        for seat in (*np.unique(seats), None)
    ]


def _counts(seat: int | None, results: np.ndarray) -> dict[str, Json]:
    share = float(results.mean())
    low, high = _interval(share, len(results))
    won, drawn, lost = (int((results == value).sum()) for value in (1.0, 0.5, 0.0))
    return {"seat": seat, "won": won, "drawn": drawn, "lost": lost, "score": share, "low": low, "high": high}


def _interval(share: float, games: int) -> tuple[float, float]:
    """The central 90 % of the Beta posterior of a share of games."""
    from scipy.special import betaincinv

    won, lost = 0.5 + share * games, 0.5 + (1 - share) * games
    return float(betaincinv(won, lost, 0.05)), float(betaincinv(won, lost, 0.95))


def tournament(
    folders: Sequence[Path],
    *,
    past: int,
    bots: Sequence[str] | Literal["all"],
    games: int,
    seed: int,
    path: Path | None,
    as_json: bool,
) -> None:
    """Let everybody play everybody, and print who won how often, ratings, and what mixture of players is hard to beat."""
    if path is not None and path.suffix != ".html":
        raise ConfigError(f"-o {path}: a tournament is written as a page, so call it .html")
    with Console(file=sys.stderr).status("playing") as status:
        result = played(
            folders,
            past=past,
            bots=bots,
            games=games,
            seed=seed,
            progress=lambda share, note: status.update(f"{note} ({share:.0%})"),
        )
    data = table(result)
    if as_json:
        print(json.dumps(data))
    else:
        _show(data)
    if path is not None:
        write(path, tournament_page(result, [folder.name for folder in folders]))
        if not as_json:
            print(f"wrote {path}\nopen it in a browser: {path.resolve().as_uri()}")


def _show(data: dict[str, Json]) -> None:
    players = data["players"]
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("", "player", "rating", "Nash mixture", "90% interval", "alpha-rank"):
        grid.add_column(column, justify="left" if column == "player" else "right", no_wrap=True)
    for place, one in enumerate(players, start=1):
        rating = rating_text(one["rating"], one["deviation"], by_gain=False)
        interval = f"{one['mixture_low']:.0%} to {one['mixture_high']:.0%}"
        grid.add_row(str(place), Text(one["name"]), rating, f"{one['mixture']:.0%}", interval, f"{one['alpha_rank']:.0%}")
    printed(grid)
    printed(Text(data["sentence"]))
    games = int(max(max(one["games"]) for one in players))
    printed(Text(f"\n% of {games:,} games that the row won against the column; a draw is half a win"))
    width = max(3, len(str(len(players)))) + 1
    printed(Text(" " * width + "".join(f"{place:>{width}}" for place in range(1, len(players) + 1)), style="bold"))
    for place, one in enumerate(players):
        cells = [f"{100 * share:.0f}" if count else "·" for share, count in zip(one["wins"], one["games"], strict=True)]
        printed(Text(f"{place + 1:>{width}}" + "".join(f"{cell:>{width}}" for cell in cells)))
    if circle := circle_sentence(data):
        printed(Text(circle, style="yellow"))
