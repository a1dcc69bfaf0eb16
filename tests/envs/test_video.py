from __future__ import annotations

import sys

import numpy as np
import pytest
from PIL import Image

from evolute.envs.video import write


def frames(count: int):
    for shade in range(count):
        yield np.full((21, 33, 3), 60 * shade, np.uint8)


def test_a_gif_has_a_picture_for_each_frame(tmp_path):
    assert write(frames(4), tmp_path / "a.gif") == 4
    with Image.open(tmp_path / "a.gif") as image:
        assert (image.n_frames, image.size) == (4, (33, 21))


def test_a_video_is_written_even_if_a_side_is_odd(tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    assert write(frames(4), tmp_path / "a.mp4") == 4
    assert (tmp_path / "a.mp4").stat().st_size > 0


@pytest.mark.parametrize(("module", "name"), [("PIL", "a.gif"), ("imageio_ffmpeg", "a.mp4")])
def test_a_missing_library_is_one_line_that_says_what_to_install(tmp_path, monkeypatch, module, name):
    monkeypatch.setitem(sys.modules, module, None)
    rendered = []
    with pytest.raises(ValueError, match=r"needs [\w-]+: pip install 'evolute\[video\]'$"):
        write((rendered.append(frame) or frame for frame in frames(1)), tmp_path / name)
    assert not rendered


def test_other_kinds_of_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"call it \.gif or \.mp4"):
        write(frames(1), tmp_path / "a.avi")
