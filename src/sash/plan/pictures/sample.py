"""The rows, windows and slices of a picture, over given rows or over sample rows in the proportions of the window.

Windows that repeat are found by arithmetic. Those of many slides are shortened: the picture leaves out whole slides in the
middle, and labels count them. All other windows are found and cut as a query does it.

Places are nanoseconds, numbers or rows, as `unit_of` says. The place of a row number is where the row begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count as naturals
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sash.durations import UNITS, Duration
from sash.plan.slicing import cycle_of, own_unit, unit_of
from sash.slices.cuts import cut_by_bounds
from sash.slices.edges import Family, cut_edges
from sash.windows import Window
from sash.windows.base import ALL_COLUMNS, Bounds, Cycle, whole_items
from sash.windows.numpy_forms import numpy_form

SHOWN = 6
"""How many windows are drawn."""
MANY = 8
"""Windows of more slides are shortened."""
MOST_DOTS = 93
"""How many rows can be told apart; where there are more, a dot stands for several rows."""
MOST_GIVEN = 200
MOST_LINES = 60
"""How many edges of slices can be told apart."""
SAMPLE_ROWS = 20
PAUSES = (0.0, 0.3, 0.5, 0.2, 0.8, 1.9, 0.4, 0.7, 0.3, 2.4, 1.7, 0.6, 0.2, 0.9, 0.4)
"""From one sample row to the next, relative to the gap of sessions."""
LONGEST_SAMPLE = 2**59
"""Sample rows for sessions with longer gaps would have times beyond 64 bits."""


class Bar(NamedTuple):
    """A window or a slice: from `left` to `right` in the picture, holding the rows `begin ≤ position < end`."""

    left: int
    right: int
    begin: int
    end: int
    row: int | None = None
    """The place of the row that gets the result; None for the last one."""
    excluded: tuple[int, ...] = ()
    """The positions of rows that it leaves out."""


@dataclass(frozen=True)
class Sample:
    """What a picture shows."""

    unit: str
    low: int
    high: int
    """The first and the last place of the picture."""
    places: Sequence[int]
    """Where rows lie."""
    columns: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    origin: int = 0
    """The place that labels count from."""
    rows_per_dot: int = 1
    gap: range = range(0)
    """The places that stand for slides that are left out …"""
    omitted: int = 0
    """… and the length of these slides, which labels after the gap add."""
    positions: Sequence[int] = ()
    """The positions of the rows, to compare with those of bars."""
    windows: Sequence[Bar] = ()
    slices: Sequence[Bar] = ()
    reads: Sequence[int] = ()
    """Where windows end inside a slice, which is then read while it is open."""


def make_sample(window: Window, technique: str, given: Sequence[Mapping[str, Any]] | None, time: str) -> Sample | None:
    """Return what a picture shows of given rows or of sample rows; None if there are no sample rows for the window."""
    cycle, shift = cycle_of(window), window.cuts.shift if window.cuts else 0
    if cycle is not None:  # windows are drawn where they start and end; rows at an end may be inside
        cycle = cycle._replace(offset=cycle.offset - shift)
    elif isinstance(window.length, int) and not _is_around(window):
        cycle = Cycle(window.length, 1, window.length, 0)  # a window for each row
    if given is None and cycle is not None:
        return _repeated_sample(unit_of(window), cycle, technique, shift)
    sample = _sample_rows(window) if given is None else _given_rows(window, _records(given), time)
    if sample is None:
        return None
    return _find(sample, window, technique) if cycle is None else _repeat(sample, cycle, technique, shift)


def _is_around(window: Window) -> bool:
    """Return whether the window of a row is not one run of rows from some distance up to the row."""
    frame = window.frame
    if frame is None or frame.around is None:
        return False
    before, after = frame.around
    return frame.in_runs or before is None or after != 0


# -- rows --------------------------------------------------------------------------------------------------------------


def _spread(begin: int, end: int, count: int) -> list[int]:
    """Return irregular places: the fractional parts of multiples of the golden ratio are spread evenly."""
    count = min(count, end - begin)
    return [begin + int((number + 0.1 + 0.8 * (number * 0.618 % 1)) / count * (end - begin)) for number in range(count)]


def _numbered_rows(count: int, columns: Mapping[str, npt.NDArray[Any]] | None = None) -> Sample:
    """Return rows 0 … count - 1, with one dot for several if there are many and no column is drawn."""
    most = count if columns else MOST_DOTS
    every = next(digit * 10**zeros for zeros in naturals() for digit in (1, 2, 5) if count <= most * digit * 10**zeros)
    return Sample("rows", 0, count, range(every // 2, count, every), columns or {}, rows_per_dot=every)


def _sample_rows(window: Window) -> Sample | None:
    """Return rows in the proportions of a window that does not repeat; None if there are none."""
    columns = {name: rule.sample(SAMPLE_ROWS) for name, rule in window.columns.items() if rule.sample}
    if columns:
        return _numbered_rows(SAMPLE_ROWS, columns)
    length = window.length.amount if isinstance(window.length, Duration) else 0
    around = window.frame.around if window.frame else None
    if around is not None:
        length = sum(abs(side) for side in around if side is not None)
        if not window.needs_time:
            return _numbered_rows(length + 2 * SHOWN)
    if length > LONGEST_SAMPLE or (length == 0 and not _is_around(window)):
        return None
    if window.per_row:
        part = max(1, length // 20)  # round times, because labels show them
        places = [place // part * part for place in _spread(0, 48 * part, SAMPLE_ROWS)]
        return Sample(unit_of(window), 0, 48 * part, places)
    places = [int(place * length) for place in np.cumsum(PAUSES)]
    margin = max(1, length // 4)
    return Sample(unit_of(window), -margin, places[-1] + length + margin, places)


def _records(rows: Any) -> Sequence[Mapping[str, Any]]:
    """Return the rows of a table as dictionaries. Raise TypeError if they are something else.

    >>> import pandas as pd
    >>> _records(pd.DataFrame({"x": [1, 2]}))
    [{'x': 1}, {'x': 2}]
    """
    if hasattr(rows, "to_pylist"):  # pyarrow
        records: Any = rows.to_pylist()
    elif hasattr(rows, "to_dicts"):  # Polars
        records = rows.to_dicts()
    elif hasattr(rows, "columns"):  # pandas
        records = rows.to_dict("records")
    else:
        records = rows
    if not isinstance(records, Sequence) or not all(isinstance(row, Mapping) for row in records):
        raise TypeError(
            f"draw: rows must be a table or a list of dictionaries, not {type(rows).__name__}. A picture needs the names of columns."
        )
    return records


def _given_rows(window: Window, rows: Sequence[Mapping[str, Any]], time: str) -> Sample:
    if not 0 < len(rows) <= MOST_GIVEN:
        raise ValueError(f"draw: {len(rows)} rows were given, but a picture shows 1 to {MOST_GIVEN}.")
    names = [name for name in window.columns if name != ALL_COLUMNS]
    for name in names + [time] * window.needs_time:
        if any(name not in row for row in rows):
            hint = "" if name in names else " Name the time column with time=."
            raise ValueError(f"draw: some rows have no {name!r}.{hint}")
    columns: dict[str, npt.NDArray[Any]] = {name: np.array([row[name] for row in rows]) for name in names}
    if ALL_COLUMNS in window.columns:
        columns[ALL_COLUMNS] = np.array([*rows, None], object)[:-1]  # None keeps NumPy from looking into the rows
    if not window.needs_time:
        return _numbered_rows(len(rows), columns)
    times = [_ticks(row[time]) for row in rows]
    if times != sorted(times):
        raise ValueError(f"draw: the rows are not in order of {time}. Sort them.")
    span = max(1, times[-1] - times[0])
    margin = max(1, span // 20)
    origin = times[0] // UNITS["d"] * UNITS["d"] if isinstance(rows[0][time], datetime) else 0
    return Sample(unit_of(window), times[0] - margin, times[-1] + margin, times, columns, origin)


def _ticks(time: Any) -> int:
    """Return a time in nanoseconds since the epoch, or a number as it is."""
    if isinstance(time, datetime):
        return (time - datetime(1970, 1, 1, tzinfo=time.tzinfo and UTC)) // timedelta(microseconds=1) * 1000
    return int(time)


# -- windows that repeat -------------------------------------------------------------------------------------------------


def _repeated_sample(unit: str, cycle: Cycle, technique: str, shift: int) -> Sample:
    length, _, step, first = cycle
    slide, sliding = cycle.every, step == length
    # Sliding windows begin one slide after the other. Cumulative ones end so, and two of the next period are shown too.
    begins, more = (SHOWN - 1, SHOWN - 2) if sliding else (3, 2)
    omitted, gap = 0, range(0)
    if length > MANY * slide:
        omitted = (length // slide - begins - 2) * slide
        gap = range(first + begins * slide, first + (begins + 1) * slide)
        length -= omitted
        cycle = Cycle(length, slide, length, first) if sliding else Cycle(length, length, slide, first)
    high = first + length + more * slide
    if unit == "rows":
        sample = _numbered_rows(high)
    else:
        margin = slide // 3
        sample = Sample(unit, first - margin, high + margin, _spread(first, high + margin, SAMPLE_ROWS + 4))
    return _repeat(replace(sample, gap=gap, omitted=omitted), cycle, technique, shift)


def _repeat(sample: Sample, cycle: Cycle, technique: str, shift: int) -> Sample:
    """Add windows that repeat, and their slices; the positions of rows are `shift` ticks before their places."""
    positions = [place - shift for place in sample.places] if shift else sample.places
    length, period, step, offset = cycle
    by_rows = sample.unit == "rows"
    every = cycle.every
    middle = sample.places[len(sample.places) // 2]  # given rows may be in any number of windows
    low, high = middle - MANY * every, middle + MANY * every
    windows = []
    for end in _edges_in([Family(every, (offset + length) % every)], low, min(high, sample.high) if by_rows else high):
        begin = end - length if step == length else (end - 1 - offset) // period * period + offset
        if by_rows and not sample.omitted:
            begin = max(begin, 0)  # a window that is not full yet
        if end - 1 not in sample.gap and any(begin <= place < end for place in positions):
            windows.append(Bar(begin, end, begin, end))
    sample = replace(sample, positions=positions, windows=_chosen(windows, sample))
    edges = cut_edges([cycle], technique)
    lines = sum((sample.high - sample.low) // family.period for family in edges.closing + edges.reading)
    if not technique or lines > MOST_LINES:
        return sample
    first = max(sample.low - (sample.low - family.phase) % family.period for family in edges.closing)
    last = min(sample.high + (family.phase - sample.high) % family.period for family in edges.closing)
    slices = [
        Bar(begin, end, begin, end)
        for begin, end in pairwise(_edges_in(edges.closing, first, last))
        if begin not in sample.gap and (by_rows or any(begin <= place < end for place in positions))
    ]
    begins = {bar.begin for bar in slices}
    reads = _edges_in(edges.reading, max(sample.low, slices[0].begin) + 1, sample.high)
    return replace(sample, slices=slices, reads=[place for place in reads if place not in begins])


def _edges_in(families: Iterable[Family], low: int, high: int) -> list[int]:
    """Return the edges of families from one place to another."""
    ranges = [range(low + (family.phase - low) % family.period, high + 1, family.period) for family in families]
    return sorted({edge for family_edges in ranges for edge in family_edges})


# -- all others --------------------------------------------------------------------------------------------------------


def _find(sample: Sample, window: Window, technique: str) -> Sample:
    """Add the windows that a query finds in the rows, and their slices."""
    by_rows = sample.unit == "rows"
    count = sample.high if by_rows else len(sample.places)
    rows = whole_items([] if by_rows else sample.places, [0, count], unit=own_unit(window), columns=sample.columns)
    bounds = window.bounds(rows, window.memory.new(1), numpy_form)
    begins, ends = bounds.begins.tolist(), bounds.ends.tolist()
    lefts, rights = begins, ends
    if bounds.starts is not None and bounds.stops is not None:
        lefts, rights = bounds.starts.tolist(), bounds.stops.tolist()
        sample = replace(sample, high=max(sample.high, min(max(rights), 2 * sample.high - sample.low)))
    elif isinstance(window.length, Duration):  # the time before each row
        lefts, rights = [place - window.length.amount for place in sample.places], list(sample.places)
    windows = list(map(Bar, lefts, rights, begins, ends))
    if _is_around(window):
        windows = _bars_around(sample, window, bounds)
    positions = sample.places if by_rows else range(count)
    sample = replace(sample, positions=positions, windows=_chosen(windows, sample))
    if not technique:
        return sample
    records, _ = cut_by_bounds(rows, [bounds], early=technique == "cutty")
    edges = [*(range(count) if by_rows else sample.places), sample.high]
    cuts = [0, *records.positions[records.closes].tolist()]
    slices = [Bar(edges[begin], edges[end], begin, end) for begin, end in pairwise(cuts)]
    reads = [edges[row] for row in records.positions[~records.closes].tolist()]
    return replace(sample, slices=slices, reads=reads)


def _bars_around(sample: Sample, window: Window, bounds: Bounds) -> list[Bar]:
    """Return the windows around rows: a side without limit goes beyond the picture."""
    assert window.frame is not None
    assert window.frame.around is not None
    before, after = window.frame.around
    by_rows = sample.unit == "rows"
    bars = []
    for row, (begin, end) in enumerate(zip(bounds.begins.tolist(), bounds.ends.tolist(), strict=True)):
        runs = [range(int(begins[row]), int(ends[row])) for begins, ends in bounds.runs] or [range(begin, end)]
        left_out = tuple(position for position in range(begin, end) if not any(position in run for run in runs))
        place = row if by_rows else sample.places[row]
        left = sample.low - 1 if before is None else max(place - before, 0) if by_rows else place - before
        right = sample.high + 1 if after is None else min(place + after + 1, len(bounds)) if by_rows else place + after
        bars.append(Bar(min(left, right), right, begin, end, place, left_out))
    return bars


def _chosen(windows: list[Bar], sample: Sample) -> list[Bar]:
    """Return the windows in the middle: of those wholly inside the picture, if there are any."""
    chosen = [bar for bar in windows if sample.low <= bar.left and bar.right <= sample.high] or windows
    first = max(0, (len(chosen) - SHOWN) // 2)
    return chosen[first : first + SHOWN]
