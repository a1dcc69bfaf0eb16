"""The two Qt libraries that EnvPool's Procgen is linked with, from the wheel PyQt5-Qt5 if the system has none.

They are loaded into the process before EnvPool is, which then finds them; nothing has to be installed by an administrator.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import importlib.metadata
from pathlib import Path

LIBRARIES = ("libicudata.so.56", "libicuuc.so.56", "libicui18n.so.56", "libQt5Core.so.5", "libQt5Gui.so.5")
"""In the order in which they need one another."""


@functools.cache
def load_qt() -> None:
    """Make the libraries known to this process; raises ValueError with what to install."""
    if ctypes.util.find_library("Qt5Core") and ctypes.util.find_library("Qt5Gui"):
        return
    folder = _folder()
    for name in LIBRARIES:
        try:
            ctypes.CDLL(str(folder / name), ctypes.RTLD_GLOBAL)
        except OSError as error:
            raise ValueError(
                f"Procgen's graphics cannot be loaded: {error}; on Debian, apt install libgl1 libglib2.0-0"
            ) from error


def _folder() -> Path:
    try:
        found = importlib.metadata.distribution("PyQt5-Qt5")
    except importlib.metadata.PackageNotFoundError as error:
        raise ValueError("Procgen needs PyQt5-Qt5, which is not installed; pip install 'evolute[procgen]'") from error
    return Path(str(found.locate_file("PyQt5/Qt5/lib")))
