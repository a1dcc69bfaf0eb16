"""The data behind every picture, as plain functions on a run's table, and the pictures of a run in their order."""
