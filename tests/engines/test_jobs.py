"""Jobs for the thread that makes MPI calls: in order, and no pause is longer than it was asked for."""

from __future__ import annotations

import threading
import time

from evolute.engines.links.jobs import Jobs


def test_jobs_come_in_order_with_what_was_said_of_them():
    jobs, done = Jobs(), []
    for number in range(3):
        jobs.put(lambda number=number: done.append(number), number == 1)
    matters = []
    while (found := jobs.next(0.0)) is not None:
        job, matter = found
        job()
        matters.append(matter)
    assert (done, matters) == ([0, 1, 2], [False, True, False])


def test_a_pause_ends_with_a_job_or_by_itself():
    jobs = Jobs()
    jobs.put(print)
    assert jobs.next(60.0) is not None
    for pause in (0.0, 1e-6, 1e-3):  # though the bell still rings for the job that was taken
        assert jobs.next(pause) is None
    threading.Timer(0.05, lambda: jobs.put(print)).start()
    begun = time.monotonic()
    assert jobs.next(60.0) is not None
    assert time.monotonic() - begun < 50.0
