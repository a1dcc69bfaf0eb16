"""Commands under mpiexec, as a user starts them, with the MPI that is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOUND = Path(sys.executable).with_name("mpiexec")
MPIEXEC = str(FOUND) if FOUND.exists() else shutil.which("mpiexec")
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}
"""What Open MPI, if it is the one installed, wants before it starts more ranks than cores, and for root."""


def mpiexec(ranks: int, *command: str, **how) -> subprocess.Popen:
    """A command on this many ranks."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, **OPEN_MPI, "PYTHONPATH": path}
    return subprocess.Popen([MPIEXEC, "-n", str(ranks), sys.executable, *command], env=env, text=True, **how)


def evolute(ranks: int, *words: str, cwd: Path) -> subprocess.CompletedProcess:
    """Evolute's command line on this many ranks, until it ends."""
    process = mpiexec(ranks, "-m", "evolute", *words, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, errors = process.communicate(timeout=200)
    return subprocess.CompletedProcess(process.args, process.returncode, out, errors)
