"""Panels: the part of a series that a chart shows, reduced to its pixels, as columns of a message."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sash.live.feed import Feed, Series
from sash.live.messages import Column, encode
from sash.live.reduce import highest, last, lowest, pixel_starts, visible
from sash.live.result_layout import Layout, Line

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
    return {"from": begin, "to": end, "of": int(shown.stop - shown.start)}, [last(x, starts), *narrow]


def panels_message(feed: Feed, key: str, line_name: str, views: dict[str, PanelView], seq: int) -> bytes | None:
    """Return a message with the panels of the given zooms; None if there is nothing to show yet."""
    with feed.lock:
        layout = feed.layout
        if layout is None or not feed.series:
            return None
        line = next((line for line in layout.lines if line.name == line_name), layout.lines[0])
        now = feed.clock()
        panels: list[dict[str, Any]] = []
        columns: list[Column] = []
        for zoom, view in views.items():
            series = feed.series.get((zoom, key))
            if series is None:
                continue
            header, panel = panel_columns(series, layout, line, view, now)
            panels.append({"zoom": zoom, **header, "first": len(columns)})
            columns += panel
        newest = None if feed.newest is None else float(layout.seconds(np.array([feed.newest]))[0])
    return encode("panels", {"seq": seq, "key": key, "line": line.name, "now": newest, "panels": panels}, columns)
