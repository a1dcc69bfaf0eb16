"""Warnings of environment libraries, raised while an env is made, that users can do nothing about."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Iterator


@contextlib.contextmanager
def known_warnings_ignored(entry_point: str) -> Iterator[None]:
    """Ignore them while a Gymnasium env of this entry point is made."""
    with warnings.catch_warnings():
        # Where warnings are errors, this one crashes Python when Box2D is imported.
        warnings.filterwarnings("ignore", "builtin type [Ss]wig", DeprecationWarning)
        with _quiet_mujoco() if entry_point.startswith("gymnasium.envs.mujoco") else contextlib.nullcontext():
            yield


@contextlib.contextmanager
def _quiet_mujoco() -> Iterator[None]:
    """Without this, MuJoCo reports a deprecated attribute of Gymnasium's models for every env, on screen and in a file."""
    mujoco = importlib.import_module("mujoco")
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(_pass_on)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)


def _pass_on(message: str) -> None:
    if "is deprecated" not in message:
        warnings.warn(f"MuJoCo: {message}", stacklevel=2)
