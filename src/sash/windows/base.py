"""Items, Span, Bounds: what windows take and return, as positions of items, for every key at once.

Items are rows or slices, sorted by key and time. A window is then a run of items `begin … end - 1`. Neither bound ever moves
back from one window to the next, so that one pass over all items evaluates the windows of all keys.

    key        a a a a a b b b c c c c
    window 1   ├───┤
    window 2     ├─────┤
    window 3             ├───┤
    window 4                 ├─────┤

A stream arrives in micro-batches. What a window must remember of the items before a micro-batch is its memory: a few numbers
for each key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from sash.durations import TimeUnit

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Memory = dict[str, npt.NDArray[Any]]
LoopCompiler = Callable[[Any], Any]
"""Returns a loop compiled, or its NumPy form (see `numpy_forms.py`)."""
Interval = tuple[int, int]
"""Times `begin ≤ time < end`."""

FOREVER = 2**63 - 1
"""A time after all others."""
NEVER = -(2**63)
"""A time before all others."""
NOT_GIVEN: Any = object()
"""The default of an argument for which None has a meaning."""
NO_UNIT = TimeUnit()
"""Of items without a time column."""
ALL_COLUMNS = "*"
"""Among the columns of a window: it reads whole rows, as dictionaries."""


@dataclass(frozen=True)
class Span:
    """Which items are context, which are final, and which windows to emit. All arrays have one entry per key."""

    done: Ints
    """How many items of the key are context: earlier calls evaluated them, and windows may reach back to them."""
    final: Ints
    """How many items of the key are final: no item can arrive before them any more. The context is included."""
    after: Ints
    """Windows of time that end at or before this time were emitted before."""
    now: Ints
    """Windows of time that end by this time are emitted."""
    closed: Ints
    """Windows of time that end by this time are final; it differs from `now` only in update mode."""
    changed: Flags | None = None
    """By item: whether it is new. If given, only windows that hold a new item are emitted (update mode)."""
    ended: Flags | None = None
    """By key: whether no more items arrive. None if that is so where `closed` is FOREVER."""

    @property
    def has_ended(self) -> Flags:
        """By key: whether no more items arrive."""
        return self.closed == FOREVER if self.ended is None else self.ended


def whole_span(lengths: Ints, after: int = NEVER, now: int = FOREVER) -> Span:
    """Return the span of keys that have no context: all items are final, all windows between two times are emitted.

    >>> whole_span(np.array([3, 2])).final.tolist()
    [3, 2]
    """
    keys = len(lengths)
    limit = np.full(keys, now, np.int64)
    return Span(np.zeros(keys, np.int64), lengths, np.full(keys, after, np.int64), limit, limit)


class Points(NamedTuple):
    """Times at which windows end instead of with rows, by key and time: those of labels (see `engine/labels.py`)."""

    times: Ints
    places: Ints
    """By point: the first item of the key that is later."""
    counts: Ints
    """By key: the number of points."""

    def select(self, chosen: Flags) -> Points:
        """Return the chosen points."""
        owners = np.repeat(np.arange(len(self.counts)), self.counts)[chosen]
        counts = np.bincount(owners, minlength=len(self.counts)).astype(np.int64)
        return Points(self.times[chosen], self.places[chosen], counts)


@dataclass(frozen=True)
class Items:
    """Rows or slices by key and time, as windows see them."""

    times: Ints
    """In ticks; the time of a slice is where it begins. Empty if there is no time column."""
    firsts: Ints
    """The first item of each key, and the number of items."""
    span: Span
    unit: TimeUnit = NO_UNIT
    columns: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    """The columns that windows read, by name."""
    last_times: Ints | None = None
    """Of slices: the time of the last row of each, where windows need it."""
    row_counts: Ints | None = None
    """Of slices: how many rows each holds, where windows need it."""
    points: Points | None = None
    """Where windows that have a result per row end instead; None if each row has a result."""
    differs: Flags | None = None
    """By row: whether it differs from the row before it in the columns that break ties, where windows need it."""

    @property
    def keys(self) -> int:
        """The number of keys."""
        return len(self.firsts) - 1

    @property
    def is_waiting(self) -> Flags:
        """By item: whether it is not context."""
        contexts = np.repeat(self.firsts[:-1] + self.span.done, np.diff(self.firsts))
        return np.arange(len(self.times)) >= contexts

    @property
    def newest_times(self) -> Ints:
        """The time of the last item of each key; that of any item for a key without items."""
        return self.times[self.firsts[1:] - 1]


def whole_items(times: Any, firsts: Any = None, **more: Any) -> Items:
    """Return items without context, of one key unless `firsts` is given.

    >>> whole_items([3, 5, 5]).span.final.tolist()
    [3]
    """
    times = np.asarray(times, np.int64)
    firsts = np.array([0, len(times)] if firsts is None else firsts, np.int64)
    return Items(times, firsts, whole_span(np.diff(firsts)), **more)


class NewestRows(NamedTuple):
    """The newest `length` rows for each row of some keys, as of the row `ahead` rows later."""

    firsts: Ints
    """The first row of each key, and the number of rows."""
    length: int
    ahead: int = 0

    @property
    def held(self) -> Ints:
        """How many rows the window of each row holds.

        >>> NewestRows(np.array([0, 3, 5]), 2, ahead=1).held.tolist()
        [2, 2, 1, 2, 1]
        """
        held = np.full(int(self.firsts[-1]), self.length)
        before = self.length - 1 - self.ahead
        for first, end in pairwise(self.firsts.tolist()):
            rows = end - first
            at_begin, at_end = min(rows, max(before, -self.ahead)), min(rows, max(self.ahead, -before))
            for places in (np.arange(at_begin), np.arange(rows - at_end, rows)):
                begins, ends = np.clip(places - before, 0, rows), np.clip(places + self.ahead + 1, 0, rows)
                held[first + places] = ends - begins
        return held


@dataclass(frozen=True)
class Bounds:
    """Windows, in order, as runs of items."""

    begins: Ints
    ends: Ints
    starts: Ints | None
    """The first time of windows that are intervals of time; None for others."""
    stops: Ints | None
    """The end of these intervals."""
    keep: Ints
    """By key: the first item that later windows may still reach back to."""
    memory: Memory = field(default_factory=dict)
    """What the window remembers of each key after these items."""
    runs: tuple[tuple[Ints, Ints], ...] = ()
    """The begins and ends of the runs of items that each window consists of, if it is not one run (see `exclude`)."""
    frame: ClassVar[NewestRows | None] = None
    """How windows follow from rows, if there is one for each row; then nobody need ask for begins and ends."""
    frames: ClassVar[tuple[NewestRows, ...]] = ()
    """How the runs of windows follow from rows, if there is one window for each row; then nobody need ask for runs."""

    def __len__(self) -> int:
        """Return the number of windows."""
        return len(self.begins)

    @property
    def newest(self) -> Ints:
        """The newest item of each window; not defined if the window is empty."""
        newest = self.ends - 1
        if self.runs:
            newest = np.maximum.reduce([np.where(begins < ends, ends - 1, -1) for begins, ends in self.runs])
        return newest

    def select(self, chosen: Flags) -> Bounds:
        """Return the chosen windows."""
        starts = None if self.starts is None else self.starts[chosen]
        stops = None if self.stops is None else self.stops[chosen]
        runs = tuple((begins[chosen], ends[chosen]) for begins, ends in self.runs)
        return Bounds(self.begins[chosen], self.ends[chosen], starts, stops, self.keep, self.memory, runs)


class Cycle(NamedTuple):
    """Windows that repeat: one begins each `period`, and ends after each `step` up to `length`."""

    length: int
    period: int
    step: int
    offset: int

    @property
    def every(self) -> int:
        """The distance from one end to the next: a cumulative window ends each step, others once a period."""
        return self.step if self.step < self.length else self.period


class Reach(NamedTuple):
    """How far windows reach back from the row or the time that they belong to."""

    ticks: int = 0
    rows: int = 0
    gap: int = -1
    """No session continues across a longer gap between rows; -1 if there are no sessions."""


def first_after(times: Ints, now: Ints) -> int:
    """Return the earliest of some times that is after now; FOREVER if there is none.

    >>> first_after(np.array([3, 9, 7]), np.array([3]))
    7
    """
    to_come = times[times > now.min(initial=FOREVER)]
    return int(to_come.min(initial=FOREVER))


def as_it_stands(loop: Any) -> Any:
    """Return a loop unchanged, to be interpreted."""
    return loop


def new_bounds(count: int) -> tuple[Ints, Ints]:
    """Return empty arrays for the begins and ends of `count` windows."""
    return np.empty(count, np.int64), np.empty(count, np.int64)
