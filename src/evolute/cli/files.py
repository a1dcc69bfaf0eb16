"""Files that commands write."""

from __future__ import annotations

from pathlib import Path

from evolute.store.error import StoreError


def write(path: Path, text: str) -> None:
    """Write a file, which appears whole or not at all."""
    draft = path.with_name(f".{path.name}.tmp")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from error
