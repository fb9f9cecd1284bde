"""What a window may provide besides its bounds. Engines ask for these objects, never for the class of a window.

    cuts          where rows are cut into slices
    frame         the window of a row: there is one result per row
    lateness      which rows of a stream are late
    memory        a few values of each key, from one micro-batch to the next
    time_split    how the time axis of a key is split among the tasks of Spark

The defaults are always correct; a window that tells more is evaluated faster.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sash.durations import TimeUnit
from sash.windows.base import Cycle, Flags, Interval, Ints, Items, Memory, Reach


class ColumnRule(NamedTuple):
    """What a column that a window reads must hold."""

    holds: str = ""
    """"number" (neither null nor NaN), "mark" (a boolean; null is false), or "" for anything."""
    sample: Callable[[int], npt.NDArray[Any]] | None = None
    """Returns values for a number of rows, for a picture over sample rows."""


def _unknown(unit: TimeUnit) -> None:
    """Return None: it is not known from ticks alone."""


# -- slices ------------------------------------------------------------------------------------------------------------


class Numbers(Protocol):
    """Times as numbers of local days or months, and back."""

    def numbers(self, times: Ints) -> Ints:
        """Return the numbers of rows at some times."""

    def final(self, numbers: Ints) -> Ints:
        """Return the first time of a row with a number."""


Numbering = Callable[[Ints], Numbers]
"""Returns the numbers of times between the first and the last of some times."""


class LocalCycle(NamedTuple):
    """Where windows repeat, in numbers of local days or months."""

    cycle: Cycle
    numbering: Numbering


class Cuts(NamedTuple):
    """Where rows are cut into slices. By default, a row tells on arrival whether a window begins (Cutty)."""

    per_window: int | None = None
    """The number of slices of each window if it is the only window of a query; None if it varies."""
    cycle: Callable[[TimeUnit], Cycle | None] = _unknown
    """Returns where windows of time repeat, in ticks; None if they do not."""
    local_cycle: Callable[[TimeUnit], LocalCycle | None] = _unknown
    """Returns where windows of local days or months repeat; None for other windows."""
    shift: int = 0
    """How many ticks before the rows that it holds a window of time starts and ends: one if it is `(start, end]`."""
    gap: Callable[[TimeUnit], int | None] = _unknown
    """Returns the gap between rows that ends a window, in ticks; None if no gap does.

    A new row may join two windows that a gap has ended, so update mode must delete them.
    """
    row_cycle: Cycle | None = None
    """Where windows repeat after a number of rows; None if they do not."""
    pane_starts: Callable[[Items, Memory], Ints] | None = None
    """Returns the items that panes begin with, given the memory after these items; for windows with a row cycle."""


# -- Spark -------------------------------------------------------------------------------------------------------------


class TimeAxis(Protocol):
    """How the rows of a key are distributed in time, as far as that is known before they are read."""

    @property
    def unit(self) -> TimeUnit:
        """The unit of the time column."""

    @property
    def newest(self) -> int:
        """No row is later."""

    def rows_before(self, time: int) -> int:
        """Return about how many rows lie before a time."""

    def edge_with(self, rows: int, until: int) -> tuple[int, int]:
        """Return the last edge with at least `rows` rows between it and a time, and the number of rows before it."""

    def edge_after(self, rows: int) -> int:
        """Return the first edge with at least `rows` rows before it."""


BeginZones = Callable[[int, int, TimeAxis], list[Interval] | None]
"""Returns where windows begin that belong to the time range `begin ≤ time < end`, before that range.

