"""What replay buffers take is told before a run, refused where there is no room, and asked about where it is much."""

from dataclasses import replace

import pytest
from tests.learners.offpolicy.replaying import learner

import evolute
from evolute.config.error import ConfigError
from evolute.config.layers import python, stack
from evolute.config.resolve import resolved
from evolute.core.protocols import Footprint
from evolute.core.spare import Spare, free_disk
from evolute.learners.offpolicy import footprint
from evolute.learners.offpolicy.footprint import Buffers
from evolute.runs import assemble
from evolute.runs.session import Launch, launch

BUFFERS = Buffers(members=8, rows=1_000_000, row_bytes=100, turn=20_000, room=32_769, key="sac.capacity")


def test_the_size_of_buffers_is_told():
    assert BUFFERS.footprint(Spare(10**10)) == Footprint(
        "replay buffers: 8 members x 1,000,000 rows of 100 bytes: at most 1.7 GB of memory, and about 932 MB on disk"
    )
    made = learner("sac", "gymnax:Pendulum-v1")
    assert "8 members x 1,000,000 rows of 24 bytes" in made.footprint(8, steps=None, interval=2000, spare=Spare()).text
    assert "x 40,000 rows" in made.footprint(8, steps=20_000, interval=2000, spare=Spare()).text


def test_the_rows_of_a_long_turn_count():
    """In memory there is room for them, a power of two, and what becomes of them; on disk there are those of older states."""
    made = learner("dqn", "gymnax:Breakout-MinAtar", envs=4, capacity=20_000, widths=(8,))
    text = made.footprint(4, steps=None, interval=20_000, spare=Spare()).text
    row, room = 1612, 4 * (8192 + 1)
    assert f"at most {footprint.size(4 * row * (2 * 20_000 + 3 * room))} of memory" in text
    assert f"about {footprint.size(4 * row * 3 * 20_000 + row * 20_000)} on disk" in text


def test_buffers_that_do_not_fit_are_refused_with_the_capacity_that_does():
    with pytest.raises(ValueError, match=r"take 1\.7 GB of memory, and 1\.2 GB are free: set sac\.capacity to 570,000 or less"):
        BUFFERS.footprint(Spare(1_250_000_000))
    replace(BUFFERS, rows=570_000).footprint(Spare(1_250_000_000))
    with pytest.raises(ValueError, match=r"take 932 MB of disk, and 1 GB are free: set sac\.capacity to 850,000 or less"):
        BUFFERS.footprint(Spare(10**10, 10**9))
    replace(BUFFERS, rows=850_000).footprint(Spare(10**10, 10**9))
    with pytest.raises(ValueError, match="train fewer members, or for a shorter interval"):
        BUFFERS.footprint(Spare(10**7))


def test_a_person_is_asked_about_buffers_that_take_half_of_what_is_free():
    assert not BUFFERS.footprint(Spare(4 * 10**9, 4 * 10**9)).large
    assert BUFFERS.footprint(Spare(3 * 10**9, 4 * 10**9)).large
    assert BUFFERS.footprint(Spare(4 * 10**9, 1_500_000_000)).large


def test_a_run_that_nobody_agrees_to_is_not_begun(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(assemble, "free_memory", lambda: 1_000_000)

    def answered(question):
        asked.append(question)
        return False

    layer = {"learner": "dqn", "env": "cartpole", "population": 1, "interval": 64, "stop.turns": 1000, "dqn.capacity": 10_000}
    config = resolved(stack([python({**layer, "dqn.widths": [8], "runs": str(tmp_path)})]))
    with pytest.raises(ConfigError, match="nothing was trained"):
        launch(config, Launch(confirm=answered))
    assert len(asked) == 1
    assert asked[0].startswith("replay buffers: 1 members x 10,000 rows")
    assert not [*tmp_path.iterdir()]


def test_a_run_whose_buffers_do_not_fit_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"sac: replay buffers: 4 members x 1,000,000,000,000 rows .* set sac\.capacity to"):
        evolute.run(
            "sac", env="gymnax:Pendulum-v1", population=4, sac={"capacity": 10**12}, stop={"time": 60}, runs=str(tmp_path)
        )


def test_the_disk_of_a_folder_that_is_not_there_yet_is_known(tmp_path):
    assert free_disk(tmp_path / "runs" / "new") > 0
