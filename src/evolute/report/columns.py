"""Tables that fit a terminal: first numbers lose digits, then columns are left out; no number is ever cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

GAP = 2


@dataclass(frozen=True)
class Column:
    """A column of texts. `short` are its texts with fewer digits; texts may be cut down to `least` characters, if it is set.

    Where there is no room, those that are not `needed` are left out before the others. The first column always stays.
    """

    name: str
    texts: Sequence[str]
    short: Sequence[str] | None = None
    needed: bool = False
    left: bool = False
    least: int | None = None
    styles: Sequence[str] = ()

    @property
    def width(self) -> int:
        return max(cell_len(self.name), *(cell_len(text) for text in self.texts), 0)

    @property
    def least_width(self) -> int:
        return self.width if self.least is None else min(self.width, max(self.least, cell_len(self.name)))


def fitted(columns: Sequence[Column], width: int) -> tuple[list[Column], list[str]]:
    """The columns for a terminal of this width, with the digits they have room for, and the names of those left out."""
    if _taken(columns) <= width:
        return list(columns), []
    shortened = [column if column.short is None else replace(column, texts=column.short) for column in columns]
    kept: list[int] = []
    for place in sorted(range(len(columns)), key=lambda place: not shortened[place].needed):
        if not kept or _taken([shortened[other] for other in [*kept, place]]) <= width:
            kept.append(place)
    hidden = [column.name for place, column in enumerate(columns) if place not in kept]
    return [shortened[place] for place in sorted(kept)], hidden


def drawn(columns: Sequence[Column], width: int, *, row_styles: Sequence[str], header_style: str = "bold") -> Table:
    """The table of columns that fit; one that may be cut takes what is left of the width."""
    table = Table(box=None, pad_edge=False, header_style=header_style)
    spare = max(width - _taken(columns), 0)
    for column in columns:
        most = min(column.width, column.least_width + spare)
        table.add_column(Text(column.name), justify="left" if column.left else "right", no_wrap=True, width=most)
    for row, style in enumerate(row_styles):
        table.add_row(*(_cell(column, row) for column in columns), style=style)
    return table


def hidden_line(hidden: Sequence[str]) -> str:
    """Says which columns are left out."""
    return f"no room for {', '.join(hidden)} (widen the terminal)"


def _taken(columns: Sequence[Column]) -> int:
    return sum(column.least_width for column in columns) + GAP * (len(columns) - 1)


def _cell(column: Column, row: int) -> Text:
    return Text(column.texts[row], style=column.styles[row] if column.styles else "")
