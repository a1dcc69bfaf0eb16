"""The connection to Ray: a running cluster, or a runtime of our own on loopback, with Ray's token authentication."""

from __future__ import annotations

import math
import os
import secrets
import sys
import warnings
from collections.abc import Callable
from typing import Any

from evolute.core.cores import cores
from evolute.core.protocols import EngineError

QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""Unless the user says otherwise, Ray sends no usage reports and leaves the environment alone."""
LOCAL = {"RAY_AUTH_MODE": "token", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""For a runtime that we start: a token, and loopback, which without the second Ray would replace by an outer address."""
LOOPBACK = "127.0.0.1"
ATTEMPTS = 3
"""How often Ray is asked to start a runtime."""


def connected(address: str | None, workers: int | None, cpus: float) -> Callable[[], None]:
    """Connect to the cluster at this address, or start a runtime here; returns what disconnects or ends it."""
    imported = "ray" in sys.modules
    for key, value in {**QUIET, **({} if address else {**LOCAL, "RAY_AUTH_TOKEN": secrets.token_hex(32)})}.items():
        os.environ.setdefault(key, value)
    ray = _ray()
    if ray.is_initialized():
        return lambda: None
    if imported and address is None:  # Ray has read the environment as it was before
        from ray._raylet import Config  # type: ignore[attr-defined]

        Config.initialize("")
    if address is None:
        many = max(len(cores()), math.ceil((workers or 0) * cpus))
        with warnings.catch_warnings():
            # JAX warns of forks that go on without its threads; Ray's children become other programs at once.
            warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
            _start(ray, many)
    else:
        try:
            ray.init(address=address)
        except ConnectionError as error:
            raise EngineError(f"no Ray cluster answers at the address {address}: {error}") from error
    shutdown: Callable[[], None] = ray.shutdown
    return shutdown


def _start(ray: Any, cpus: int) -> None:
    """Start a runtime here. On a busy machine Ray may give up after half a minute, so it is asked again."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            ray.init("local", num_cpus=cpus, include_dashboard=False, _node_ip_address=LOOPBACK)
            return
        except Exception as error:  # of many kinds, Exception itself among them
            if ray.is_initialized():
                ray.shutdown()
            if attempt == ATTEMPTS:
                raise EngineError(f"Ray could not start a runtime here ({ATTEMPTS} attempts): {error}") from error


def fitting(cpus: float, gpus: float) -> int:
    """How many workers of this size fit into the cluster."""
    there = _ray().cluster_resources()
    fits = [there.get(kind, 0.0) / each for kind, each in (("CPU", cpus), ("GPU", gpus)) if each]
    return max(1, int(min(fits, default=1)))


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise EngineError("Ray is not installed: pip install 'evolute[ray]'") from error
    return ray
