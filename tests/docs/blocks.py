"""The blocks of a page: files that it shows, programs, and commands for a shell."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "CONTRIBUTING.md", *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md")))]
SHELLS = ("sh", "bash")


@dataclass(frozen=True)
class Block:
    """One block of code; `title` is the file that it is to be written to."""

    language: str
    title: str | None
    text: str


def blocks(page: str) -> list[Block]:
    """All fenced blocks of a page, and indented ones as commands for a shell."""
    found, lines, fence = [], iter((ROOT / page).read_text().splitlines()), ""
    indented: list[str] = []
    for line in [*lines, ""]:
        if line.startswith("    ") and not fence and (indented or after_blank):
            indented.append(line[4:])
            continue
        after_blank = not line.strip()
        if indented:
            found.append(Block("sh", None, "\n".join(indented)))
            indented = []
        if match := re.match(r"```(\S*)(.*)", line):
            if fence:
                found.append(Block(fence, title, "\n".join(body)))
                fence = ""
            else:
                fence, body = match[1] or "text", []
                title = next(iter(re.findall(r'title="([^"]+)"', match[2])), None)
        elif fence:
            body.append(line)
    return found


def commands(page: str) -> list[list[str]]:
    """Every command of Evolute that a page shows, by its words; also behind mpiexec or srun, and in a job's script."""
    found = []
    for block in blocks(page):
        if block.language not in SHELLS:
            continue
        for line in block.text.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            while "evolute" in words:
                words = words[words.index("evolute") + 1 :]
                ends = [place for place, word in enumerate(words) if word in ("||", ";", ">", "|", "&&")]
                found.append(words[: min(ends, default=len(words))])
    return [[word.rstrip(";") for word in words] for words in found]
