"""Run as a script: a run on a Ray cluster of two nodes, one of which is removed in the middle. Usage: nodes.py FOLDER TURNS."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

from ray.cluster_utils import Cluster
from tests.engines.workers import noisy, reported

import evolute


def main() -> None:
    folder, turns = Path(sys.argv[1]), int(sys.argv[2])
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    second = cluster.add_node(num_cpus=1)

    def remove() -> None:
        while not folder.exists() or reported(folder) < 16:
            time.sleep(0.05)
        cluster.remove_node(second)

    threading.Thread(target=remove, daemon=True).start()
    evolute.run(
        noisy,
        folder=folder,
        space={"lr": evolute.Float(1e-3, 0.5, log=True)},
        noisy={"sleep": 0.2},
        population=4,
        stop={"turns": turns},
        engine="ray",
        workers=2,
        ray={"address": cluster.address, "placement": "spread"},
        display="none",
    )
    cluster.shutdown()


if __name__ == "__main__":
    main()
