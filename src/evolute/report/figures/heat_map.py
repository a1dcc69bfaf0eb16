"""Shares of games as a heat map."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evolute.ratings.scale import Floats
from evolute.report.figures.chart import Series


def shares_won(won: Floats, played: Floats, names: Sequence[str], others: Sequence[str]) -> Series:
    """The share of games that each of `names` has won against each of the `others`: the first row on top.

    `won` and `played` are numbers of games, [row, column]; a pair that has not met has no cell.
    """
    rows, columns = np.nonzero(played)
    shares, counts = won[rows, columns] / played[rows, columns], played[rows, columns]
    return Series(
        "share of games won",
        columns.tolist(),
        (len(names) - 1 - rows).tolist(),
        kind="cells",
        values=(2 * shares - 1).tolist(),
        labels=[f"{100 * share:.0f}" for share in shares],
        texts=[
            f"{names[row]} won {share:.0%} of {count:,.0f} games against {others[column]}"
            for row, column, share, count in zip(rows.tolist(), columns.tolist(), shares, counts, strict=True)
        ],
    )
