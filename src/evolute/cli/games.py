"""The commands about members that meet in a game: `ratings` and `tournament`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from evolute.cli.agents import chosen
from evolute.cli.files import write
from evolute.config.error import ConfigError
from evolute.core.order import Json
from evolute.report.data.standings import lines, table
from evolute.report.data.standings import ratings as ratings_of
from evolute.report.formats import who
from evolute.report.rated_lines import print_lines
from evolute.report.summary import printed, ratings_table
from evolute.report.tournament import circle_sentence, tournament_page
from evolute.runs.result import Run
from evolute.runs.tournament import against
from evolute.runs.tournament import tournament as played


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


def play_against(folder: Path, member: int | None, other: str, *, games: int, seed: int, as_json: bool) -> None:
    """Print how a member fares against the best of another run, or a bot."""
    with Console(file=sys.stderr).status("playing"):
        match = against(folder, member, other, games=games, seed=seed)
    low, high = _interval(match.score, match.games)
    if as_json:
        data = {"against": other, "games": match.games, "score": match.score, "low": low, "high": high, "return": match.gain}
        print(json.dumps(data))
        return
    print(f"{who(chosen(Run.open(folder), member))}:")
    print(f"{match.games:,} games against {other}, with sampled actions, in each seat equally often")
    print(f"wins {match.score:.0%}, draws counting half (90% interval {low:.0%} to {high:.0%}); mean return {match.gain:.4g}")


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
    for column in ("", "player", "rating", "Nash mixture", "alpha-rank"):
        grid.add_column(column, justify="left" if column == "player" else "right", no_wrap=True)
    for place, one in enumerate(players, start=1):
        shares = (f"{one[column]:.0%}" for column in ("mixture", "alpha_rank"))
        grid.add_row(str(place), Text(one["name"]), f"{one['rating']:.0f} ± {one['deviation']:.0f}", *shares)
    printed(grid)
    games = int(max(max(one["games"]) for one in players))
    printed(Text(f"\n% of {games:,} games that the row won against the column; a draw is half a win"))
    width = max(3, len(str(len(players)))) + 1
    printed(Text(" " * width + "".join(f"{place:>{width}}" for place in range(1, len(players) + 1)), style="bold"))
    for place, one in enumerate(players):
        cells = [f"{100 * share:.0f}" if count else "·" for share, count in zip(one["wins"], one["games"], strict=True)]
        printed(Text(f"{place + 1:>{width}}" + "".join(f"{cell:>{width}}" for cell in cells)))
    if circle := circle_sentence(data):
        printed(Text(circle, style="yellow"))
