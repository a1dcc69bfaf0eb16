"""What a store says when the disk does not do what it should."""

from __future__ import annotations


class StoreError(RuntimeError):
    """The run folder cannot be read or written; the text says why and what to do."""
