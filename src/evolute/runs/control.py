"""The warning that the control group of a run is ahead of the members that evolve, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from evolute.core.order import CONTROL_AHEAD, Json


def warning(reasons: Iterable[Mapping[str, Json]]) -> str | None:
    """The sentence, if an order's reasons tell that the control group is ahead; None otherwise."""
    found = next((why[CONTROL_AHEAD] for why in reasons if CONTROL_AHEAD in why), None)
    if found is None:
        return None
    turns, alone, others = found
    ahead = (
        "only members of the control group have been on the front"
        if alone is None
        else f"the best of the control group has been ahead ({alone:.4g}, of those that evolve {others:.4g})"
    )
    return f"tuning is not helping: for {turns} turns {ahead}; longer turns, or strategy=mf_pbt, make selection less greedy"
