"""Machine code of our own for the small products of dense networks, which XLA calls on CPUs."""
