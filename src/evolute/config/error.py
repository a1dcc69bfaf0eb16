"""The error for configs that cannot be used."""

from __future__ import annotations


class ConfigError(ValueError):
    """A key or value that cannot be used; the text names it, where it was given, and what is allowed."""