An empty interval (t, t) is a single place. None if that is not known before rows are read.
"""


class TimeSplit(NamedTuple):
    """How the time axis of a key is split into ranges, each of which owns windows."""

    reach: Callable[[TimeUnit], Reach]
    """Returns how far windows reach back."""
    begin_zones: BeginZones = lambda begin, end, axis: None  # noqa: ARG005 — not known


# -- frames ------------------------------------------------------------------------------------------------------------


class Frame(NamedTuple):
    """The window of a row, which has a result for each row. By default, the values of its rows decide where it begins."""

    looks_ahead: bool = False
    """Whether it holds later rows, so that in a stream the result of a row waits for them."""
    needs_end: bool = False
    """Whether it holds all later rows of the key, so that only the end of a stream ends it."""
    in_runs: bool = False
    """Whether it may consist of several runs of rows, so that its partial is combined from theirs."""
    no_labels: str = "follows the values of its rows"
    """Why it cannot be evaluated as of any time, such as that of a label; empty if it can."""
    time_split: TimeSplit | None = None
    has_bounds: bool = False
    """Whether results show where it starts and ends, because that does not follow from the time of the row or the label alone."""
    around: tuple[int | None, int | None] | None = None
    """How far it reaches before and after its row, in rows or in its own unit; None on a side without limit.

    None if it does not follow its row so.
    """
    goes_back: bool = False
    """Whether the frame of a later point may begin earlier than that of an earlier point."""
    sql: str = ""
    """The frame in SQL, such as "ROWS BETWEEN 9 PRECEDING AND CURRENT ROW"; empty if it is none of rows or of all rows before."""
    rows: int | None = None
    """How many rows it holds at most; None if that is not known."""
    reads_times: bool = True
    """Whether its bounds follow from times, rather than from the order of rows alone."""
    reach: Callable[[TimeUnit], Reach | None] = _unknown
    """Returns the furthest that it reaches back, also if it looks ahead or leaves out rows; None if that is not known."""
    ticks: Callable[[TimeUnit], tuple[int, int] | None] = _unknown
    """Returns how many ticks before and after the time of its row it reaches, ends included; None if rows or days decide."""
    begin_edges: Callable[[TimeUnit], int | None] = _unknown
    """Returns the number of ticks that the begin of every frame is a multiple of, so that one partial can stand for the rows between
    two multiples; None if frames begin anywhere."""
    width: Callable[[TimeUnit], int | None] = _unknown
    """Returns how far apart its rows may be, in ticks; None if there is no limit, so that a key needs state forever."""
    rows_of_points: int = 0
    """How many rows more than the frame of the next row the frame of a point may hold: a point is no row of its own frame."""
    ready: Callable[[Items], Ints] = lambda items: items.span.final
    """Returns how many items of each key have results now: fewer than are final if it looks ahead."""
    needed_from: Callable[[Items], Ints] = lambda items: items.firsts[:-1]
    """Returns by key the first item that the frame of a point at or after the newest item may hold."""
    held: Callable[[Items], Ints] | None = None
    """Returns for each key the first item that some later frame ends before: later frames hold all earlier items from their begin on.

    Items may be slices then, of rows that no later frame tells apart. None if its bounds follow from single rows.
    """
    grows: bool = False
    """Whether it begins with the first row of the key, and ends with the row or before it, so that one partial can stand for older rows."""

    def begins_at_edges(self, unit: TimeUnit) -> bool:
        """Return whether no frame begins between two edges, which are known from ticks: slices can stand for older rows."""
        return self.held is not None and (self.grows or self.begin_edges(unit) is not None)


def frame_around(
    before: Any, after: int | None, exclude: str, reach: Callable[[TimeUnit], Any], begin_zones: BeginZones, **more: Any
) -> Frame:
    """Return a frame between two distances from its row; None without limit on a side. `more` is what else it tells."""
    looks_ahead = after is None or after > 0
    grows = before is None and not looks_ahead and not exclude
    if exclude or after is None:
        more["held"] = None
    no_labels = "excludes rows, and labels do not count as rows" if exclude else ""
    # A frame that goes back has no limit that is known from ticks alone.
    has_limit = before is not None and not looks_ahead and not more.get("goes_back")
    split = TimeSplit(reach, begin_zones) if has_limit else None
    return Frame(looks_ahead, after is None, bool(exclude), no_labels, split, reach=reach, grows=grows, **more)


# -- streams -----------------------------------------------------------------------------------------------------------


def _after_rows(times: Ints, unit: TimeUnit) -> Ints:  # noqa: ARG001 — the form of `first_end`
    """Return the times from which on no earlier row can arrive."""
    return times + 1


class Lateness(NamedTuple):
    """Which rows of a stream are late.

    By default, a row is late when its time is before the watermark: it would change the order of rows that the window has seen.
    """

    rule: Hashable = "order"
    """What decides. Windows of a query with equal rules share the state of a stream."""
    first_end: Callable[[Ints, TimeUnit], Ints] = _after_rows
    """Returns for rows at some times the earliest watermark at which one of their windows ends; FOREVER if none holds them."""
    last_end: Callable[[Ints, TimeUnit], Ints] = _after_rows
    """Returns the watermark at which the last of their windows is closed: from then on they are late.

    NEVER if no window holds them: then nobody needs them, and they are not late.
    """
    missed_from: Callable[[Ints, TimeUnit], Ints] = _after_rows
    """Returns the watermarks from which on a window may have been emitted without these rows."""
    half_open: bool = False
    """Whether a row at the end of a window is outside it: the window is final at a watermark equal to its end."""


@dataclass(frozen=True)
class WindowMemory:
    """What a window remembers of each key from one micro-batch to the next. By default, plain numbers."""

    parts: Mapping[str, str] = field(default_factory=dict)
    """Names and NumPy types."""
    fresh: Any = 0
    """The value of each part for a new key."""

    @property
    def code(self) -> list[Any]:
        """The user's functions that a window is made of, for its fingerprint."""
        return []

    def new(self, keys: int, rows_before: int = 0) -> Memory:  # noqa: ARG002 — for windows that count rows
        """Return the memory of new keys, each of which had `rows_before` rows earlier."""
        return {name: np.full(keys, self.fresh, dtype) for name, dtype in self.parts.items()}

    def differs(self, memory: Memory) -> Flags:
        """Return for which keys the memory differs from that of a new key."""
        differ: Flags = np.logical_or.reduce([memory[name] != self.fresh for name in self.parts])
        return differ

    def encode(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a part as an array of plain numbers or bytes."""
        return values

    def decode(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a part from `encode`."""
        return values

    def check_restart(self) -> None:
        """Raise TypeError if it cannot be stored for a restart."""


@dataclass(frozen=True)
class RowCount(WindowMemory):
    """The number of rows so far, for windows that begin every `every` rows.

    >>> RowCount(every=3).differs({"seen": np.array([3, 4])}).tolist()
    [False, True]
    """

    parts: Mapping[str, str] = field(default_factory=lambda: {"seen": "int64"})
    every: int = 1

    def new(self, keys: int, rows_before: int = 0) -> Memory:
        """Return the memory of new keys."""
        return {"seen": np.full(keys, rows_before, np.int64)}

    def differs(self, memory: Memory) -> Flags:
        """Return for which keys the next row is not the first of a cycle."""
        differ: Flags = memory["seen"] % self.every != 0
        return differ
