"""Pictures for videos: large enough to see something, and drawn where there is no screen."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

Frame = np.ndarray[Any, np.dtype[np.uint8]]
SIDE = 160
"""Small frames are enlarged to about this many pixels."""


def enlarged(picture: Frame) -> Frame:
    """A picture [height, width, 3] in whole multiples of its pixels."""
    scale = max(1, SIDE // picture.shape[0])
    return np.ascontiguousarray(picture.repeat(scale, axis=0).repeat(scale, axis=1))


def without_screen() -> None:
    """Let SDL draw without a screen and a loudspeaker: rendering needs neither, and a server has none."""
    for device in ("SDL_AUDIODRIVER", "SDL_VIDEODRIVER"):
        os.environ.setdefault(device, "dummy")
