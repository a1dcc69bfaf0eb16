"""How far a log that cannot be rewritten has got: the turns that it already has, and what its run is called elsewhere."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from evolute.core.order import Json


@dataclass
class Bookmark:
    """A small file beside a log. After a kill a turn may be sent twice, but none is ever left out."""

    path: Path
    remote_id: str
    sent: set[tuple[int, int]]

    @classmethod
    def read(cls, path: Path, remote_id: str) -> Bookmark:
        """The bookmark of an earlier session, or a first one."""
        try:
            data: Json = json.loads(path.read_text())
            sent = {(member, turn) for member, last in data["last"] for turn in range(last + 1)}
            return cls(path, data["name"], sent)
        except (OSError, ValueError, KeyError, TypeError):
            return cls(path, remote_id, set())

    def write(self) -> None:
        """Save each member's last turn."""
        last: dict[int, int] = {}
        for member, turn in self.sent:
            last[member] = max(last.get(member, -1), turn)
        draft = self.path.with_suffix(".tmp")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps({"name": self.remote_id, "last": sorted(last.items())}))
        draft.replace(self.path)
