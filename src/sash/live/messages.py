"""Messages: the binary messages that the server sends to a browser. `static/messages.js` reads what this module writes.

A message is a header in JSON and columns of numbers. All numbers are little-endian, and everything starts at a multiple of 8 bytes,
so that a browser reads columns in place.

    bytes   0 … 3    "SAF1", the version of this layout
            4 … 7    uint32, the length h of the header in bytes, a multiple of 8
            8 … 7+h  the header: UTF-8 JSON, filled up with spaces
            then     the columns, one after the other, each filled up with zeros to a multiple of 8

The header has a `kind`, and in `columns` the type and length of each column: ["f8", 120] or ["f4", 120]. Other members of the
header refer to a column by its number.

A line is reduced to as many points as a screen shows. Each pixel keeps its lowest, highest and last value:

    points   · ·· ·  ····  ·  · ··· ·        any number
    pixels   |  0  |  1  |  2  |  3  |       low = min, high = max, last = the last of each pixel
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.live.feed import ALL_ROWS, Feed, Floats, Ints, Layout, Line, Series
from sash.live.source import layout_of_query, run_over_recent
from sash.windows.base import Flags

MAGIC = b"SAF1"
ALIGN = 8

Column = npt.NDArray[np.floating[Any]]


def encode(kind: str, header: dict[str, Any], columns: Sequence[Column] = ()) -> bytes:
    """Return a message.

    >>> message = encode("panels", {"seq": 1}, [np.array([1.5, 2.5]), np.array([3], np.float32)])
    >>> message[:4], len(message) % 8
    (b'SAF1', 0)
    """
    shapes = [[f"f{column.dtype.itemsize}", len(column)] for column in columns]
    members = {"kind": kind, **header, "columns": shapes}
    encoded = json.dumps(members, allow_nan=False, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % ALIGN)
    pieces = [MAGIC, len(encoded).to_bytes(4, "little"), encoded]
    for column, (dtype, _) in zip(columns, shapes, strict=True):
        data = column.astype(f"<{dtype}", copy=False).tobytes()
        pieces += [data, b"\0" * (-len(data) % ALIGN)]
    return b"".join(pieces)


# -- reduction: the points of a line, as many as a screen shows --------------------------------------------------------


def visible(x: Floats, begin: float, end: float) -> slice:
    """Return the points between two times, and one point on each side, so that lines reach the border.

    >>> visible(np.array([1.0, 2, 3, 4, 5]), 2.5, 3.5)
    slice(1, 4, None)
    """
    first, after = int(np.searchsorted(x, begin)), int(np.searchsorted(x, end, side="right"))
    return slice(max(first - 1, 0), min(after + 1, len(x)))


def pixel_starts(x: Floats, begin: float, end: float, width: int) -> Ints:
    """Return the first point of each pixel that has one. `x` is sorted. Up to `width` points are kept as they are.

    >>> pixel_starts(np.arange(100.0), 0, 100, 4)
    array([ 0, 25, 50, 75])
    """
    if len(x) <= width:
        return np.arange(len(x))
    pixels = np.clip(np.floor((x - begin) * (width / max(end - begin, 1e-300))), -1, width)
    return np.flatnonzero(np.concatenate([[True], pixels[1:] != pixels[:-1]]))


def lowest(values: Floats, starts: Ints) -> Floats:
    """Return the lowest value of each pixel; NaN only where there is nothing else."""
    return np.asarray(np.fmin.reduceat(values, starts))


def highest(values: Floats, starts: Ints) -> Floats:
    """Return the highest value of each pixel; NaN only where there is nothing else."""
    return np.asarray(np.fmax.reduceat(values, starts))


def last(values: Floats, starts: Ints) -> Floats:
    """Return the last value of each pixel.

    >>> last(np.array([1.0, 2, 3]), np.array([0, 2]))
    array([2., 3.])
    """
    ends: Ints = np.concatenate([starts[1:], [len(values)]])[: len(starts)]
    return values[ends - 1]


# -- gaps --------------------------------------------------------------------------------------------------------------

USUAL = 0.5
"""Windows follow each other at a steady pace if so many of them are the same time apart."""
LATEST = 1.5
"""A point that comes so many steps after the one before it has a gap before it."""


def gaps_before(x: Floats) -> Flags:
    """Return for each point whether windows are missing before it: only if windows follow each other at a steady pace.

    >>> gaps_before(np.array([1.0, 2, 3, 7, 8])).tolist(), gaps_before(np.array([1.0, 2, 4, 9])).tolist()
    ([False, False, False, True, False], [False, False, False, False])
    """
    apart = np.diff(x, prepend=x[:1])
    steps = apart[1:]
    if len(steps) < 2:  # noqa: PLR2004 — two points have no pace
        return np.zeros(len(x), np.bool_)
    step = float(np.median(steps))
    is_steady = np.count_nonzero(np.abs(steps - step) <= step / 100) >= USUAL * len(steps)
    return apart > LATEST * step if is_steady else np.zeros(len(x), np.bool_)


def with_gaps(columns: Sequence[Column], gaps: Flags) -> list[Column]:
    """Return columns with a point without values before each gap's end; the first column has times.

    >>> [column.tolist() for column in with_gaps([np.array([1.0, 5.0]), np.array([7.0, 8.0])], np.array([False, True]))]
    [[1.0, 3.0, 5.0], [7.0, nan, 8.0]]
    """
    x, *values = columns
    places = np.flatnonzero(gaps)
    places = places[places > 0]
    if not len(places):
        return list(columns)
    middle = (x[places - 1] + x[places]) / 2
    return [np.insert(x, places, middle), *(np.insert(column, places, np.nan) for column in values)]


# -- panels: the part of a series that a chart shows -------------------------------------------------------------------

FOLLOW = 240
"""Results that a chart shows while it follows the newest."""
WIDEST, NARROWEST = 4096, 16
HIGHLIGHT_SECONDS = 10.0
"""The page highlights corrections for this long."""


@dataclass(frozen=True)
class PanelView:
    """What a browser shows of a zoom: the width in pixels, and the times if it does not follow the newest."""

    width: int = 600
    begin: float | None = None
    end: float | None = None

    @classmethod
    def read(cls, message: Any) -> PanelView:
        """Parse a view that a browser sent. Wrong values become defaults.

        >>> PanelView.read({"width": 1e9, "from": 3, "to": 1})
        PanelView(width=4096, begin=None, end=None)
        """
        members = message if isinstance(message, dict) else {}
        width, begin, end = (_number(members.get(name)) for name in ("width", "from", "to"))
        pixels = int(min(max(width or 600, NARROWEST), WIDEST))
        return cls(pixels, begin, end) if begin is not None and end is not None and begin < end else cls(pixels)


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None


def panel_columns(
    series: Series, layout: Layout, line: Line, view: PanelView, now: float
) -> tuple[dict[str, Any], list[Column]]:
    """Return the times shown and the columns x, low, last, high, age and before.

    `age` is the number of seconds since a correction, `before` the value before it; both are NaN elsewhere.
    """
    x = layout.seconds(series.ends)
    if not len(x):
        return {"from": None, "to": None, "of": 0}, [np.empty(0)] * 6
    begin, end = view.begin, view.end
    if begin is None or end is None:
        begin, end = float(x[-min(FOLLOW, len(x))]), float(x[-1])
    shown = visible(x, begin, end)
    x = x[shown]
    starts = pixel_starts(x, begin, end, view.width)
    low, middle, high = (series.values[shown, layout.values.index(name)] for name in (line.low, line.last, line.high))
    age = now - highest(series.corrected[shown], starts)
    before = last(series.before[shown, layout.values.index(line.last)], starts)
    recent = age <= HIGHLIGHT_SECONDS
    reduced = [lowest(low, starts), last(middle, starts), highest(high, starts)]
    corrections = [np.where(recent, values, np.nan) for values in (age, before)]
    with np.errstate(over="ignore"):  # half of the bytes: a screen has no more digits
        narrow = [values.astype(np.float32) for values in (*reduced, *corrections)]
    drawn = with_gaps([last(x, starts), *narrow], gaps_before(x)[starts])
    return {"from": begin, "to": end, "of": int(shown.stop - shown.start)}, drawn


def panels_message(feed: Feed, key: str, line_name: str, views: dict[str, PanelView], seq: int) -> bytes | None:
    """Return a message with the panels of the given zooms; None if there is nothing to show yet."""
    with feed.lock:
        layout = feed.layout
        if layout is None or not feed.series:
            return None
        line = next((line for line in layout.lines if line.name == line_name), layout.lines[0])
        panels: list[dict[str, Any]] = []
        columns: list[Column] = []
        for zoom in (zoom for zoom in views if (zoom, key) in feed.series):
            header, panel = panel_columns(feed.series[zoom, key], layout, line, views[zoom], feed.clock())
            panels.append({"zoom": zoom, **header, "first": len(columns)})
            columns += panel
        newest = None if feed.newest is None else float(layout.seconds(np.array([feed.newest]))[0])
    return encode("panels", {"seq": seq, "key": key, "line": line.name, "now": newest, "panels": panels}, columns)


# -- the query box: a text over recent rows, its results as a chart and a table ----------------------------------------

LONGEST_TEXT = 10_000
MOST_LINES = 8
MOST_TABLE_ROWS = 50
MOST_RESULTS = 2_000_000
OUT_OF_MEMORY = "The query needs more memory than its limit. Give a longer slide, or fewer aggregates."
WIDTH = 1200
"""Pixels of the chart."""


def answer(text: str, rows: pa.Table | None, number: int) -> bytes:
    """Return a message with the results of a query, or with an error that the page shows."""
    try:
        header, columns = run_text(text, rows)
    except Exception as error:  # noqa: BLE001 — the page shows any error, and goes on
        name = type(error).__name__  # DuckDB, which may not be installed, has an error of its own
        is_memory = isinstance(error, MemoryError) or name == "OutOfMemoryException"
        return encode("answer", {"id": number, "error": OUT_OF_MEMORY if is_memory else str(error) or name})
    return encode("answer", {"id": number, "error": "", **header}, columns)


def run_text(text: str, rows: pa.Table | None) -> tuple[dict[str, Any], list[Column]]:
    """Run a text over rows. Return a header with the table, and columns: x, low, last and high of each line.

    Raise ValueError if the text cannot run.
    """
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"The query has {len(text):,} characters, but at most {LONGEST_TEXT:,} are allowed.")
    if rows is None:
        raise ValueError("No rows have arrived yet. Try again in a few seconds.")
    results, query = run_over_recent(text, rows)
    if len(results) > MOST_RESULTS:
        raise ValueError(
            f"The query has {len(results):,} results, but at most {MOST_RESULTS:,} are allowed. Give a longer slide."
        )
    header: dict[str, Any] = {"rows": len(rows), "results": len(results), "names": results.column_names}
    header |= {"table": _texts(results), "note": "", "isTime": False, "lines": []}
    columns: list[Column] = []
    try:
        if query is None:
            raise ValueError("The table has no chart, because a SELECT is around the windows.")  # noqa: TRY301 — as other notes
        layout = layout_of_query(query, results.schema)
    except ValueError as error:
        return {**header, "note": str(error)}, columns
    lines = _lines(results, layout)
    for name, x, values in lines[:MOST_LINES]:
        starts = pixel_starts(x, float(x[0]), float(x[-1]), WIDTH)
        header["lines"].append({"name": name, "first": len(columns)})
        drawn = [last(x, starts), lowest(values, starts), last(values, starts), highest(values, starts)]
        columns += with_gaps(drawn, gaps_before(x)[starts])
    if len(lines) > MOST_LINES:
        header["note"] = f"The chart shows {MOST_LINES} of {len(lines)} lines."
    return {**header, "isTime": layout.unit > 0}, columns


def _lines(results: pa.Table, layout: Layout) -> list[tuple[str, Any, Any]]:
    """Return the lines of results, one for each zoom, key and column of numbers."""
    feed = Feed()
    feed.describe(layout)
    feed.add(results)
    lines = []
    for (zoom, key), series in feed.series.items():
        for column, name in enumerate(layout.values if series.count else ()):
            names = [name, *([zoom] if len(feed.zooms) > 1 else []), *([key] if key != ALL_ROWS else [])]
            lines.append((" · ".join(names), layout.seconds(series.ends), series.values[:, column]))
    return lines


def _texts(results: pa.Table) -> list[list[str]]:
    """Return the last results as strings, newest first."""
    newest = results.slice(max(0, len(results) - MOST_TABLE_ROWS)).to_pylist()
    return [[*map(_text, row.values())] for row in reversed(newest)]


def _text(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:,.6g}" if isinstance(value, float) and np.isfinite(value) else str(value)
