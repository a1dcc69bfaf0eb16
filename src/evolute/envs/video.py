"""Frames as a file: a GIF, or an MP4 video."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from evolute.envs.frames import Frame


def write(frames: Iterator[Frame], path: Path, *, rate: int = 30) -> int:
    """Write frames as a .gif or .mp4 file, by its name, and return how many there were."""
    if path.suffix == ".gif":
        return _write_gif(frames, path, rate)
    if path.suffix == ".mp4":
        return _write_mp4(frames, path, rate)
    raise ValueError(f"{path}: call it .gif or .mp4")


def _write_gif(frames: Iterator[Frame], path: Path, rate: int) -> int:
    try:
        from PIL import Image
    except ImportError as error:
        raise ValueError("writing a .gif needs pillow: pip install 'evolute[video]'") from error
    images = [Image.fromarray(frame) for frame in frames]
    images[0].save(path, save_all=True, append_images=images[1:], duration=round(1000 / rate), loop=0)
    return len(images)


def _write_mp4(frames: Iterator[Frame], path: Path, rate: int) -> int:
    try:
        import imageio_ffmpeg
    except ImportError as error:
        raise ValueError("writing an .mp4 needs imageio-ffmpeg: pip install 'evolute[video]'") from error
    count, writer = 0, None
    for frame in frames:
        even = np.ascontiguousarray(frame[: frame.shape[0] // 2 * 2, : frame.shape[1] // 2 * 2])  # as the codec asks
        if writer is None:
            writer = imageio_ffmpeg.write_frames(str(path), (even.shape[1], even.shape[0]), fps=rate, macro_block_size=1)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)  # the child is ffmpeg at once
                writer.send(None)
        writer.send(even)
        count += 1
    if writer is not None:
        writer.close()
    return count
