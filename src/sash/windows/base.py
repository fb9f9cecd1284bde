"""Window: WHERE windows begin and end, as positions of items, for every key at once.

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

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sash.durations import Duration, TimeUnit, quote, standard_text

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
"""An argument that was not given, where None has a meaning of its own."""
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


def whole_items(times: Any, firsts: Any = None, **more: Any) -> Items:
    """Return items without context, of one key unless `firsts` is given.

    >>> whole_items([3, 5, 5]).span.final.tolist()
    [3]
    """
    times = np.asarray(times, np.int64)
    firsts = np.array([0, len(times)] if firsts is None else firsts, np.int64)
    return Items(times, firsts, whole_span(np.diff(firsts)), **more)


class NewestRows(NamedTuple):
    """The newest `length` rows for each row of some keys; with `ahead`, as of so many rows later."""

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


@dataclass(frozen=True)
class Window:
    """Where windows begin and end. Engines ask it for what they need; they never test its class."""

    kind: ClassVar[str]
    per_row: ClassVar[bool] = False
    """Whether every row has a result, rather than every window."""
    needs_time: ClassVar[bool] = False
    is_replaced: ClassVar[bool] = False
    """Whether a new row can change the times of a window, so that update mode must delete the old one (sessions)."""
    looks_ahead: ClassVar[bool] = False
    """Whether the window of a row holds later rows, so that in a stream its result waits for them."""
    grows: ClassVar[bool] = False
    """Whether its windows begin with the first row of the key, and end with the row or before it (see `held`)."""
    needs_end: ClassVar[bool] = False
    """Whether its windows hold all later rows of the key, so that only the end of a stream ends them."""
    is_time: ClassVar[bool] = False
    """Whether its windows are intervals of time, so that only the watermark ends them."""
    by_calendar: ClassVar[bool] = False
    """Whether its days and months are those of a calendar, so that a day is not always 24 hours."""
    emits_empty: ClassVar[bool] = False
    """Whether windows of time without rows are emitted between those with rows. When a key has its last row is known only at the end."""
    sliced: ClassVar[bool] = True
    """Whether it is deterministic (Cutty): a row tells on arrival whether a window begins, so that rows can be sliced."""
    slices_per_window: ClassVar[int | None] = None
    """The number of slices of each window if it is the only window of a query; None if it varies."""
    memory: ClassVar[Mapping[str, str]] = {}
    """The parts of its memory, one value per key between micro-batches: their names and NumPy types."""
    goes_back: ClassVar[bool] = False
    """Whether a window at a later point may begin earlier than one at an earlier point."""
    column_kind: ClassVar[str] = ""
    """What the column that it reads must hold: "number" (neither null nor NaN), or "mark" (a boolean; null is false)."""
    picture: ClassVar[Callable[[Window, Sequence[Mapping[str, Any]] | None, str, str], str | None]]
    """Draws a window. `sash.plan.pictures` lies above this package, so it installs its function here when it is imported."""

    # -- what it reads -----------------------------------------------------------------------------------------------

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, besides time; ALL_COLUMNS for whole rows."""
        return ()

    @property
    def min_rows(self) -> int:
        """How many values a window must hold to have a result."""
        return 1

    @property
    def in_runs(self) -> bool:
        """Whether a window may consist of several runs of rows, so that its partial is combined from theirs."""
        return False

    @property
    def half_open(self) -> bool:
        """Whether a row at the end of a window of time is outside it: the window is final at a watermark equal to its end."""
        return False

    @property
    def shift(self) -> int:
        """How many ticks before the rows that it holds a window of time starts and ends: one if it is `(start, end]`."""
        return 0

    @property
    def result_name(self) -> str:
        """The name of the window in a list of windows, which has no names: the words of its call.

        >>> from sash import window
        >>> window.time("1h").result_name, window.rows(100, slide=10).result_name
        ('1h', 'rows_100_slide_10')
        """
        kind, *words = re.findall(r"[\w.-]+", repr(self))
        is_duration = kind == self.kind == "time" and words[:1] and not words[0].lstrip("-").isdigit()
        return "_".join(words if is_duration else [kind, *words])

    @property
    def no_labels(self) -> str:
        """Why it cannot be evaluated as of any time, such as that of a label; empty if it can."""
        return "follows the values of its rows" if self.per_row else "has no result per row"

    def check(self, unit: TimeUnit) -> None:
        """Raise ValueError if the window does not fit a time column of this unit."""

    @property
    def zone(self) -> str:
        """The time zone that its days and months follow, whatever the zone of the time column; empty if it names none."""
        return ""

    @property
    def standard_text(self) -> str:
        """The call that makes the window, with the same text for equal durations: "60s" and "1m" are the same.

        >>> from sash import window
        >>> window.time("3600s", slide="60 sec").standard_text
        'time("1h", slide="1m")'
        """
        values = [getattr(self, one.name) for one in fields(self)] if is_dataclass(self) else []
        durations = [value for value in values if isinstance(value, Duration)]
        texts = {
            quote(one): f'"{standard_text(one, by_calendar=self.by_calendar)}"' for one in durations if one.is_time
        }
        return re.sub('"[^"]*"', lambda found: texts.get(found[0], found[0]), repr(self))

    def in_zone(self, zone: str) -> Window:  # noqa: ARG002 — for windows of the calendar
        """Return the window with this time zone, if it follows the zone of the time column."""
        return self

    # -- bounds ------------------------------------------------------------------------------------------------------

    def bounds(self, items: Items, memory: Memory, run: LoopCompiler) -> Bounds:
        """Return the windows that the span emits."""
        raise NotImplementedError

    def needed_from(self, items: Items) -> Ints:
        """Return by key the first item that the window of a point at or after the newest item may hold."""
        return items.firsts[:-1]

    def ready(self, items: Items) -> Ints:
        """Return how many items of each key have results now: for windows that look ahead, fewer than are final."""
        return items.span.final

    def held(self, items: Items) -> Ints:
        """Return for each key the first item that some later window does not hold: one partial can stand for the items before.

        Only for windows that grow.
        """
        raise NotImplementedError

    def check_limit(self, items: Items) -> int:
        """Return an upper bound of the number of windows. Raise ValueError if they are too many.

        By default there is no limit: most windows end with an item.
        """
        return len(items.times)

    def due(self, items: Items) -> int:
        """Return the earliest watermark at which these items give a result, or at which a key needs no state any more.

        The items are those that remain after an evaluation at `now`, and no more arrive. By default a window ends with a row,
        as soon as no earlier row can arrive.
        """
        return first_after(items.times[is_waiting(items)] + 1, items.span.now)

    def first_end(self, times: Ints, unit: TimeUnit) -> Ints:  # noqa: ARG002 — for windows of time
        """Return for rows at these times the earliest watermark at which one of their windows ends; FOREVER if none holds them.

        By default a row has a result, or ends a window, when no earlier row can arrive.
        """
        return times + 1

    def last_end(self, times: Ints, unit: TimeUnit) -> Ints:
        """Return for rows at these times the watermark at which the last of their windows is closed: from then on they are late.

        NEVER if no window holds them: then nobody needs them, and they are not late.
        """
        return self.first_end(times, unit)

    def missed_from(self, times: Ints, unit: TimeUnit) -> Ints:  # noqa: ARG002 — for windows of time
        """Return the watermarks from which on a window may have been emitted without the rows at these times."""
        return times + 1

    def late_rule(self, unit: TimeUnit) -> Hashable:  # noqa: ARG002 — for windows of time
        """Return what decides which rows are late. Windows of a query with equal rules share the state of a stream.

        By default a row is late when its time is before the watermark: it would change the order of rows that the window has
        seen.
        """
        return "order"

    def needed_for(self, unit: TimeUnit) -> int | None:
        """Return how far apart rows of one window may be, in ticks; None if there is no limit, so that a key needs state forever.

        By default windows of time have a limit, and those that rows end have none.
        """
        return self.extent(unit) if self.is_time else None

    def pane_starts(self, items: Items, memory: Memory) -> Ints:
        """Return the items that panes begin with, given the memory after these items; only for windows with a row cycle."""
        raise NotImplementedError

    # -- what is known before rows are read --------------------------------------------------------------------------

    def cycle(self, unit: TimeUnit) -> Cycle | None:  # noqa: ARG002 — for windows that repeat
        """Return where windows of time repeat, in ticks; None if they do not."""
        return None

    @property
    def row_cycle(self) -> Cycle | None:
        """Where windows repeat after a number of rows; None if they do not."""
        return None

    def gap_ticks(self, unit: TimeUnit) -> int | None:  # noqa: ARG002 — for sessions
        """Return the gap between rows that ends a window; None if no gap does."""
        return None

    @property
    def length(self) -> Duration | int | None:
        """The range or the gap, as it was given; None if there is none."""
        return None

    @property
    def around(self) -> tuple[int | None, int | None] | None:
        """How far the window of a row reaches before and after it, in rows or in its own unit; None on a side without limit.

        None if the window does not follow its row so.
        """
        return None

    @property
    def own_unit(self) -> TimeUnit:
        """The unit of its own durations: nanoseconds, or the unit of an integer time column."""
        return TimeUnit(tick=1 if isinstance(self.length, Duration) and self.length.is_time else None)

    @property
    def repeats(self) -> bool:
        """Whether its windows repeat, in time or in rows, so that panes exist."""
        return self.row_cycle is not None or self.cycle(self.own_unit) is not None

    @property
    def rows_held(self) -> int | None:
        """How many rows a window holds at most, where that is known."""
        return None

    def extent(self, unit: TimeUnit) -> int:  # noqa: ARG002 — for windows of time
        """Return how far from the time of a row its windows begin or end, in ticks."""
        return 0

    def reach(self, unit: TimeUnit) -> Reach | None:  # noqa: ARG002 — for windows with a limited reach
        """Return how far windows reach back; None if that is not known before rows are read."""
        return None

    def frame_reach(self, unit: TimeUnit) -> Reach | None:
        """Return how far the window of a row reaches back at most, whatever else it holds or leaves out; None if that is not known."""
        return self.reach(unit)

    def begin_zones(self, begin: int, end: int, axis: TimeAxis) -> list[Interval] | None:  # noqa: ARG002
        """Return where windows begin that belong to the time range `begin ≤ time < end`, before that range.

        An empty interval (t, t) is a single place. None if that is not known before rows are read.
        """
        return None

    # -- memory and fingerprint --------------------------------------------------------------------------------------

    def new_memory(self, keys: int, rows_before: int = 0) -> Memory:  # noqa: ARG002 — for windows that count rows
        """Return the memory of new keys, each of which had `rows_before` rows earlier."""
        return {name: np.zeros(keys, kind) for name, kind in self.memory.items()}

    def remembers(self, memory: Memory) -> Flags:
        """Return for which keys the memory differs from that of a new key."""
        parts = [values != np.zeros(1, values.dtype) for values in memory.values()]
        known: Flags = np.logical_or.reduce(parts)
        return known

    def encode_memory(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a part of the memory as an array of plain numbers or bytes."""
        return values

    def decode_memory(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a part of the memory from `encode_memory`."""
        return values

    def check_restart(self) -> None:
        """Raise TypeError if its memory cannot be stored for a restart."""

    @property
    def code(self) -> list[Any]:
        """The user's functions that a window is made of, for its fingerprint."""
        return []

    # -- pictures ----------------------------------------------------------------------------------------------------

    def draw(
        self, rows: Sequence[Mapping[str, Any]] | None = None, *, time: str = "time", slicing: str = "auto"
    ) -> str:
        """Return a picture of rows, slices and windows: the text of an SVG, which a notebook shows as the picture.

        `rows` are dictionaries in order of time, and `time` names their time column. Without rows the picture shows sample
        rows in the proportions of the window. `slicing` is "auto", "cutty", "pairs", "panes" or "none", as in `Query`.

        Raises ValueError if a window needs rows (custom windows), if rows lack a column that it reads, or if the window
        cannot be sliced this way.

        >>> from sash import window
        >>> picture = window.time("9m", slide="6m").draw()
        >>> picture  # doctest: +ELLIPSIS
        <Picture: ... characters of SVG; notebooks show the picture, print() shows the text>
        """
        picture = self.picture(rows, time, slicing)
        if picture is None:
            message = f"There are no sample rows for {self}. Give rows, as in draw([{{…}}, {{…}}])."
            raise ValueError(message)
        return picture

    def _repr_svg_(self) -> str | None:
        """Return the picture over sample rows; None if there are none for this window."""
        return self.picture(None, "time", "auto")

    def sample_column(self, rows: int) -> npt.NDArray[Any] | None:  # noqa: ARG002 — for windows with a drawn column
        """Return values of the column that it reads, for a picture over sample rows; None if there are none."""
        return None


def is_waiting(items: Items) -> Flags:
    """Return which items are not context."""
    lengths = np.diff(items.firsts)
    waiting: Flags = np.arange(len(items.times)) >= np.repeat(items.firsts[:-1] + items.span.done, lengths)
    return waiting


def newest_times(items: Items) -> Ints:
    """Return the time of the last item of each key; that of any item for a key without items."""
    return items.times[items.firsts[1:] - 1]


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
