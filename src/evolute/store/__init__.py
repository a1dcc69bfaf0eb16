"""The run's journal and checkpoints, and the lock that keeps a second process away."""
