"""RowFrame: for each row, a number of rows before and after it. Frames that exclude rows, also those of time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from sash.durations import TimeUnit
from sash.windows.arguments import options_text
from sash.windows.arrays import ranges, starts_of_runs
from sash.windows.base import Bounds, Flags, Interval, Ints, Items, LoopCompiler, Memory, NewestRows, Points, Reach
from sash.windows.capabilities import Frame, TimeAxis, frame_around
from sash.windows.window import Window


class FrameBounds(Bounds):
    """A window for each row of keys without context. Begins and ends are computed only if somebody needs them.

    >>> bounds = FrameBounds(NewestRows(np.array([0, 3, 5]), 2), np.array([2, 4]))
    >>> bounds.begins.tolist(), bounds.ends.tolist()
    ([0, 0, 1, 3, 3], [1, 2, 3, 4, 5])
    >>> ahead = FrameBounds(NewestRows(np.array([0, 3, 5]), 2, ahead=1), np.array([2, 4]))
    >>> ahead.begins.tolist(), ahead.ends.tolist()
    ([0, 1, 2, 3, 4], [2, 3, 3, 5, 5])
    """

    def __init__(self, frame: NewestRows, keep: Ints) -> None:
        vars(self).update(frame=frame, starts=None, stops=None, keep=keep, memory={})

    def __len__(self) -> int:
        """Return the number of rows."""
        assert self.frame is not None
        return int(self.frame.firsts[-1])

    @cached_property
    def _positions(self) -> tuple[Ints, Ints]:
        assert self.frame is not None
        firsts, length, ahead = self.frame
        return bounds_around(np.arange(len(self)), firsts, np.diff(firsts), length - 1 - ahead, ahead)

    @cached_property
    def begins(self) -> Ints:
        """The first row of each window."""
        return self._positions[0]

    @cached_property
    def ends(self) -> Ints:
        """The row after the last one of each window."""
        return self._positions[1]


def cut_sections(firsts: Ints, before: int, after: int, most: int) -> Iterator[tuple[slice, slice, Ints]]:
    """Yield rows of whole keys, or of a part of a long key; all rows that their windows hold; and where keys begin among these.

    >>> for own, rows, keys in cut_sections(np.array([0, 5, 9, 29]), 1, 0, most=8):
    ...     print(own.start, own.stop, rows.start, rows.stop, keys.tolist())
    0 9 0 9 [0, 5, 9]
    9 17 9 17 [0, 8]
    17 25 16 25 [0, 9]
    25 29 24 29 [0, 5]
    """
    step = max(most, 8 * (before + after))  # each part reads the rows around it again

    def whole(keys: Ints) -> tuple[slice, slice, Ints]:
        rows = slice(int(keys[0]), int(keys[-1]))
        return rows, rows, keys - keys[0]

    begun = 0
    for key, (first, end) in enumerate(pairwise(firsts.tolist())):
        if end - first > step:
            if begun < key:
                yield whole(firsts[begun : key + 1])
            for own in range(first, end, step):
                rows = slice(max(first, own - before), min(end, own + step + after))
                yield slice(own, min(end, own + step)), rows, np.array([0, rows.stop - rows.start])
            begun = key + 1
        elif end - firsts[begun] >= step:
            yield whole(firsts[begun : key + 2])
            begun = key + 1
    if begun < len(firsts) - 1:
        yield whole(firsts[begun:])


class SplitBounds(FrameBounds):
    """A window for each row of keys without context, which leaves out the row. Runs are computed only if somebody needs them.

    >>> bounds = SplitBounds(np.array([0, 3]), 1, 2, np.array([0]))
    >>> [(begins.tolist(), ends.tolist()) for begins, ends in bounds.runs]
    [([0, 0, 1], [0, 1, 2]), ([1, 2, 3], [3, 3, 3])]
    """

    def __init__(self, firsts: Ints, before: int, after: int, keep: Ints) -> None:
        super().__init__(NewestRows(firsts, before + 1 + after, after), keep)
        vars(self).update(frames=(NewestRows(firsts, before, -1), NewestRows(firsts, after, after)))

    @cached_property
    def runs(self) -> tuple[tuple[Ints, Ints], ...]:
        """The rows before each row, and those after it."""
        runs = [FrameBounds(frame, self.keep) for frame in self.frames]
        return tuple((run.begins, run.ends) for run in runs)


@dataclass(frozen=True)
class RowFrame(Window):
    """For each row, the rows from `before` rows before it to `after` rows after it; None for all rows on that side."""

    kind: ClassVar[str] = "rows"
    before: int | None
    after: int | None = 0
    exclude: str = ""

    @property
    def length(self) -> int | None:
        """How many rows a window holds away from the ends of a key; None if there is no limit."""
        return None if self.before is None or self.after is None else self.before + self.after + 1

    def bounds(self, items: Items, memory: Memory, compiler: LoopCompiler) -> Bounds:
        """Return a window for each row."""
        if items.row_counts is not None:
            return self._bounds_of_slices(items, items.row_counts)
        if items.points is not None:
            return self._bounds_at(items, items.points)
        exclude = self.exclude and without_peers(self.exclude, items, by_order=True)
        plain = self._without_exclude(exclude) if self.exclude else None
        if plain is not None:
            return plain.bounds(items, memory, compiler)
        span = items.span
        if self.length is not None and not span.done.any() and (span.final == np.diff(items.firsts)).all():
            assert self.before is not None
            assert self.after is not None
            if not exclude:
                return FrameBounds(NewestRows(items.firsts, self.length, self.after), self._keep(items))
            if exclude == "row" and self.before > 0 and self.after > 0:
                return SplitBounds(items.firsts, self.before, self.after, self._keep(items))
        counts = span.final - span.done
        rows = ranges(items.firsts[:-1] + span.done, counts)
        begins, ends = bounds_around(rows, items.firsts, counts, self.before, self.after)
        return without(Bounds(begins, ends, None, None, self._keep(items)), items, self.exclude, by_order=True)

    def _without_exclude(self, exclude: str) -> RowFrame | None:
        """Return the frame of the same rows that excludes none, if there is one; rows have no peers if `exclude` differs from its own."""
        holds_row = (self.before is None or self.before >= 0) and (self.after is None or self.after >= 0)
        if not exclude or (exclude == "row" and not holds_row):
            return replace(self, exclude="")
        if exclude == "row" and self.after == 0 and self.before != 0:
            return replace(self, after=-1, exclude="")
        if exclude == "row" and self.before == 0 and self.after != 0:
            return replace(self, before=-1, exclude="")
        return None

    def _bounds_at(self, items: Items, points: Points) -> Bounds:
        """Return a window for each point: the rows before it, counted from the last one."""
        lows, highs = np.repeat(items.firsts[:-1], points.counts), np.repeat(items.firsts[1:], points.counts)
        begins = lows if self.before is None else np.clip(points.places - 1 - self.before, lows, highs)
        ends = highs if self.after is None else np.clip(points.places + self.after, begins, highs)
        return Bounds(begins, ends, None, None, items.firsts[:-1])

    def _keep(self, items: Items) -> Ints:
        """Return the first row of each key that the window of a later row may hold."""
        firsts = items.firsts[:-1]
        next_rows = firsts + items.span.final
        if self.before is None:
            return np.where(items.span.has_ended, next_rows, firsts)
        first: Ints = np.clip(next_rows - self.before, firsts, next_rows)
        return first

    def _bounds_of_slices(self, items: Items, row_counts: Ints) -> Bounds:
        """Return a window for each item; an item of several rows is context, and no window begins or ends inside it.

        >>> from sash.windows.base import whole_items
        >>> items = whole_items([1, 2, 7, 8], row_counts=np.array([1, 2, 1, 1]))
        >>> RowFrame(3).bounds(items, {}, None).begins.tolist()
        [0, 0, 0, 1]
        """
        assert self.after is not None  # it has `time_split` and `held` only if it does not look ahead
        span, firsts = items.span, items.firsts[:-1]
        rows = np.concatenate([np.zeros(1, np.int64), np.cumsum(row_counts)])  # before each item
        counts = span.final - span.done
        places = ranges(firsts + span.done, counts)
        lows = np.repeat(firsts, counts)
        ends = places + 1
        if self.after < 0:
            ends = np.maximum(np.searchsorted(rows, rows[places] + (self.after + 1)), lows)
        next_items = firsts + span.final
        if self.before is None:
            return Bounds(lows, ends, None, None, np.where(span.has_ended, next_items, firsts))
        begins = np.minimum(np.maximum(np.searchsorted(rows, rows[places] - self.before), lows), ends)
        keep = np.clip(np.searchsorted(rows, rows[next_items] - self.before), firsts, next_items)
        return Bounds(begins, ends, None, None, keep)

    # -- the frame ---------------------------------------------------------------------------------------------------

    @cached_property
    def frame(self) -> Frame:
        """The window of a row."""
        looks_ahead = self.after is None or self.after > 0
        more: dict[str, Any] = {"ready": self._ready, "needed_from": self._needed_from}
        more["held"] = None if looks_ahead else self._held
        more["reads_times"] = bool(self.exclude)  # of peers
        more["rows_of_points"] = int(self.before is not None)
        sides = (self.before, self.after)
        if not self.exclude:
            more |= {
                "sql": f"ROWS BETWEEN {side_sql(self.before, -1)} AND {side_sql(self.after, 1)}",
                "rows": self.length,
            }
        return frame_around(*sides, self.exclude, self._reach, self._begin_zones, around=sides, **more)

    def _ready(self, items: Items) -> Ints:
        """Return how many rows of each key have all rows of their window."""
        final = items.span.final
        if self.after is None:
            return np.where(items.span.has_ended, final, items.span.done)
        return np.where(items.span.has_ended, final, np.maximum(final - max(self.after, 0), items.span.done))

    def _held(self, items: Items) -> Ints:
        """Return for each key the first row that the window of the next row does not hold."""
        assert self.after is not None
        firsts = items.firsts[:-1]
        first: Ints = np.maximum(firsts + items.span.final + min(self.after, 0), firsts)
        return first

    def _needed_from(self, items: Items) -> Ints:
        """Return by key the first row that the window of a point at or after the newest row may hold."""
        firsts = items.firsts[:-1]
        return firsts if self.before is None else np.maximum(items.firsts[1:] - 1 - self.before, firsts)

    def _reach(self, unit: TimeUnit) -> Reach | None:  # noqa: ARG002 — it reaches back by rows
        """Return how far it reaches back at most; None without limit."""
        return None if self.before is None else Reach(rows=max(self.before, 0))

    def _begin_zones(self, begin: int, end: int, axis: TimeAxis) -> list[Interval] | None:
        """Return where the windows of rows in a time range begin: `before` rows earlier."""
        if self.before is None or self.after != 0 or self.exclude:
            return None
        first, _ = axis.edge_with(self.before, begin)
        last = axis.edge_after(axis.rows_before(end) - self.before - 1)
        return [(first, max(first, min(last, begin)))]

    def __repr__(self) -> str:
        """Return the call that makes the window."""
        around = f"before={self.before}" + (f", after={self.after}" if self.after != 0 else "")
        frame = str(self.before + 1) if self.before is not None and self.after == 0 else around
        return f"rows({frame}{options_text(exclude=self.exclude, min_rows=self.min_rows)})"


def side_sql(rows: int | None, direction: int) -> str:
    """Return where a frame of SQL begins (direction -1) or ends (1): some rows from its row, None for all rows on that side.

    >>> side_sql(9, -1), side_sql(-2, 1), side_sql(0, 1), side_sql(None, -1)
    ('9 PRECEDING', '2 PRECEDING', 'CURRENT ROW', 'UNBOUNDED PRECEDING')
    """
    if rows == 0:
        return "CURRENT ROW"
    ahead = direction > 0 if rows is None else rows * direction > 0
    return f"{'UNBOUNDED' if rows is None else abs(rows)} {'FOLLOWING' if ahead else 'PRECEDING'}"


def bounds_around(rows: Ints, firsts: Ints, counts: Ints, before: int | None, after: int | None) -> tuple[Ints, Ints]:
    """Return the windows around some rows, within the key of each: `counts` rows are of each key.

    >>> begins, ends = bounds_around(np.array([0, 1, 4]), np.array([0, 3, 5]), np.array([2, 1]), before=1, after=1)
    >>> begins.tolist(), ends.tolist()
    ([0, 0, 3], [2, 3, 5])
    """
    lows, highs = firsts[:-1], firsts[1:]
    begins = np.repeat(lows, counts) if before is None else rows - before
    ends = np.repeat(highs, counts) if after is None else rows + (after + 1)
    for places, shift in ((begins, -(before or 0)), (ends, (after or 0) + 1)):
        if shift < 0:
            np.maximum(places, np.repeat(lows, counts), out=places)
        if shift > 1 or (shift == 1 and places is begins):
            np.minimum(places, np.repeat(highs, counts), out=places)
    return begins, ends


# -- EXCLUDE, as in SQL: the frame of a row without the row, without its peers, or without both -----------------------


def without_peers(exclude: str, items: Items, *, by_order: bool = False) -> str:
    """Return what to exclude; if no row has peers, "row" in place of "group", and nothing in place of "ties".

    >>> from sash.windows.base import whole_items
    >>> without_peers("group", whole_items([1, 2, 3])), without_peers("ties", whole_items([1, 2, 2]))
    ('row', 'ties')
    """
    if exclude not in ("ties", "group") or not _starts_peers(items, by_order=by_order).all():
        return exclude
    return "row" if exclude == "group" else ""


def without(bounds: Bounds, items: Items, exclude: str, *, by_order: bool = False) -> Bounds:
    """Return frames without the rows that they exclude: each has up to three runs of rows.

    Peers have equal times; `by_order`, also equal values in the columns that break ties.

    >>> from sash.windows.base import whole_items
    >>> frames = Bounds(np.array([0, 0, 0]), np.array([3, 3, 3]), None, None, np.array([0]))
    >>> [(begins.tolist(), ends.tolist()) for begins, ends in without(frames, whole_items([1, 2, 2]), "row").runs]
    [([0, 0, 0], [0, 1, 2]), ([1, 2, 3], [3, 3, 3])]
    """
    if not exclude:
        return bounds
    rows = ranges(items.firsts[:-1] + items.span.done, items.span.final - items.span.done)
    firsts, ends = rows, rows + 1
    if exclude != "row":
        is_first = _starts_peers(items, by_order=by_order)
        starts = np.append(np.flatnonzero(is_first), len(is_first))
        number = (np.cumsum(is_first) - 1)[rows]
        firsts, ends = starts[number], starts[number + 1]

    def within(places: Ints) -> Ints:
        return np.clip(places, bounds.begins, bounds.ends)

    runs = [(bounds.begins, within(firsts)), (within(ends), bounds.ends)]
    if exclude == "ties":
        runs.insert(1, (within(rows), within(rows + 1)))
    runs = [run for run in runs if (run[0] < run[1]).any()] or runs[:1]
    if len(runs) == 1:
        [(begins, stops)] = runs
        return Bounds(begins, stops, None, None, bounds.keep)
    return replace(bounds, runs=tuple(runs))


def _starts_peers(items: Items, *, by_order: bool) -> Flags:
    """Return which rows are not peers of the row before them."""
    is_first = starts_of_runs(items.times, items.firsts)
    return is_first | items.differs if by_order and items.differs is not None else is_first
