"""How pictures cope with a big run: 1,000 turns of 256 members, made up; prints times and sizes against their limits.

    python benchmarks/pictures.py [--members 256] [--turns 1000] [--folder FOLDER]

A folder that holds such a run already is used as it is.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.report.synthetic import synthetic

from evolute.cli.report import report
from evolute.dashboard.shelf import Shelf
from evolute.runs.folders import is_run

REPORT_SECONDS, REPORT_BYTES, ANSWER_SECONDS = 15.0, 15e6, 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=256)
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.folder or Path(scratch) / "run"
        if not is_run(folder):
            synthetic(folder, given.members, given.turns)
        page = Path(scratch) / "report.html"
        began, burnt = time.perf_counter(), time.process_time()
        report(folder, page)
        wall, cpu = time.perf_counter() - began, time.process_time() - burnt
        print(f"report: {wall:.1f} s ({cpu:.1f} s of CPU) of {REPORT_SECONDS:.0f} s allowed")
        print(f"report: {page.stat().st_size / 1e6:.1f} MB of {REPORT_BYTES / 1e6:.0f} MB allowed")
        shelf, waits = Shelf([folder]), []
        found = None
        while found is None:
            began = time.perf_counter()
            found = shelf.shown(folder.name, 0.4)
            waits.append(time.perf_counter() - began)
        began = time.perf_counter()
        shelf.listing()
        print(f"dashboard: list {time.perf_counter() - began:.2f} s; slowest answer while reading {max(waits):.2f} s, "
              f"ready after {sum(waits):.1f} s; {ANSWER_SECONDS:.0f} s allowed for an answer")  # fmt: skip


if __name__ == "__main__":
    main()
