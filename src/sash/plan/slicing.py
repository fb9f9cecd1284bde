"""What is known of slices before any row comes: where they are cut, and how many a window has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from sash.slices.edges import Edges, Family, cut_edges
from sash.windows import Window
from sash.windows.base import Cycle
from sash.windows.durations import to_text

YEAR = 365 * 86_400 * 1_000_000_000
LONGEST = {"time": YEAR, "number": 10**12, "rows": 10**12}
"""A cycle that is longer is not worth telling."""
FEW_FAMILIES = 10
"""Counting the edges of more families than that takes too long: the time doubles with each."""
FEW_WINDOWS = 100
"""So many windows of a cycle are looked at to see how many slices they have."""


CUT = {
    "cutty": "where windows begin",
    "pairs": "where windows begin and where they end",
    "panes": "into panes of one length",
}
"""Where techniques cut, in words."""
EACH_BEGIN = "a slice for each window that begins in it"


@dataclass(frozen=True)
class Count:
    """How many slices windows have: from the least to the most of those that were looked at."""

    least: int
    most: int
    exact: bool = True
    """Whether all of them were looked at."""

    def __str__(self) -> str:
        """Show it as a person says it."""
        about = "" if self.exact else "about "
        return about + (f"{self.least:,}" if self.least == self.most else f"{self.least:,} to {self.most:,}")


@dataclass(frozen=True)
class Regular:
    """Slices of windows that all come again and again, over time or over rows."""

    edges: Edges
    cycles: Mapping[str, Cycle]
    """By the names of windows, in nanoseconds, numbers or rows: see `unit`."""
    unit: str

    @property
    def slides(self) -> int | None:
        """After how long the edges repeat, unless that is too long to be told."""
        return self.edges.cycle if self.edges.cycle <= self.longest else None

    @property
    def longest(self) -> int:
        """The longest cycle that is told."""
        return LONGEST[self.unit]

    @property
    def in_a_cycle(self) -> int | None:
        """How many slices there are until the edges repeat, unless that is too much to count."""
        few = self.slides is not None and len(self.edges.closing) <= FEW_FAMILIES
        return self.edges.per_cycle() if few else None

    def in_window(self, name: str) -> Count:
        """Return how many slices a window of that name is combined of."""
        length, period, _, offset = self.cycles[name]
        if len(self.edges.closing) > FEW_FAMILIES:
            most = 1 + sum(family.count_between(offset, offset + length - 1) for family in self.edges.closing)
            return Count(most, most, exact=False)
        starts = range(offset, offset + self.edges.cycle, period)
        counts = [self.edges.slices_of(start, length) for start in islice(starts, FEW_WINDOWS)]
        return Count(min(counts), max(counts), exact=self.edges.cycle <= FEW_WINDOWS * period)

    def reads_open(self, name: str) -> bool:
        """Tell whether windows of that name end while a slice is open, which is read then."""
        length, period, step, offset = self.cycles[name]
        every = min(period, step)
        ends = Family(every, (offset + length) % every)
        return not any(family.contains(ends) for family in self.edges.closing)

    def to_text(self, amount: int) -> str:
        """Return a length in words."""
        return length_to_text(amount, self.unit)


def regular_slices(windows: Mapping[str, Window], technique: str) -> Regular | None:
    """Return what is known of the slices of windows, if they come at regular times or rows.

    >>> from sash import window
    >>> known = regular_slices({"day": window.time("24h", slide="1m"), "hour": window.time("1h", slide="1m")}, "cutty")
    >>> known.to_text(known.slides), str(known.in_window("day")), str(known.in_window("hour"))
    ('1m', '1,440', '60')
    """
    cycles: dict[str, Cycle] = {}
    for name, window in windows.items():
        cycle = window.row_cycle or window.cycle(window.own_unit)
        if cycle is not None:
            cycles[name] = cycle
    units = {unit_of(window) for window in windows.values()}
    if not technique or len(cycles) < len(windows) or len(units) > 1:
        return None
    return Regular(cut_edges(cycles.values(), technique), cycles, units.pop())


def slices_in_words(window: Window, regular: Regular | None, name: str = "") -> str:
    """Return how many slices a window has that shares them with none, or with others at regular times or rows."""
    if regular is not None:
        count = str(regular.in_window(name))
        return f"{count} slice{'s' * (count != '1')}"
    return EACH_BEGIN if window.slices_per_window is None else "1 slice"


def why_no_slices(window: Window) -> str:
    """Return why a window has no slices."""
    if window.per_row:
        return "there is a result for each row"
    if not window.sliced:
        return "where a window begins is not known before it ends"
    return 'slicing="none" was asked for'


def unit_of(window: Window) -> str:
    """Return what the lengths of a window are: nanoseconds of "time", a "number" in the column's own unit, or "rows"."""
    if not window.needs_time:
        return "rows"
    return "time" if window.own_unit.tick else "number"


def length_to_text(amount: int, unit: str) -> str:
    """Return a length in words.

    >>> length_to_text(90_000_000_000, "time"), length_to_text(1, "rows"), length_to_text(1500, "rows")
    ('1m30s', '1 row', '1,500 rows')
    """
    if unit == "time":
        return to_text(amount)
    return f"{amount:,}" if unit == "number" else f"{amount:,} row{'s' * (amount != 1)}"
