"""Window: WHERE windows begin and end. Engines ask it for what they need; they never test its class.

every window has     kind, bounds, __repr__
many have            needs_time, min_rows, columns, length, check, due, check_limit, extent
some provide         cuts, frame, lateness, memory, time_split, clock (see `capabilities.py` and `clocks.py`)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np

from sash.durations import Duration, TimeUnit, quote, standard_text
from sash.windows.arrays import search_in_keys
from sash.windows.base import NEVER, Bounds, Items, LoopCompiler, Memory, Points, first_after
from sash.windows.calendars import check_zone
from sash.windows.capabilities import ColumnRule, Cuts, Frame, Lateness, TimeSplit, WindowMemory
from sash.windows.clocks import TICKS, CalendarClock, Clock

ANY_CUTS, IN_ORDER, NO_MEMORY = Cuts(), Lateness(), WindowMemory()


@dataclass(frozen=True)
class WithoutCache:
    """A dataclass that is pickled without what its properties have cached: objects that are made of functions."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


@dataclass(frozen=True)
class Window(WithoutCache):
    """Where windows begin and end."""

    kind: ClassVar[str]
    needs_time: ClassVar[bool] = False
    emits_empty: ClassVar[bool] = False
    """Whether windows of time without rows are emitted between those with rows. When a key has its last row is known only at the end."""
    picture: ClassVar[Callable[[Window, Sequence[Mapping[str, Any]] | None, str, str], str | None]]
    """Draws a window. `sash.plan.pictures` lies above this package, so it installs its function here when it is imported."""
    min_rows: int = field(default=1, kw_only=True)
    """How many values a window must hold to have a result."""

    # -- what a new window defines -----------------------------------------------------------------------------------

    def bounds(self, items: Items, memory: Memory, compiler: LoopCompiler) -> Bounds:
        """Return the windows that the span emits."""
        raise NotImplementedError

    @property
    def columns(self) -> Mapping[str, ColumnRule]:
        """The columns that it reads, besides time; ALL_COLUMNS for whole rows."""
        return {}

    @property
    def length(self) -> Duration | int | None:
        """The range or the gap, as it was given; the largest number of rows; None if there is no limit."""
        return None

    def check(self, unit: TimeUnit) -> None:
        """Raise ValueError if the window does not fit a time column of this unit."""

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
        return first_after(items.times[items.is_waiting] + 1, items.span.now)

    def extent(self, unit: TimeUnit) -> int:  # noqa: ARG002 — for windows of time
        """Return how far from the time of a row its windows begin or end, in ticks."""
        return 0

    # -- as of points, for windows that have a result per window -----------------------------------------------------

    def last_closed(self, items: Items, points: Points, compiler: LoopCompiler) -> Bounds:
        """Return for each point the last window that has ended by then; if none has, an empty one with NEVER for its start and end.

        By default, of the windows that hold rows. Those that are not intervals of time end with the time of their last row.
        """
        found = self.bounds(items, self.memory.new(items.keys), compiler)
        starts, stops = found.starts, found.stops
        if starts is None or stops is None:
            starts, stops = items.times[found.begins], items.times[found.ends - 1]
        of_key = np.searchsorted(found.begins, items.firsts)  # the first window of each key
        places = search_in_keys(stops, of_key, points.times + 1, points.counts) - 1
        begins = np.repeat(items.firsts[:-1], points.counts)
        ends, point_starts, point_stops = begins.copy(), *(np.full(len(begins), NEVER) for _ in range(2))
        has_one = places >= np.repeat(of_key[:-1], points.counts)
        last = places[has_one]
        begins[has_one], ends[has_one] = found.begins[last], found.ends[last]
        point_starts[has_one], point_stops[has_one] = starts[last], stops[last]
        return Bounds(begins, ends, point_starts, point_stops, items.firsts[:-1])

    @property
    def closed_split(self) -> TimeSplit | None:
        """How far the last window that has ended reaches back from a point; None if that is not known before rows are read."""
        return None

    @property
    def no_points(self) -> str:
        """Why it cannot be evaluated as of points; empty if it can."""
        return ""

    # -- what it may provide -----------------------------------------------------------------------------------------

    @property
    def cuts(self) -> Cuts | None:
        """Where rows are cut into slices; None if the begin of a window is not known when its first row arrives."""
        return None if self.per_row else ANY_CUTS

    @property
    def frame(self) -> Frame | None:
        """The window of a row, if every row has a result; None if every window has one."""
        return None

    @property
    def lateness(self) -> Lateness:
        """Which rows of a stream are late."""
        return IN_ORDER

    @property
    def memory(self) -> WindowMemory:
        """What it remembers of each key."""
        return NO_MEMORY

    @property
    def time_split(self) -> TimeSplit | None:
        """How the time axis is split; None if how far windows reach back is not known before rows are read."""
        return None if self.frame is None else self.frame.time_split

    @property
    def clock(self) -> Clock:
        """How long its durations are."""
        return TICKS

    # -- what follows from these -------------------------------------------------------------------------------------

    @property
    def per_row(self) -> bool:
        """Whether every row has a result, rather than every window."""
        return self.frame is not None

    @property
    def is_time(self) -> bool:
        """Whether its windows are intervals of time, so that only the watermark ends them."""
        return self.needs_time and not self.per_row

    @property
    def by_calendar(self) -> bool:
        """Whether "1d" differs from "24h" here, or "1w" from "7d"."""
        return self.clock.by_calendar

    def in_zone(self, zone: str) -> Window:  # noqa: ARG002 — for windows of a calendar
        """Return the window for a time column in this zone; empty if it has none."""
        return self

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
    def standard_text(self) -> str:
        """The call that makes the window, with the same text for equal durations: "60s" and "1m" are the same.

        >>> from sash import window
        >>> window.time("3600s", slide="60 sec").standard_text
        'time("1h", slide="1m")'
        """
        values = [getattr(self, member.name) for member in fields(self)]
        every = [*values, *self.clock.durations]
        durations = [value for value in every if isinstance(value, Duration) and value.is_time]
        by_calendar = self.by_calendar
        texts = {quote(length): f'"{standard_text(length, by_calendar=by_calendar)}"' for length in durations}
        return re.sub('"[^"]*"', lambda quoted: texts.get(quoted[0], quoted[0]), repr(self))

    def draw(
        self, rows: Sequence[Mapping[str, Any]] | None = None, *, time: str = "time", slicing: str = "auto"
    ) -> str:
        """Return a picture of rows, slices and windows: the text of an SVG, which a notebook shows as the picture.

        `rows` is a table, or a list of dictionaries, in order of time, and `time` names its time column. Without rows the picture shows
        sample rows in the proportions of the window. `slicing` is "auto", "cutty", "pairs", "panes" or "none", as in `Query`.

        Raises ValueError if a window needs rows (custom windows), if rows lack a column that it reads, or if the window
        cannot be sliced this way.

        >>> from sash import window
        >>> picture = window.time("9m", slide="6m").draw()
        >>> picture  # doctest: +ELLIPSIS
        <Picture: ... characters of SVG; notebooks show the picture, print() shows the text>
        """
        picture = self.picture(rows, time, slicing)
        if picture is None:
            raise ValueError(f"There are no sample rows for {self}. Give rows, as in draw([{{…}}, {{…}}]).")
        return picture

    def _repr_svg_(self) -> str | None:
        """Return the picture over sample rows; None if there are none for this window."""
        return self.picture(None, "time", "auto")


@dataclass(frozen=True, repr=False)
class TimeWindow(Window):
    """A window whose durations follow a clock."""

    kind: ClassVar[str] = "time"
    text: str = field(default="", kw_only=True)
    """The call that makes the window. It identifies the window in a checkpoint."""
    closed: str = field(default="left", kw_only=True)
    """Which ends a window includes."""
    clock: Clock = field(default=TICKS, kw_only=True)

    def in_zone(self, zone: str) -> Window:
        """Return the window for a time column in this zone: months follow it, unless `tz` was given.

        Raise ValueError if the zone does not exist.
        """
        if self.clock.zone or not zone or not self.clock.by_calendar:
            return self
        return self._following(zone)

    def _following(self, zone: str) -> Window:
        """Return the window with days and months of a zone. The zone is a part of its text, so that no other stream continues it."""
        clock = CalendarClock(check_zone(zone, self.kind))
        return replace(self, clock=clock, text=f'{self.text[:-1]}, tz="{zone}")')

    def __repr__(self) -> str:
        """Return the call that makes the window."""
        return self.text
