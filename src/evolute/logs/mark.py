"""How far a log that cannot be begun anew has got: the turns that it already has, and what names its run elsewhere."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from evolute.core.order import Json


@dataclass
class Mark:
    """A small file beside a log. After a kill a turn may be sent twice, and is never left out."""

    path: Path
    name: str
    done: set[tuple[int, int]]

    @classmethod
    def read(cls, path: Path, name: str) -> Mark:
        """The mark of an earlier session, or a first one."""
        try:
            found: Json = json.loads(path.read_text())
            return cls(path, found["name"], {(member, turn) for member, last in found["last"] for turn in range(last + 1)})
        except (OSError, ValueError, KeyError, TypeError):
            return cls(path, name, set())

    def write(self) -> None:
        """Remember each member's last turn."""
        last: dict[int, int] = {}
        for member, turn in self.done:
            last[member] = max(last.get(member, -1), turn)
        draft = self.path.with_suffix(".tmp")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps({"name": self.name, "last": sorted(last.items())}))
        draft.replace(self.path)
