"""States of other libraries' envs as the carry of a JAX loop: arrays whose types never change."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def strongly_typed(state: Any) -> Any:
    """A fresh state without Python numbers and weakly typed arrays."""
    return jax.tree.map(lambda leaf: _cast(leaf, jnp.asarray(leaf).dtype), state)


def typed_like(after: Any, before: Any) -> Any:
    """The next state, in the types of the state before it."""
    return jax.tree.map(lambda new, old: _cast(new, old.dtype), after, before)


def _cast(leaf: Any, dtype: Any) -> jax.Array:
    if jnp.issubdtype(dtype, jax.dtypes.prng_key):
        return jnp.asarray(leaf)
    return jax.lax.convert_element_type(leaf, dtype)
