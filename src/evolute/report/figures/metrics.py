"""What the learner reports of its turns besides the score, along lines of descent: returns, losses, entropy, lengths."""

from __future__ import annotations

import numpy as np

from evolute.report.figures import actors
from evolute.report.figures.chart import BUDGET, Axis, Chart
from evolute.report.figures.curves import line_series
from evolute.report.figures.downsample import joined
from evolute.runs.turns import TurnTable

FIRST = (
    "return",
    "test_return",
    "episode_length",
    "policy_loss",
    "value_loss",
    "entropy",
    "kl",
    "approx_kl",
    "clipped",
    "clip_fraction",
)
"""Metrics in the order in which they are drawn; others follow as the learner names them."""
TITLES = {
    "kl": "KL divergence",
    "approx_kl": "KL divergence",
    "clipped": "Clip fraction",
    "teacher_kl": "KL divergence from the teacher",
    **{name: title for name, (title, _) in actors.TITLES.items()},
}
COUNTS = ("score", "episodes", "n_updates")
"""The score has pictures of its own, and counts say little."""
MOST = 16
"""How many metrics are drawn at most."""
SHARE = 6
"""A metric's picture has this part of the points that a picture of the score may have."""


def drawn(table: TurnTable) -> list[str]:
    """The metrics to draw: numbers that change, are not just the score, and do not tell of actors."""
    elsewhere = (*COUNTS, *actors.names(table))
    names = [name for name in table.metric_columns if name not in elsewhere and _varies(table, name)]
    known = [name for name in FIRST if name in names]
    return [*known, *(name for name in names if name not in FIRST)][:MOST]


def charts(table: TurnTable) -> list[Chart]:
    """One picture for each metric."""
    return [chart(table, name) for name in drawn(table)]


def chart(table: TurnTable, name: str) -> Chart:
    """A metric along every line of descent, the winner's in front."""
    series, note = line_series(table, table.metric_columns[name], BUDGET // SHARE)
    title, axis = f"{title_of(name)} along each line of descent", Axis("environment steps along the line")
    return Chart(f"metric-{name}", title, axis, Axis(name), series, joined("As the learner reports it for each turn.", note))


def title_of(name: str) -> str:
    """`policy_loss` as `Policy loss`, and `return.to_ball` as `Return: to ball`."""
    words = name.replace("_", " ").replace(".", ": ").strip()
    return TITLES.get(name, words[:1].upper() + words[1:])


def _varies(table: TurnTable, name: str) -> bool:
    column = table.metric_columns[name]
    known = np.isfinite(column)
    if not known.any() or np.ptp(column[known]) == 0:
        return False
    return not np.array_equal(column[known], table.own_score[known])
