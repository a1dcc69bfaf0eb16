"""Environments: what they have in common, adapters for other libraries (`adapters`), and our own (`ours`)."""
