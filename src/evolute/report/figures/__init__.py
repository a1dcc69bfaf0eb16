"""The data behind every plot, as plain functions on a run's table, and the plots of a run in their order."""
