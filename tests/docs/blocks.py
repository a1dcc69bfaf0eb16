"""The blocks of a page: files that it shows, programs, and commands for a shell."""

from __future__ import annotations

import re
import shlex
import textwrap
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
    fenced = r"^```(?P<language>\w*)(?P<rest>[^\n]*)\n(?P<body>.*?)\n```$"
    indented = r"(?<=\n\n)(?P<lines>(?:    [^\n]*\n)+)"
    found = []
    for match in re.finditer(f"{fenced}|{indented}", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL):
        if match["lines"] is not None:
            found.append(Block("sh", None, textwrap.dedent(match["lines"])))
            continue
        titles = re.findall(r'title="([^"]+)"', match["rest"])
        found.append(Block(match["language"] or "text", titles[0] if titles else None, match["body"]))
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
