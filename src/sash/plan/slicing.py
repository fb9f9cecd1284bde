"""What is known of slices before rows are read: where they are cut, and how many a window has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from math import lcm

from sash.durations import Duration, TimeUnit, to_text
from sash.plan.tree import and_between
from sash.slices.edges import Edges, Family, cut_edges
from sash.windows import Window
from sash.windows.base import Cycle

YEAR = 365 * 86_400 * 1_000_000_000
LONGEST = {"time": YEAR, "number": 10**12, "rows": 10**12}
"""Longer cycles are not reported."""
FEW_FAMILIES = 10
"""Counting edges takes twice as long with each family. For more families than this, the number is only estimated."""
FEW_WINDOWS = 100
"""How many windows of a cycle are counted to find the number of slices per window."""

CUT = {"cutty": "where windows begin", "pairs": "where windows begin and end", "panes": "into panes of equal length"}
"""Where each technique cuts."""


@dataclass(frozen=True)
class SliceCount:
    """The number of slices per window: the least and the most."""

    least: int
    most: int
    exact: bool = True
    """Whether all windows of a cycle were counted."""

    def __str__(self) -> str:
        """Return the number or the range of numbers."""
        about = "" if self.exact else "about "
        return about + (f"{self.least:,}" if self.least == self.most else f"{self.least:,} to {self.most:,}")


@dataclass(frozen=True)
class RegularSlices:
    """Slices of windows that all repeat, either in time or in rows."""

    edges: Edges
    cycles: Mapping[str, Cycle]
    """By the name of the window, in the unit."""
    unit: str
    """Nanoseconds of "time", a "number" in the unit of the time column, or "rows"."""

    @property
    def in_a_cycle(self) -> int | None:
        """The number of slices until the edges repeat; None if that takes too long to count."""
        few = self.edges.cycle <= LONGEST[self.unit] and len(self.edges.closing) <= FEW_FAMILIES
        return self.edges.per_cycle() if few else None

    def in_window(self, name: str) -> SliceCount:
        """Return the number of slices per window."""
        length, period, _, offset = self.cycles[name]
        if len(self.edges.closing) > FEW_FAMILIES:
            most = 1 + sum(family.count_between(offset, offset + length - 1) for family in self.edges.closing)
            return SliceCount(most, most, exact=False)
        cycle = lcm(self.edges.cycle, period)  # windows begin at other places of the next cycle of edges
        starts = range(offset, offset + cycle, period)
        counts = [self.edges.slices_of(start, length) for start in islice(starts, FEW_WINDOWS)]
        return SliceCount(min(counts), max(counts), exact=cycle <= FEW_WINDOWS * period)

    def reads_open(self, name: str) -> bool:
        """Return whether the windows end inside a slice, which is then read while it is open."""
        cycle = self.cycles[name]
        ends = Family(cycle.every, (cycle.offset + cycle.length) % cycle.every)
        return not any(family.contains(ends) for family in self.edges.closing)

    def frequency(self) -> str:
        """Return how often slices are cut, in words."""
        longest, cycle = LONGEST[self.unit], self.edges.cycle
        if cycle > longest:
            return f"repeating after more than {length_to_text(longest, self.unit)}"
        every = f"every {length_to_text(cycle, self.unit)}"
        slices = self.in_a_cycle
        return f"repeating {every}" if slices is None else every if slices == 1 else f"{slices:,} {every}"

    def per_window(self) -> str:
        """Return how many slices the windows have, in words."""
        (first, count), *others = ((name, str(self.in_window(name))) for name in self.cycles)
        text = f"{count} per window"
        if others:
            text += f" of {first}, " + ", ".join(f"{count} of {name}" for name, count in others)
        if any(map(self.reads_open, self.cycles)):
            text += ", read while open" if (count, others) == ("1", []) else ", the newest read while open"
        return text


def regular_slices(windows: Mapping[str, Window], technique: str) -> RegularSlices | None:
    """Return what is known of the slices of windows that repeat; None if some do not, or if their units differ.

    >>> from sash import window
    >>> known = regular_slices({"day": window.time("24h", slide="1m"), "hour": window.time("1h", slide="1m")}, "cutty")
    >>> known.frequency(), known.per_window()
    ('every 1m', '1,440 per window of day, 60 of hour')
    """
    cycles = {name: cycle for name, window in windows.items() if (cycle := cycle_of(window)) is not None}
    units = {unit_of(window) for window in windows.values()}
    if not technique or len(cycles) < len(windows) or len(units) > 1:
        return None
    return RegularSlices(cut_edges(cycles.values(), technique), cycles, units.pop())


def reads_open_slices(windows: Mapping[str, Window], technique: str) -> bool:
    """Return whether windows that repeat end inside slices.

    >>> from sash import window
    >>> reads_open_slices({"w": window.time("9m", slide="6m")}, "cutty"), reads_open_slices({"w": window.time("9m", slide="6m")}, "pairs")
    (True, False)
    """
    regular = regular_slices(windows, technique)
    return regular is not None and any(map(regular.reads_open, regular.cycles))


def describe_slices(windows: Mapping[str, Window], technique: str) -> list[str]:
    """Return where slices are cut, how many a window has, and which windows share them; or why there are none.

    >>> from sash import window
    >>> describe_slices({"session": window.session("5m")}, "cutty")
    ['cut where windows begin (cutty)', '1 per window']
    """
    if not technique:
        return [f"none, because {_why_no_slices(windows)}"]
    cut = f"cut {CUT[technique]} ({technique})"
    shared = [f"shared by {and_between(list(windows))}"] if len(windows) > 1 else []
    regular = regular_slices(windows, technique)
    if regular is not None:
        return [f"{cut}, {regular.frequency()}", regular.per_window(), *shared]
    cuts = None if shared else next(iter(windows.values())).cuts
    count = None if cuts is None else cuts.per_window
    return [cut, "one for each window that begins in a window" if count is None else f"{count} per window", *shared]


def _why_no_slices(windows: Mapping[str, Window]) -> str:
    if any(window.per_row for window in windows.values()):
        return "every row has its own window"
    if any(window.cuts is None for window in windows.values()):
        return "the begin of a window is known only when it ends"
    return 'slicing="none" is set'


def cycle_of(window: Window) -> Cycle | None:
    """Return where windows repeat, in rows or in time; None if they do not."""
    return None if window.cuts is None else window.cuts.row_cycle or window.cuts.cycle(own_unit(window))


def own_unit(window: Window) -> TimeUnit:
    """Return the unit of a window's own durations: nanoseconds, or the unit of an integer time column."""
    return TimeUnit(tick=1 if isinstance(window.length, Duration) and window.length.is_time else None)


def unit_of(window: Window) -> str:
    """Return the unit of lengths: nanoseconds of "time", a "number" in the unit of the time column, or "rows"."""
    if not window.needs_time:
        return "rows"
    return "time" if isinstance(window.length, Duration) and window.length.is_time else "number"


def length_to_text(amount: int, unit: str) -> str:
    """Return a length in words.

    >>> length_to_text(90_000_000_000, "time"), length_to_text(1, "rows"), length_to_text(1500, "rows")
    ('1m30s', '1 row', '1,500 rows')
    """
    if unit == "time":
        return to_text(amount)
    return f"{amount:,}" if unit == "number" else f"{amount:,} row{'s' * (amount != 1)}"
