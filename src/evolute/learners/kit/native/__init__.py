"""Machine code of our own for the small products of dense networks, which XLA calls on CPUs.

All but `support` needs llvmlite, an extra.
"""
