"""Flags of XLA, which must be set before JAX starts; so this imports nothing."""

FLAGS = f"--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold={1 << 18}"
"""Loops over little data, such as rollouts of few environments, become one function: up to three times as fast."""
