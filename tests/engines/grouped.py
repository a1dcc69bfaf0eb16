"""An object for groups of workers, what every group must do, and a script that tries it under mpiexec and on Ray."""

from __future__ import annotations

import itertools
import os
import sys
import threading
import time
from collections import Counter as Tally
from pathlib import Path

import numpy as np

from evolute.engines.group import WorkerError, open_group
from evolute.engines.links import same_machine


class Counter:
    def __init__(self):
        self.total, self.kept = 0, np.zeros(1)
        self.holds = 0
        self.released = threading.Event()

    def add(self, number):
        self.total += number
        return self.total

    def square(self, number):
        return number**2

    def scale(self, array, by):
        return array * by

    def keep(self, array):
        """The sum of what was kept before, which nothing may have touched since."""
        before, self.kept = self.kept.sum(), array
        return float(before)

    def nap(self, seconds):
        time.sleep(seconds)
        return seconds

    def fail(self, word):
        raise KeyError(word)

    def fail_late(self, word):
        """Fails after a while, unless the word is empty."""
        if word:
            time.sleep(0.2)
            raise KeyError(word)
        return word

    def hold(self):
        """Returns at once the first time, then not before `release` was called in another thread."""
        self.holds += 1
        if self.holds == 1:
            return "at once"
        assert self.released.wait(60)
        return "released"

    def release(self):
        self.released.set()

    def die(self):
        os._exit(7)

    def die_once(self, path, number):
        """Dies unless somebody has died here before."""
        if not Path(path).exists():
            Path(path).touch()
            os._exit(7)
        return number**2

    def where(self, _=None):
        return os.getpid()


def failure(match):
    """What is called within fails with this text. Workers import this file and are started sooner without pytest."""
    import pytest

    return pytest.raises(WorkerError, match=match)


def check(group) -> None:
    """What a group can do, whatever it is made of."""
    assert group.all("add", 5) == [5] * len(group)
    assert group.all("add", 1) == [6] * len(group)
    assert len(set(group.all("where"))) == len(group)
    assert group.any("square", 7) == 49
    assert group.map("square", range(50)) == [number**2 for number in range(50)]
    for array, by in zip(group.map("scale", [np.ones(100_000)] * 2, [2, 3]), [2, 3], strict=True):
        assert array.sum() == 100_000 * by
    for number in range(5):
        assert group.all("keep", np.full(300_000, number + 1.0), aside=True) == [300_000.0 * number] * len(group)
    if len(group) > 1:
        assert [place for place, _ in group.gather("nap", [0.5, 0.0])] == [1, 0]
    with failure(r"(?s)in fail.*KeyError: 'oops'"):
        group.map("fail", ["oops"])
    assert group.map("square", [3]) == [9]
    for fault in (calls_inside_a_gather, an_abandoned_failure, several_failures_at_once):
        fault(group)
    an_endless_stream(group)
    a_call_aside(group)


def calls_inside_a_gather(group) -> None:
    """Both get their answers: `all` used to throw those of `gather` away, and waited for its own for ever."""
    before, found = group.all("add", 0), {}
    for place, value in group.gather("square", range(6)):
        assert group.all("add", 1) == [total + len(found) + 1 for total in before]
        assert group.map("square", [place]) == [value]
        found[place] = value
    assert found == {number: number**2 for number in range(6)}


def an_abandoned_failure(group) -> None:
    """What nobody waits for any more fails on its own."""
    for place, _ in group.gather("fail_late", ["", *["oops"] * (len(group) - 1)]):
        assert place == 0
        break
    assert len(group.all("add", 0)) == len(group)


def several_failures_at_once(group) -> None:
    """Every worker is used again: when several had failed at a time all but the first were forgotten."""
    for _ in range(2):
        results = group.gather("fail_late", ["", *["oops"] * (len(group) - 1)])
        assert next(results) == (0, "")
        time.sleep(0.6)
        if len(group) > 1:
            with failure("oops"):
                next(results)
    group.all("add", 0)
    assert len(set(group.map("where", range(len(group))))) == len(group)


def an_endless_stream(group) -> None:
    """Each worker's results in order, and no worker further ahead than one result."""
    before, taken = group.all("add", 0), Tally()
    for worker, total in itertools.islice(group.stream("add", 1), 20):
        taken[worker] += 1
        assert total == before[worker] + taken[worker]
    time.sleep(0.3)
    for worker, total in enumerate(group.all("add", 0)):
        assert before[worker] + taken[worker] <= total <= before[worker] + taken[worker] + 1


def a_call_aside(group) -> None:
    """It does not wait for what workers are doing; here they would wait for it for ever."""
    stream = group.stream("hold")
    assert {next(stream)[1] for _ in range(len(group))} == {"at once"}
    assert group.all("release", aside=True) == [None] * len(group)
    released = set()
    for worker, said in stream:
        assert said == "released"
        released.add(worker)
        if len(released) == len(group):
            return


if __name__ == "__main__":
    if sys.argv[1] == "far-ray":
        same_machine.Landmark.description = ("", b"")  # no worker sees it, as if all were elsewhere
    for _ in range(int(sys.argv[2])):
        with open_group(Counter, engine=sys.argv[1].removeprefix("far-"), workers=int(sys.argv[3])) as group:
            if group is not None:
                check(group)
                if len(sys.argv) > 4:
                    assert group.map("die_once", [sys.argv[4]] * 6, range(6), retries=1) == [n**2 for n in range(6)]
                print("all is well")
