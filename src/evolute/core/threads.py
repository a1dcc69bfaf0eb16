"""Numbers from one thread: BLAS on all cores stalls on busy machines, and gives other bits on other core counts."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


def single_blas_thread() -> AbstractContextManager[Any]:
    """Keep numpy's linear algebra to one thread while this is open."""
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit


@cache
def _controller() -> Any:
    """The BLAS libraries of this process; looking for them takes longer than most products."""
    import numpy  # noqa: F401  its BLAS must be loaded before it can be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
