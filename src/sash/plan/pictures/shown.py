"""The windows of a picture: found as a query finds them, and those of them that are drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sash.plan.pictures.stretch import SHOWN, Stretch
from sash.windows import Window
from sash.windows.base import Bounds, as_it_stands
from sash.windows.by_rows import EveryRows


@dataclass(frozen=True)
class Shown:
    """A window that is drawn."""

    number: int
    """Which of those that were found it is."""
    rows: range
    begin: float
    end: float
    """Where its bar is, if it holds any rows."""


def find_windows(window: Window, stretch: Stretch) -> Bounds:
    """Return the windows over a stretch."""
    memory = window.new_memory(1)
    if isinstance(window, EveryRows):
        memory["seen"][:] = stretch.rows.done
    if not window.is_time:
        return window.bounds(stretch.rows, memory, as_it_stands)
    found = []
    for after, now in stretch.asked or ((int(stretch.rows.after[0]), int(stretch.rows.now[0])),):
        rows = replace(stretch.rows, after=np.array([after], np.int64), now=np.array([now], np.int64))
        found.append(window.bounds(rows, memory, as_it_stands))
    begins, ends, starts, stops = (
        np.concatenate([getattr(one, name) for one in found]) for name in ("begins", "ends", "starts", "stops")
    )
    return Bounds(begins, ends, starts, stops, found[-1].keep)


def place_windows(bounds: Bounds, stretch: Stretch, around: float) -> list[Shown]:
    """Return all windows and where their bars are: an interval of time, or from the first of its rows to the last."""
    found = []
    for number in range(len(bounds)):
        rows = range(int(bounds.begins[number]), int(bounds.ends[number]))
        if bounds.starts is not None and bounds.stops is not None:
            found.append(Shown(number, rows, float(bounds.starts[number]), float(bounds.stops[number])))
        elif rows:
            found.append(Shown(number, rows, stretch.place(rows[0]) - around, stretch.place(rows[-1]) + around))
        else:
            found.append(Shown(number, rows, 0, 0))
    return found


def choose_windows(windows: list[Shown], stretch: Stretch) -> list[Shown]:
    """Return the windows in the middle, of those that lie wholly in the picture if there are any."""
    begin, end = stretch.parts[0][0], stretch.parts[-1][1]
    whole = [window for window in windows if begin <= window.begin and window.end <= end]
    chosen = whole or windows
    first = max(0, (len(chosen) - SHOWN) // 2)
    return chosen[first : first + SHOWN]
