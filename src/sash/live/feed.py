"""Feed: the newest results of a stream, by zoom and key, from which messages are made.

A zoom is a window of the query. Each zoom and key has a `Series`, a buffer of its newest results in order of time:

    results ──► by zoom and key ──► Series: ends, values ──► reduce ──► message
                                    a result replaces the one with the same end; the oldest leave

`Layout` tells which column of the results is the time, the key, the zoom or a number. A result that changes a window of the past is a correction. The series keeps when it came and what the value was before.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BAND = ("min", "mean", "max")
"""Columns with these three names are drawn as one line with a band."""
ADDED = ("window", "window_start", "window_end", "change")
"""Columns that Sash adds to results."""
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


@dataclass(frozen=True)
class Line:
    """A line of a chart: the column of its values, and those of the band around it."""

    name: str
    low: str
    last: str
    high: str


@dataclass(frozen=True)
class Layout:
    """The columns of results."""

    time: str
    """The time at which a result is drawn: the end of its window, or the time of its row."""
    start: str
    """The start of its window, or again the time of its row."""
    keys: tuple[str, ...]
    values: tuple[str, ...]
    window: str | None
    change: str | None
    unit: float
    """Seconds in a tick of the time column; 0 if it holds plain numbers."""

    @property
    def lines(self) -> list[Line]:
        """The lines that a chart can show."""
        lines = [Line(name, name, name, name) for name in self.values]
        if not set(BAND) <= set(self.values):
            return lines
        return [Line(", ".join(BAND), *BAND), *(line for line in lines if line.name not in BAND)]

    def ticks(self, column: pa.ChunkedArray) -> Ints:
        """Return times as integers."""
        if pa.types.is_floating(column.type):
            column = pc.floor(column)
        if pa.types.is_date32(column.type):
            column = column.cast(pa.int32())
        return np.asarray(column.cast(pa.int64(), safe=False).to_numpy(), np.int64)

    def seconds(self, ticks: Ints) -> Floats:
        """Return times as the page draws them: seconds since 1970, or plain numbers."""
        return np.asarray(ticks * (self.unit or 1.0), np.float64)

    def numbers(self, results: pa.Table) -> Floats:
        """Return the values of results, one row each; nulls are NaN."""
        columns = [pc.cast(results[name], pa.float64(), safe=False).to_numpy() for name in self.values]
        return np.stack(columns, axis=1)

    def deleted(self, results: pa.Table) -> npt.NDArray[np.bool_]:
        """Return which results are deletions."""
        if self.change is None:
            return np.zeros(len(results), np.bool_)
        return np.asarray(pc.equal(results[self.change], "delete").to_numpy(), np.bool_)


def layout_of(schema: pa.Schema, by: Sequence[str], time: str | None) -> Layout:
    """Find the columns of results. Raise ValueError if none tells a time, or none has numbers.

    >>> schema = pa.schema({"k": pa.string(), "window_start": pa.int64(), "window_end": pa.int64(), "n": pa.int64()})
    >>> layout_of(schema, ["k"], None).lines
    [Line(name='n', low='n', last='n', high='n')]
    """
    names = schema.names
    drawn_at = next((name for name in ("window_end", "window_start", time) if name in names), None)
    if drawn_at is None:
        problem = "The live page needs the time of each result"
        raise ValueError(f"{problem}, but the select list has neither window_end nor the time column. Add one of them.")
    values = tuple(name for name in names if name not in (*ADDED, time, *by) and is_number(schema.field(name).type))
    if not values:
        raise ValueError(f"The live page draws numbers, but no column of the results has any: {', '.join(names)}.")
    return Layout(
        time=drawn_at,
        start="window_start" if "window_start" in names else drawn_at,
        keys=tuple(name for name in by if name in names),
        values=values,
        window="window" if "window" in names else None,
        change="change" if "change" in names else None,
        unit=unit_of(schema.field(drawn_at).type),
    )


def is_number(dtype: pa.DataType) -> bool:
    """Return whether a chart can draw values of a type."""
    checks = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return any(check(dtype) for check in checks)


def unit_of(dtype: pa.DataType) -> float:
    """Return the seconds in a tick of a time column, 0 for plain numbers."""
    if pa.types.is_timestamp(dtype):
        return SECONDS[dtype.unit]
    return 86_400.0 if pa.types.is_date32(dtype) else 1e-3 if pa.types.is_date64(dtype) else 0.0


MOST_POINTS = 4096
"""Results of a series: more than the pixels of a wide screen."""
MOST_RESULTS = 4_000_000
"""Results of all series: with many keys, each keeps fewer."""
MOST_KEYS = 2_000
"""Keys beyond these are not shown."""
FEWEST_POINTS = 64
NEVER = -np.inf
ALL_ROWS = "all rows"
"""The name of the only key of a query without keys."""
ONE_ZOOM = "results"
"""The name of the only zoom, if the source names none."""
FIRST, LAST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


class Series:
    """The newest results of one zoom and key, in order of time. The buffer has room for twice as many, so that it rarely moves."""

    def __init__(self, columns: int) -> None:
        self.revision = 0
        self._forgotten = FIRST
        """The newest end that has left the series: older results are not taken back."""
        values = [(name, np.float64, (columns,)) for name in ("values", "before")]
        self._keep(np.empty(0, [("ends", np.int64), ("corrected", np.float64), *values]), 0)

    def _keep(self, buffer: npt.NDArray[Any], count: int) -> None:
        """Make the first results of a buffer those of the series.

        Their `ends` ascend. `corrected` is when each was corrected last, or `NEVER`; `before` is its values before that, or NaN.
        """
        self._buffer, self.count, results = buffer, count, buffer[:count]
        self.ends, self.corrected = results["ends"], results["corrected"]
        self.values, self.before = results["values"], results["before"]

    def merge(self, ends: Ints, values: Floats, past: int, now: float, most: int) -> int:
        """Add results with ascending ends. Return how many of them correct a window that ends at `past` or before."""
        self.revision += 1
        rows = np.searchsorted(self.ends, ends)
        known = rows < self.count
        known[known] = self.ends[rows[known]] == ends[known]
        old, new = rows[known], values[known]
        was = self.values[old]
        changed = ((was != new) & ~(np.isnan(was) & np.isnan(new))).any(axis=1) & (ends[known] <= past)
        self.values[old] = new
        self.before[old[changed]] = was[changed]
        self.corrected[old[changed]] = now
        # a window that had no rows, in the past of a series that has begun, is a correction too
        added = ~known & (ends > self._forgotten)
        late = (ends[added] <= past) & (self.count > 0)
        self._append(ends[added], values[added], np.where(late, now, NEVER), most)
        return int(changed.sum() + late.sum())

    def delete(self, ends: Ints) -> None:
        """Remove results, such as sessions that another one has replaced."""
        self.revision += 1
        kept = self._buffer[: self.count][~np.isin(self.ends, ends)]
        self._buffer[: len(kept)] = kept
        self._keep(self._buffer, len(kept))

    def _append(self, ends: Ints, values: Floats, corrected: Floats, most: int) -> None:
        if not len(ends):
            return
        ends, values, corrected = ends[-most:], values[-most:], corrected[-most:]
        in_order = not self.count or bool(ends[0] > self.ends[-1])
        if self.count + len(ends) > len(self._buffer):
            self._make_room(len(ends), most)
        new = self._buffer[self.count : self.count + len(ends)]
        new["ends"], new["values"], new["corrected"], new["before"] = ends, values, corrected, np.nan
        self._keep(self._buffer, self.count + len(ends))
        if not in_order:
            results = self._buffer[: self.count]
            results[:] = results[np.argsort(self.ends, kind="stable")]

    def _make_room(self, more: int, most: int) -> None:
        """Keep the newest results, in a buffer with room for more."""
        kept = min(self.count, most - more)
        dropped = self.count - kept
        if dropped:
            self._forgotten = int(self.ends[dropped - 1])
        buffer = np.empty(min(max(2 * (kept + more), FEWEST_POINTS), 2 * most), self._buffer.dtype)
        buffer[:kept] = self._buffer[dropped : self.count]
        self._keep(buffer, kept)

    def _check(self) -> None:
        assert (np.diff(self.ends) > 0).all()
        assert self.count <= len(self._buffer)


@dataclass
class Feed:
    """The results that the page shows. The thread of the source adds them; the server reads them under `lock`."""

    layout: Layout | None = None
    clock: Callable[[], float] = time.monotonic
    lock: threading.RLock = field(default_factory=threading.RLock)
    zooms: list[str] = field(default_factory=list)
    keys: dict[tuple[Any, ...], str] = field(default_factory=dict)
    """The keys in order of their first results, and the text that stands for each."""
    series: dict[tuple[str, str], Series] = field(default_factory=dict)
    """By zoom and text of the key."""
    results: int = 0
    corrections: int = 0
    newest: int | None = None
    """The newest start of a window: about the time of the newest row."""
    newest_by_zoom: dict[str, int] = field(default_factory=dict)
    """The newest start of a window of each zoom: windows of the zoom that end by then belong to the past."""
    revision: int = 0
    """Changes when the layout, a zoom or a key is new."""
    first_result: float | None = None

    def describe(self, layout: Layout, zooms: Sequence[str] = ()) -> None:
        """Set the columns of the results, and the zooms in the order in which the page shows them."""
        with self.lock:
            self.layout = layout
            self.zooms = [*zooms]
            self.revision += 1

    def add(self, results: pa.Table) -> None:
        """Add results, in the order in which they came. Deletions come before what replaces them."""
        layout = self.layout
        if layout is None or not len(results):
            return
        ends, starts = layout.ticks(results[layout.time]), layout.ticks(results[layout.start])
        values = layout.numbers(results)
        codes, groups = _groups(results, [*([layout.window] if layout.window else []), *layout.keys])
        deleted = layout.deleted(results)
        order = np.lexsort((ends, codes))  # stable: of equal ends, the newest stays last
        edges = np.flatnonzero(np.diff(codes[order], prepend=-1, append=-1))
        with self.lock:
            only_zoom = self.zooms[0] if self.zooms else ONE_ZOOM
            newest: dict[str, int] = {}
            now = self.clock()
            most = max(FEWEST_POINTS, min(MOST_POINTS, MOST_RESULTS // max(1, len(self.series))))
            for group, begin, end in zip(groups, edges[:-1], edges[1:], strict=True):
                rows = order[begin:end]
                zoom = str(group[0]) if layout.window else only_zoom
                newest[zoom] = max(int(starts[rows].max()), newest.get(zoom, FIRST))
                if zoom not in self.zooms:
                    self.zooms.append(zoom)
                    self.revision += 1
                key = self._key(group[1:] if layout.window else group)
                if key is None:
                    continue
                series = self.series.setdefault((zoom, key), Series(len(layout.values)))
                if deleted[rows].any():
                    series.delete(ends[rows[deleted[rows]]])
                    rows = rows[~deleted[rows]]
                rows = rows[np.flatnonzero(np.diff(ends[rows], append=LAST))]  # the newest of each end
                if len(rows):
                    past = self.newest_by_zoom.get(zoom, FIRST)
                    self.corrections += series.merge(ends[rows], values[rows], past, now, most)
            self.results += len(results)
            for zoom, start in newest.items():
                self.newest_by_zoom[zoom] = max(start, self.newest_by_zoom.get(zoom, FIRST))
            self.newest = max(self.newest_by_zoom.values())
            self.first_result = now if self.first_result is None else self.first_result

    def _key(self, key: tuple[Any, ...]) -> str | None:
        """Return the text that stands for a key; None if there are too many keys."""
        text = self.keys.get(key)
        if text is None and len(self.keys) < MOST_KEYS:
            assert self.layout is not None
            named = zip(self.layout.keys, key, strict=True)
            text = self.keys[key] = ", ".join(f"{name} {value}" for name, value in named) or ALL_ROWS
            self.revision += 1
        return text


def _groups(results: pa.Table, names: Sequence[str]) -> tuple[Ints, list[tuple[Any, ...]]]:
    """Return the number of the group of each result, and the groups: results with equal values in some columns."""
    codes = np.zeros(len(results), np.int64)
    for name in names:
        encoded = pc.dictionary_encode(results[name].combine_chunks(), null_encoding="encode")
        codes = codes * len(encoded.dictionary) + np.asarray(encoded.indices.to_numpy(), np.int64)
    _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    groups = results.select(list(names)).take(pa.array(first)).to_pylist() if names else [{}]
    return codes, [tuple(group.values()) for group in groups]
