"""A terminal as a person sees it: what a program wrote to a pseudo-terminal, drawn on a screen of rows and columns."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pexpect

CONTROL = re.compile(r"\x1b\[(\??[\d;]*)([A-Za-z])|(\r)|(\n)|([^\x1b\r\n])")


class Terminal:
    """Knows what Rich uses: new lines, carriage returns, cursor up, erase line, colours, and a cursor that hides."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self.lines = [[" "] * columns for _ in range(rows)]
        self.row = self.column = 0

    def feed(self, text: str) -> None:
        for numbers, command, home, newline, character in CONTROL.findall(text):
            if character:
                self._put(character)
            elif home:
                self.column = 0
            elif newline:
                self._down()
            elif command == "A":
                self.row = max(self.row - int(numbers or 1), 0)
            elif command == "K":
                assert numbers == "2", f"erase {numbers}"
                self.lines[self.row] = [" "] * self.columns
            else:
                assert command in "mhl", f"unknown control {numbers}{command}"

    @property
    def screen(self) -> list[str]:
        return ["".join(line).rstrip() for line in self.lines]

    def _put(self, character: str) -> None:
        if self.column == self.columns:
            self.column = 0
            self._down()
        self.lines[self.row][self.column] = character
        self.column += 1

    def _down(self) -> None:
        self.row += 1
        if self.row == self.rows:
            self.lines = [*self.lines[1:], [" "] * self.columns]
            self.row -= 1


def evolute_in(place: Path, rows: int, columns: int, *arguments: str) -> pexpect.spawn:
    """The command `evolute`, started in a pseudo-terminal of this size."""
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    command = ["-m", "evolute", *arguments]
    return pexpect.spawn(sys.executable, command, cwd=str(place), env=env, dimensions=(rows, columns), encoding="utf-8")
