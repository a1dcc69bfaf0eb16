"""Adapters for other libraries' environments, one per file: each defines an `Adapter` of its own name."""
