"""The time axis of a key cut into ranges, so that many tasks share its rows.

    time    ────────────────────────────────────────────────►
    range          │  own rows of 1   │  own rows of 2   │
    task 1   ░░░░░░█████████████████████                        ░ rows that its windows reach back to
    task 2                      ░░░░░░░████████████████████

A task answers the windows that are its own: of its rows, or that end in its range. All here is arithmetic on ticks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.engines.spark.worker import Worker
from sash.engines.times import read_time_type
from sash.plan.declared import Declared
from sash.windows import Window
from sash.windows.base import FOREVER, NEVER, Ints
from sash.windows.by_gap import Session
from sash.windows.by_rows import EveryRows, LastRows
from sash.windows.by_time import Periodic, TimeOfRow


@dataclass(frozen=True)
class Reach:
    """How far windows look back from what they belong to."""

    ticks: int
    rows: int
    gap: int
    """Where rows are further apart than this, no session goes on; -1 if there are no sessions."""


def reach_of(windows: Iterable[Window], tick: int | None, time: str) -> Reach | str:
    """Return how far windows look back, or why that isn't known: a sentence.

    >>> from sash import window
    >>> reach_of([window.time(10), window.rows(3)], None, "t")
    Reach(ticks=10, rows=2, gap=-1)
    """
    ticks, rows, gap = 0, 0, -1
    for window in windows:
        match window:
            case TimeOfRow() | Periodic():
                ticks = max(ticks, window.range.in_ticks(tick, time))
            case LastRows() | EveryRows():
                rows = max(rows, window.range - 1)
            case Session():
                gap = max(gap, window.gap.in_ticks(tick, time))
            case _:
                return f"how far {window} reaches back is not known before its rows are seen"
    return Reach(ticks, rows, gap)


@dataclass(frozen=True)
class Part:
    """A range of a key's time."""

    begin: int
    end: int
    """Its own rows are those with begin ≤ time < end."""
    since: int
    """Its windows need rows from here on."""
    rows_before: int = 0
    """How many rows of the key come before these; counted only where windows count rows."""


@dataclass(frozen=True)
class Counted:
    """How many rows of a key lie before some edges on its time axis."""

    edges: Ints
    before: Ints

    def edge_with(self, rows: int, until: int) -> tuple[int, int]:
        """Return the last edge with at least so many rows from it until a time, and how many rows come before it."""
        place = int(np.searchsorted(self.edges, until, side="right")) - 1  # rows until this edge come before the time
        if place < 0:
            return NEVER, 0
        place = int(np.searchsorted(self.before, self.before[place] - rows, side="right")) - 1
        return (NEVER, 0) if place < 0 else (int(self.edges[place]), int(self.before[place]))


def make_parts(bounds: Sequence[int], reach: Reach, counted: Counted | None) -> list[Part]:
    """Return the ranges between bounds, and how far back each needs rows.

    >>> make_parts([10, 20], Reach(4, 0, -1), None)[1]
    Part(begin=10, end=20, since=6, rows_before=0)
    """
    parts = []
    for begin, end in pairwise([NEVER, *bounds, FOREVER]):
        since, before = begin, 0
        if begin != NEVER:
            since = max(begin - reach.ticks, NEVER)
            if counted is not None:
                edge, before = counted.edge_with(reach.rows, begin)
                if edge > since:  # the window of time reaches further: its rows are counted from the next edge before
                    edge, before = counted.edge_with(0, since)
                since = edge
        parts.append(Part(begin, end, since, before))
    return parts


def even_bounds(quantiles: Sequence[float], ranges: int) -> list[int]:
    """Return bounds of ranges with about equally many rows; times that come very often have a range of their own."""
    picks = [quantiles[len(quantiles) * number // ranges] for number in range(1, ranges)] if len(quantiles) else []
    return sorted({int(pick) for pick in picks})


def move_to_gaps(found: Mapping[int, tuple[int, int, int | None]], gap: int) -> list[int]:
    """Return bounds of ranges moved on to where no session goes on.

    Of ranges that have rows is known: the first and the last time, and the first that begins a session there.

    >>> move_to_gaps({0: (1, 9, None), 1: (11, 19, 15), 2: (26, 30, None)}, 3)
    [15, 26]
    """
    moved = []
    last: int | None = None
    for number in sorted(found):
        first, newest, start = found[number]
        if last is not None:
            if first - last > gap:
                moved.append(first)
            elif start is not None:
                moved.append(start)
        last = newest
    return moved


def first_start(times: Ints, gap: int) -> int | None:
    """Return the first of sorted times that comes more than `gap` after the one before.

    >>> first_start(np.array([1, 2, 9, 20]), 5)
    9
    """
    starts = np.flatnonzero(np.diff(times) > gap)
    return int(times[starts[0] + 1]) if len(starts) else None


def place_sql(ticks: str, edges: Sequence[int]) -> str:
    """Return an expression for how many edges are at or before a time; 0 for null.

    >>> place_sql("t", [10, 20])
    'CASE WHEN t >= 10 THEN CASE WHEN t >= 20 THEN 2 ELSE 1 END ELSE 0 END'
    """

    def between(low: int, high: int) -> str:
        if low == high:
            return str(low)
        middle = (low + high + 1) // 2
        edge = edges[middle - 1]
        return f"CASE WHEN {ticks} >= {edge} THEN {between(middle, high)} ELSE {between(low, middle - 1)} END"

    return between(0, len(edges))


@dataclass(frozen=True)
class RangeWorker:
    """A worker for ranges: of each group it is known which part of a key's time it is; other groups are buckets."""

    worker: Worker
    parts: Mapping[int, Part]

    def answer(self, group: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the results that are a group's own."""
        part = self.parts.get(group)
        if part is None:
            yield from self.worker.answer(group, batches)
            return
        for table in self.worker.tables(batches, part.rows_before):
            own = table.filter(pa.array(own_results(self.worker.declared, table, part)))
            yield from self.worker.as_declared(own)


def own_results(declared: Declared, table: pa.Table, part: Part) -> npt.NDArray[np.bool_]:
    """Return which results belong to a part: those of its rows, or of windows that end there."""
    assert declared.time is not None
    if declared.per_row:
        return _between(table, declared.time, part.begin, part.end)
    own = np.zeros(len(table), np.bool_)
    for name, window in declared.windows.items():
        match window:
            case Periodic():  # ends are not in a window themselves
                mine = _between(
                    table, "window_end", part.begin + (part.begin != NEVER), part.end + (part.end != FOREVER)
                )
            case Session():
                mine = _between(table, "window_start", part.begin, part.end)
            case _:
                mine = _between(table, "window_end", part.begin, part.end)
        if declared.several:
            named = table["window"].cast(pa.string()).to_numpy(zero_copy_only=False) == name
            mine &= named.astype(np.bool_)
        own |= mine
    return own


def _between(table: pa.Table, name: str, begin: int, end: int) -> npt.NDArray[np.bool_]:
    times = read_time_type(name, table.schema.field(name).type).read(table[name])
    inside: npt.NDArray[np.bool_] = (times >= begin) & ((times < end) | (end == FOREVER))
    return inside
