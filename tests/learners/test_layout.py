"""Members of a cohort come out of a program in the order in which they went in, and all devices have their share of them."""

import numpy as np
import pytest

from evolute.core.protocols import silently
from evolute.learners.kit.layout import ROOM, layout, most
from evolute.learners.kit.programs import Programs


@pytest.fixture(scope="module")
def programs():
    return Programs(2)


def trained(state, inputs, shared):
    return {"weights": state["weights"] * 2 + inputs, "steps": state["steps"] + shared}


def cohort(size):
    return {"weights": np.arange(3.0 * size, dtype=np.float32).reshape(size, 3), "steps": np.arange(size, dtype=np.int32)}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 16, 17])
@pytest.mark.parametrize("room", [1, ROOM])
def test_rows_come_back_in_order_and_devices_have_as_many_as_the_others(programs, size, room):
    places, given = layout(size, room), cohort(size)
    inputs = places.placed(100 * np.arange(size, dtype=np.float32))
    after = programs.call("double", trained, places, places.spread(given), inputs, np.int32(5), silently)
    found = places.gathered(after)
    np.testing.assert_array_equal(found["weights"], given["weights"] * 2 + 100 * np.arange(size)[:, None])
    np.testing.assert_array_equal(found["steps"], given["steps"] + 5)
    for row, one in enumerate(places.unstacked(after)):
        np.testing.assert_array_equal(one["weights"], found["weights"][row])
    assert places.filled.sum() == size
    assert places.filled.max() - places.filled.min() <= 1


@pytest.mark.parametrize("size", [1, 3, 16])
def test_rows_are_the_same_on_one_device(programs, size):
    every, given = layout(size), cohort(size)
    one = every.on_one_device
    assert one.capacity == every.capacity
    moved = one.spread(every.gathered(every.spread(given)))
    np.testing.assert_array_equal(one.view(moved["weights"]), given["weights"])
    np.testing.assert_array_equal(one.view(moved["steps"]), given["steps"])


def test_large_arrays_are_filled_row_by_row(programs):
    places = layout(5)

    def fill(row, array):
        array[0] = row

    held = places.filled_in((4,), np.float32, fill)
    np.testing.assert_array_equal(places.gathered(held), np.arange(5)[:, None] * np.array([1, 0, 0, 0]))


def test_one_program_has_room_for_every_cohort_up_to_the_most(programs):
    assert {layout(size).capacity for size in range(1, most() + 1)} == {most()}
    assert layout(most() + 1).capacity == 2 * most()
