"""How members of a game fare: ratings, who beats whom, the mixture that is hardest to beat, and the pool of past states."""

from __future__ import annotations

import numpy as np

from evolute.core.order import Ref
from evolute.core.ranking import rank_key
from evolute.ratings.nash import antisymmetric, equilibrium
from evolute.ratings.scale import Floats, win_probability
from evolute.report.figures.chart import Axis, Chart, Series
from evolute.report.figures.curves import slots
from evolute.report.figures.downsample import every, joined, sampling_note, stride
from evolute.report.figures.heat_map import shares_won
from evolute.runs.games import GameTable
from evolute.runs.turns import Numbers, TurnTable

SHOWN = 32
"""Heat maps have at most this many members, the best by rating."""
WINDOW = 8
"""Who beats whom is told by games of this many turns: members change as they learn."""
TIMES = 40
"""How often in a run the mixture is computed."""
PRIOR = 2.0
"""How many games the ratings count for in the mixture."""
NINETY = 1.645
"""Standard deviations on either side that hold 90 % of a normal distribution."""

POINTS = "400 points more mean odds of ten to one."


def charts(table: TurnTable) -> list[Chart]:
    """All plots of a game; nothing if members are not rated."""
    rated = _rated(table)
    if not rated:
        return []
    games = GameTable.of(table)
    mixed = [] if table.meta.by_gain else [mixture(table, games, rated)]
    found = [ratings(table, rated), payoff(table, games, rated), *mixed, pool(table)]
    return [chart for chart in found if chart.series]


def ratings(table: TurnTable, rated: dict[int, Numbers]) -> Chart:
    """The rating of each member over the turns, with its interval; the best of now in front."""
    step = stride(sum(map(len, rated.values())))
    best = next(iter(rated))
    series = [_curve(table, every(rows, step), slot, best=slot == best) for slot, rows in reversed(rated.items())]
    by_gain = table.meta.by_gain
    note = joined(
        "Mean return against the newest past states, the same for all members." if by_gain else POINTS,
        "The band is the 90% interval of the best; others show theirs when pointed at.",
        sampling_note(step),
    )
    axis = Axis("mean return" if by_gain else "rating")
    return Chart("ratings", "Rating of each member", Axis("turn"), axis, series, note)


def payoff(table: TurnTable, games: GameTable, rated: dict[int, Numbers]) -> Chart:
    """The share of games that each member has won against each other one, bots, and states of long ago."""
    last = int(table.turn.max())
    wins = games.between_members(table.size, last, WINDOW)
    counts = wins + wins.T
    np.fill_diagonal(counts, 0)
    shown = list(rated)[:SHOWN]
    tables = [(wins[:, shown], counts[:, shown]), games.against_bots(table.size, last, WINDOW)]
    tables.append(games.against_past(table.size, last, WINDOW))
    names = [*map(str, shown), *games.bots, "past"]
    won, played = (np.concatenate([pair[which] for pair in tables], axis=1)[shown] for which in (0, 1))
    there = [column for column, name in enumerate(names) if column < len(shown) or played[:, column].any()]
    others = [*(f"member {slot}" for slot in shown), *games.bots, "past states"]
    cells = shares_won(won[:, there], played[:, there], others[: len(shown)], [others[column] for column in there])
    span = f"in the last {min(WINDOW, last + 1)} turns"
    past = f"“past” are states from before turn {last - WINDOW + 1}." if "past" in (names[column] for column in there) else ""
    return Chart(
        "payoff",
        "Who beats whom",
        Axis("against (member, bot or guest, past states)", categories=[names[column] for column in there]),
        Axis("member, the best on top", categories=[str(slot) for slot in reversed(shown)]),
        [cells] if len(cells.x) else [],
        joined(
            f"% of games that the row won {span}, a draw being half a win.",
            past,
            "Blue: more than half; orange: less; empty: they have not met.",
            _left_out(len(rated)),
        ),
    )


