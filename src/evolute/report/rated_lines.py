"""Ratings along lines of descent, as a table for a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from evolute.report.columns import Column, drawn, fitted, hidden_line
from evolute.report.figures.downsample import every, stride
from evolute.report.summary import UNLIMITED, printed
from evolute.runs.rated import MemberRating, RunRatings

ROWS = 60
"""With more turns than this some are left out."""


def print_lines(ratings: RunRatings) -> None:
    """A column for each member, the best first, with the rating of its line of descent after each turn."""
    console = Console()
    width = console.width if console.is_terminal else UNLIMITED
    turns = sorted({one.turn for line in ratings.lines.values() for one in line})
    step = stride(len(turns), ROWS)
    chosen = [int(turn) for turn in every(turns, step)]
    columns = [Column("turn", [str(turn) for turn in chosen], needed=True)]
    for slot, line in ratings.lines.items():
        known = {one.turn: one for one in line}
        columns.append(Column(f"member {slot}", [_text(known.get(turn), slot) for turn in chosen], left=True))
    kept, hidden = fitted(columns, width)
    printed(drawn(kept, width, row_styles=[""] * len(chosen)))
    notes = ["(n): the line was in member n then" if any("(" in text for column in kept for text in column.texts) else ""]
    notes += [f"one turn in {step} is shown" if step > 1 else "", hidden_line(hidden) if hidden else "", ratings.sentence]
    for note in filter(None, notes):
        printed(Text(note, style="" if note == ratings.sentence else "dim"))


def _text(one: MemberRating | None, slot: int) -> str:
    if one is None:
        return ""
    return str(one) if one.member == slot else f"{one} ({one.member})"
