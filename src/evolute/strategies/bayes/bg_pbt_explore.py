"""BG-PBT's way to change what is inherited (arXiv 2207.09405, section 3.1): all hyper-parameters by the upper bound of a
Gaussian process over mixed spaces, inside a trust region around the parent.

A region that has just restarted searches the whole space once: the heir that lands there is the new centre if it does well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evolute.core.order import Hparams, Json
from evolute.core.param import Float, Param
from evolute.core.population import Population, Turn
from evolute.core.ranking import top
from evolute.core.space import Space
from evolute.strategies.bayes.kernels import BgPbtKernel
from evolute.strategies.bayes.points import Layout
from evolute.strategies.bayes.region import Region
from evolute.strategies.bayes.rows import newest_rows
from evolute.strategies.bayes.search import Reach, steps_from
from evolute.strategies.bayes.surrogate import Proposal, Taken, fit_surrogate, one_by_one
from evolute.strategies.bayes.targets import by_rank
from evolute.strategies.exploit import Parents
from evolute.strategies.explore import Explored, perturb
from evolute.strategies.score import last_score
from evolute.threads import single_blas_thread


def kernel_of(layout: Layout) -> BgPbtKernel:
    """A length scale for the context and one for each number.

    The paper bounds noise by 0.1 of the variance; here it is learnt, as scores can be noisier. On `drift` both do the same.
    """
    return BgPbtKernel(tuple(range(1 + len(layout.numbers))), len(layout.categories))


@dataclass(frozen=True)
class BgPbtExplore:
    """Proposes within a trust region; remembers the region and the proposed turns by which it will be judged.

    If its memory has `since`, a turn for each slot, it learns from turns from there on alone.
    """

    interval: int
    limit: int
    width: float

    @single_blas_thread()
    def __call__(
        self, space: Space, population: Population, parents: Parents, rng: np.random.Generator, memory: Json
    ) -> Explored:
        region, running = judged(memory, population)
        remembered = [*running, *([heir, population[heir].turns] for heir in sorted(parents))]
        since = memory.get("since")
        memory = {"region": region.to_json(), "proposed": remembered, **({} if since is None else {"since": since})}
        layout = Layout(space)
        rows = newest_rows(population, interval=self.interval, limit=self.limit, since=since, inside=space)
        if not len(rows):
            return replace(perturb()(space, population, parents, rng, {}), memory=memory)
        surrogate = fit_surrogate(layout, rows, kernel_of(layout), by_rank) if parents else None

        def propose(heir: int, parent: Turn, pending: list[Hparams], taken: Taken) -> Proposal:
            assert surrogate is not None
            reach = reach_of(region, layout, parent)
            made = surrogate.propose(
                parent, reach, width=self.width, pending=pending, taken=taken, interval=self.interval, rng=rng
            )
            return made._replace(why={**made.why, "region": region.summary()})

        return replace(one_by_one(space, population, parents, propose), memory=memory)


def judged(memory: Json, population: Population) -> tuple[Region, list[list[int]]]:
    """The region after the proposals whose turns are over by now, and those that still run."""
    region = Region.from_json(memory.get("region", {}))
    proposed = memory.get("proposed", [])
    running = [[member, turn] for member, turn in proposed if population[member].turns <= turn]
    finished = {member for member, turn in proposed if population[member].turns > turn}
    scores = last_score(population)
    winner = top(range(len(scores)), scores.__getitem__)
    best = None if winner is None else scores[winner]
    if finished and best is not None:
        region = region.after(success=winner in finished, best=best)
    return region, running


def reach_of(region: Region, layout: Layout, parent: Turn) -> Reach:
    """Half a side to both sides of the parent, but at least one step of a number that comes in steps."""
    centre, places = layout.encode(parent.order.hparams)
    if region.restarted:
        return replace(Reach.everywhere(layout, places), changes=len(places))
    low, high = np.clip(centre - region.side / 2, 0, 1), np.clip(centre + region.side / 2, 0, 1)
    for number, param in enumerate(layout.numbers.values()):
        if not isinstance(param, Float):
            low[number], high[number] = _in_steps(param, float(centre[number]), float(low[number]), float(high[number]))
    return Reach(layout, low, high, places, region.changes(len(places)))


def _in_steps(param: Param, centre: float, low: float, high: float) -> tuple[float, float]:
    """The ends of a range at values that a number in steps can have: those inside it, or the centre's neighbours."""
    near = [centre, *steps_from(param, centre)]
    for end in (low, high):
        here = param.encode(param.decode(end))
        near += [unit for unit in (here, *steps_from(param, here)) if low <= unit <= high]
    return min(near), max(near)