def mixture(table: TurnTable, games: GameTable, rated: dict[int, Numbers]) -> Chart:
    """The equilibrium of the members at turns of the run: how often to send each, if the other side knows that."""
    shown = list(rated)[:SHOWN]
    turns = sorted({int(turn) for turn in np.linspace(0, max(int(table.turn[rows[-1]]) for rows in rated.values()), TIMES)})
    x: list[float] = []
    y: list[float] = []
    shares: list[float] = []
    texts: list[str] = []
    for place, turn in enumerate(turns):
        scores = _ratings_at(table, rated, shown, turn)
        there = np.flatnonzero(np.isfinite(scores))
        if len(there) < 2:
            continue
        found = equilibrium(_payoff(games, table.size, turn, np.array(shown)[there], scores[there]))
        x += [place] * len(there)
        y += [len(shown) - 1 - int(row) for row in there]
        shares += found.tolist()
        texts += [f"turn {turn}: member {shown[row]} has {share:.0%}" for row, share in zip(there, found, strict=True)]
    cells = Series("share of the mixture", x, y, kind="cells", values=shares, texts=texts)
    note = (
        "How often to send each member against somebody who knows these shares: one column a time, by games of the "
        f"{WINDOW} turns before and by ratings. Several members have shares if none of them beats all others."
    )
    return Chart(
        "mixture",
        "Nash mixture of the members",
        Axis("turn", categories=list(map(str, turns))),
        Axis("member, the best on top", categories=[str(slot) for slot in reversed(shown)]),
        [cells] if len(x) else [],
        joined(note, _left_out(len(rated))),
    )


def pool(table: TurnTable) -> Chart:
    """The past states that members could meet at each turn: when they joined the pool, and when they were forgotten."""
    first: dict[Ref, int] = {}
    last: dict[Ref, int] = {}
    for turn, states in table.pools:
        for ref in states:
            first.setdefault(ref, turn)
            last[ref] = turn
    now = set(table.pools[-1][1]) if table.pools else set()
    rows = {table.ref(row): row for row in table.deviations}
    groups = {"in the pool now": [ref for ref in first if ref in now], "forgotten": [ref for ref in first if ref not in now]}
    series = [
        Series(
            name,
            [turn for ref in refs for turn in (first[ref], last[ref])],
            [ref.turn + ref.member / table.size for ref in refs for _ in range(2)],
            "living" if name != "forgotten" else "extinct",
            "links",
            texts=[_told(table, ref, rows) for ref in refs for _ in range(2)],
        )
        for name, refs in groups.items()
        if refs
    ]
    note = (
        "A line is a past state that members may meet, from the turn in which it joined the pool until it was forgotten. "
        "States of one turn lie above each other by member."
    )
    return Chart("pool", "Pool of past states", Axis("turn"), Axis("turn that made the state"), series[::-1], note)


def _rated(table: TurnTable) -> dict[int, Numbers]:
    """The rows of each member that have a rating, by turn; the member with the highest last rating first."""
    known = np.zeros(len(table), dtype=np.bool_)
    known[list(table.deviations)] = True
    rows = {slot: rows[known[rows]] for slot, rows in slots(table).items()}
    rated = {slot: found for slot, found in rows.items() if len(found)}
    return dict(sorted(rated.items(), key=lambda item: rank_key(float(table.score[item[1][-1]]))))


def _curve(table: TurnTable, rows: Numbers, slot: int, *, best: bool) -> Series:
    spread = [NINETY * table.deviations[row] for row in rows.tolist()]
    return Series(
        f"best (member {slot})" if best else f"member {slot}",
        table.turn[rows].tolist(),
        table.score[rows].tolist(),
        "winner" if best else "member",
        spread=spread,
        texts=[f"± {value:.{_places(table)}f} (90%)" for value in spread],
    )


def _ratings_at(table: TurnTable, rated: dict[int, Numbers], shown: list[int], turn: int) -> Floats:
    """The last rating of each member up to a turn, NaN if it has none: [member shown]."""
    found = np.full(len(shown), np.nan)
    for place, slot in enumerate(shown):
        rows = rated[slot]
        at = int(np.searchsorted(table.turn[rows], turn, side="right"))
        if at:
            found[place] = table.score[rows[at - 1]]
    return found


def _payoff(games: GameTable, size: int, turn: int, members: Numbers, scores: Floats) -> Floats:
    """What members gain from each other, by their games and by their ratings."""
    wins = games.between_members(size, turn, WINDOW)[np.ix_(members, members)]
    expected = win_probability(scores[:, None] - scores[None, :])
    shares = (wins + PRIOR * expected) / (wins + wins.T + PRIOR)
    return antisymmetric(shares)


def _told(table: TurnTable, ref: Ref, rows: dict[Ref, int]) -> str:
    return f"{ref}, rated {table.score[rows[ref]]:.{_places(table)}f}" if ref in rows else str(ref)


def _places(table: TurnTable) -> int:
    """With how many decimal places ratings are told."""
    return 2 if table.meta.by_gain else 0


def _left_out(members: int) -> str:
    return f"The best {SHOWN} of {members} members are shown." if members > SHOWN else ""
