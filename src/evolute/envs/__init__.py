"""Environments: adapters for what exists, and a few of our own, one per file."""
