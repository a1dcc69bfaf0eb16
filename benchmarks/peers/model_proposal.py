"""One proposal from given rows: Ray Tune's PB2, and BoTorch's process and acquisition set up as in BG-PBT.

Ray's is what its scheduler calls for each heir: it chooses how much to forget, fits two processes and maximises its upper
bound. BoTorch's is a Matérn 5/2 process with a length scale per number, fitted by likelihood, pending points
fantasised, and an upper bound maximised in a trust region of side 0.4.

The rows come as an .npz file; the last line on stdout is one JSON object with the seconds of each repeat.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import numpy as np

REPEATS = 3


def ray_pb2(rows: Any) -> None:
    from ray.tune.schedulers.pb2 import _select_config

    numbers = rows["numbers"]
    inputs = np.column_stack([rows["time"], numbers])
    bounds = {f"x{number}": [0.0, 1.0] for number in range(numbers.shape[1] - 1)}
    newpoint = np.array([rows["time"].max() + 1, numbers[-1, 0]])
    _select_config(inputs, rows["gain"], rows["pending"], newpoint, bounds, num_f=2)


def botorch_bg(rows: Any) -> None:
    import torch
    from botorch.acquisition import UpperConfidenceBound
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from gpytorch.kernels import MaternKernel, ScaleKernel
    from gpytorch.mlls import ExactMarginalLogLikelihood

    inputs = np.column_stack([rows["numbers"], rows["time"] / rows["time"].max()])
    x, y = torch.tensor(inputs), torch.tensor(rows["gain"])[:, None]
    y = (y - y.mean()) / y.std()
    kernel = ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=x.shape[1]))
    model = SingleTaskGP(x, y, covar_module=kernel, outcome_transform=None)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    context = torch.tensor([rows["numbers"][-1, 0], 1.0])
    pending = torch.tensor(rows["pending"])
    pending = torch.hstack([context[:1].expand(len(pending), 1), pending, context[1:].expand(len(pending), 1)])
    model = model.condition_on_observations(pending, model.posterior(pending).mean.detach())
    centre = x[-1]
    low, high = (centre - 0.2).clamp(0, 1), (centre + 0.2).clamp(0, 1)
    fixed = {0: float(context[0]), x.shape[1] - 1: float(context[1])}
    bound = UpperConfidenceBound(model, beta=9.0)
    box = torch.stack([low, high])
    optimize_acqf(bound, box, q=1, num_restarts=4, raw_samples=256, fixed_features=fixed)


PEERS = {"ray": ray_pb2, "botorch": botorch_bg}


def main() -> None:
    warnings.simplefilter("ignore")
    peer, rows = PEERS[sys.argv[1]], np.load(sys.argv[2])
    np.random.seed(0)
    peer(rows)  # imports and caches
    seconds = []
    for _ in range(REPEATS):
        started = time.process_time()
        peer(rows)
        seconds.append(time.process_time() - started)
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
