"""Frames as a file: a GIF, or an MP4 video."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from evolute.envs.render import Frame


def write(pictures: Iterator[Frame], path: Path, *, rate: int = 30) -> int:
    """Write pictures as a GIF, or as a video if the file is called .mp4; returns how many there were."""
    if path.suffix == ".gif":
        from PIL import Image

        images = [Image.fromarray(picture) for picture in pictures]
        images[0].save(path, save_all=True, append_images=images[1:], duration=round(1000 / rate), loop=0)
        return len(images)
    if path.suffix != ".mp4":
        raise ValueError(f"{path}: call it .gif or .mp4")
    try:
        import imageio_ffmpeg
    except ImportError as error:
        raise ValueError("videos need imageio-ffmpeg: pip install 'evolute[video]', or write a .gif") from error
    count, writer = 0, None
    for picture in pictures:
        even = np.ascontiguousarray(picture[: picture.shape[0] // 2 * 2, : picture.shape[1] // 2 * 2])
        if writer is None:
            writer = imageio_ffmpeg.write_frames(str(path), (even.shape[1], even.shape[0]), fps=rate, macro_block_size=1)
            writer.send(None)
        writer.send(even)
        count += 1
    if writer is not None:
        writer.close()
    return count
