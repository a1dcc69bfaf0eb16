"""An object for groups of workers, and a script that uses it under mpiexec."""

from __future__ import annotations

import os
import sys
import time

import numpy as np
import pytest

from evolute.engines.group import WorkerError, open_group


class Counter:
    def __init__(self):
        self.total = 0

    def add(self, number):
        self.total += number
        return self.total

    def square(self, number):
        return number**2

    def scale(self, array, by):
        return array * by

    def nap(self, seconds):
        time.sleep(seconds)
        return seconds

    def fail(self, word):
        raise KeyError(word)

    def die(self):
        os._exit(7)

    def where(self):
        return os.getpid()


def check(group) -> None:
    """What a group can do, whatever it is made of."""
    assert group.all("add", 5) == [5] * len(group)
    assert group.all("add", 1) == [6] * len(group)
    assert len(set(group.all("where"))) == len(group)
    assert group.map("square", range(50)) == [number**2 for number in range(50)]
    for array, by in zip(group.map("scale", [np.ones(100_000)] * 2, [2, 3]), [2, 3], strict=True):
        assert array.sum() == 100_000 * by
    if len(group) > 1:
        assert [place for place, _ in group.gather("nap", [0.5, 0.0])] == [1, 0]
    with pytest.raises(WorkerError, match=r"(?s)in fail.*KeyError: 'oops'"):
        group.map("fail", ["oops"])
    assert group.map("square", [3]) == [9]


if __name__ == "__main__":
    for _ in range(int(sys.argv[2])):
        with open_group(Counter, engine=sys.argv[1], workers=2) as group:
            if group is not None:
                check(group)
                print("all is well")
