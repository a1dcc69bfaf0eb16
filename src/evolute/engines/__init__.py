"""Engines run cohorts: one to a file, named for the file."""
