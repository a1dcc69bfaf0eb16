"""BLAS on one thread: on small matrices its threads only wait for one another, at up to fifty times the processor time.

One thread also gives the same rounding on every machine, whatever its number of cores.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Within this context, or in a function decorated with `@single_blas_thread()`, BLAS works on one thread.

    It overrules OPENBLAS_NUM_THREADS and its like, and puts back what was set before.
    """
    with _blas().limit(limits=1):
        yield


@cache
def _blas() -> Any:
    """The BLAS libraries in this process, found once, as that takes tens of milliseconds. SciPy brings one of its own."""
    import scipy.linalg  # noqa: F401  # or the search would miss its library
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
