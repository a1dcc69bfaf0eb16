"""What a config says when it cannot be used."""

from __future__ import annotations


class ConfigError(ValueError):
    """A key or value that cannot be used; the text names it, where it stands, and what would do."""
