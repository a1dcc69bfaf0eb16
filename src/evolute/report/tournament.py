"""A tournament as one HTML file: who beats whom, ratings, the Nash mixture and alpha-rank. It opens without a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from evolute.core.order import Json
from evolute.report.data.standings import table
from evolute.report.figures.chart import Axis, Chart, Series, to_json
from evolute.report.figures.games import NINETY
from evolute.report.figures.heat_map import shares_won
from evolute.report.html import asset, page
from evolute.runs.tournament import Tournament

NEARLY = 0.99
SCRIPTS = ("charts.js", "tournament.js")


def tournament_page(played: Tournament, runs: Sequence[str]) -> str:
    """The page of a tournament between these runs."""
    data = table(played)
    players = data["players"]
    games = round(float(played.games.max(initial=0)))
    shown = {
        "title": f"Tournament of {' and '.join(runs)}",
        "about": f"{len(players)} players, {games:,} games of each pair, with sampled actions, in each seat equally often. "
        f"By ratings {data['sentence']}.",
        "circle": circle_sentence(data),
        "charts": [to_json(chart) for chart in charts(players)],
        "columns": ["place", "player", "rating", "±", "Nash mixture", "90% interval", "gain against it", "alpha-rank"],
        "rows": [_row(place, one) for place, one in enumerate(players, start=1)],
    }
    return page(f"{shown['title']} – Evolute", shown, scripts=[asset(name) for name in SCRIPTS])


def circle_sentence(data: Mapping[str, Json]) -> str:
    """That three players go round in a circle, if they do."""
    cycle = data["cycle"]
    if cycle is None:
        return ""
    circle = " beats ".join([*cycle["players"], cycle["players"][0]])
    sure = f"{cycle['certainty']:.0%}" if cycle["certainty"] < NEARLY else f"more than {NEARLY:.0%}"
    return f"they go round in a circle: {circle} (certainty {sure})"


def charts(players: Sequence[Mapping[str, Json]]) -> list[Chart]:
    """The plots of a table of players, the best first."""
    names = [one["name"] for one in players]
    return [_payoff(players, names), _ratings(players, names), _mixture(players, names), _alpha_rank(players, names)]


def _payoff(players: Sequence[Mapping[str, Json]], names: list[str]) -> Chart:
    shares, games = (np.array([one[key] for one in players]) for key in ("wins", "games"))
    return Chart(
        "payoff",
        "Who beats whom",
        replace(_places(names), label="against the player of this place"),
        Axis("player", categories=[f"{place}  {name}" for place, name in enumerate(names, start=1)][::-1]),
        [shares_won(shares * games, games, names, names)],
        "% of games that the row won, a draw being half a win. Blue: more than half; orange: less.",
    )


def _ratings(players: Sequence[Mapping[str, Json]], names: list[str]) -> Chart:
    spread = [NINETY * one["deviation"] for one in players]
    texts = [f"{name}: ± {value:.0f} (90%)" for name, value in zip(names, spread, strict=True)]
    ratings = [one["rating"] for one in players]
    points = Series("rating", list(range(len(names))), ratings, kind="points", spread=spread, texts=texts)
    note = "With 90% intervals. 400 points more mean odds of ten to one."
    return Chart("ratings", "Ratings", _places(names), Axis("rating"), [points], note)


def _mixture(players: Sequence[Mapping[str, Json]], names: list[str]) -> Chart:
    places = list(range(len(names)))
    bars = Series("Nash mixture", places, [100 * one["mixture"] for one in players], kind="bars", texts=names)
    ends = [100 * one[key] for one in players for key in ("mixture_low", "mixture_high")]
    links = Series("90% interval", [place for place in places for _ in range(2)], ends, "winner", "links")
    note = (
        "How often to send each player against somebody who knows these shares; those with 0% add nothing. "
        "The interval says how much of it is chance."
    )
    return Chart("mixture", "Nash mixture", _places(names), Axis("share (%)"), [bars, links], note)


def _alpha_rank(players: Sequence[Mapping[str, Json]], names: list[str]) -> Chart:
    shares = [100 * one["alpha_rank"] for one in players]
    bars = Series("alpha-rank", list(range(len(names))), shares, kind="bars", texts=names)
    note = "How often a population that always takes over a better player would use each one in the long run."
    return Chart("alpha-rank", "Alpha-rank", _places(names), Axis("share of the time (%)"), [bars], note)


def _places(names: Sequence[str]) -> Axis:
    return Axis("player, by place", categories=[str(place) for place in range(1, len(names) + 1)])


def _row(place: int, one: Mapping[str, Json]) -> list[Json]:
    low, high = one["mixture_low"], one["mixture_high"]
    return [
        place,
        one["name"],
        round(one["rating"]),
        round(one["deviation"]),
        f"{one['mixture']:.1%}",
        f"{low:.0%} to {high:.0%}",
        f"{one['skill']:+.3f}",
        f"{one['alpha_rank']:.1%}",
    ]
