"""A naive model of late rows: which rows each window of time holds, when rows arrive one after the other.

It shares nothing with the engine. A row joins a window only if the window is open at the row's watermark. A session of one row is
[t, t + gap). Rows are told apart by one bit each, so that a sum shows exactly which rows a window holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from helpers.streams import OF_TIME, WINDOWS
from sash.windows import Window
from sash.windows.by_gap import Session
from sash.windows.periodic import Periodic

Emitted = tuple[str, Any, int, int, int]
"""The name of a window, the key, start, stop, and the bits of its rows."""


MODELLED = [name for name in OF_TIME if all(window.min_rows == 1 for window in WINDOWS[name].values())]
"""The windows that the model knows: `min_rows` would hide which rows a window holds."""


@dataclass
class LateRows:
    """The open windows of a stream."""

    windows: Mapping[str, Window]
    periodic: dict[tuple[str, Any, int, int], int] = field(default_factory=dict)
    sessions: dict[tuple[str, Any], list[list[int]]] = field(default_factory=dict)
    """By window and key: first time, last time, bits."""
    late: int = 0

    def add(self, key: Any, time: int, bit: int, mark: int) -> None:
        """Add a row that arrives at a watermark; it is late if it has windows, and all of them are closed."""
        ends = {name: self._last_end(window, time) for name, window in self.windows.items()}
        if not any(end is not None and end > mark for end in ends.values()):
            self.late += any(end is not None for end in ends.values())
            return
        for name, window in self.windows.items():
            end = ends[name]
            if end is None or end <= mark:
                continue
            if isinstance(window, Session):
                self._join_session(name, window.gap.amount, key, time, bit)
            else:
                assert isinstance(window, Periodic)
                self._join_periodic(name, window, key, time, bit, mark)

    def _last_end(self, window: Window, time: int) -> int | None:
        """Return the watermark at which the last window of a row is closed; None if no window holds it."""
        if isinstance(window, Session):
            return time + window.gap.amount + 1  # a row at the end of a session still extends it
        assert isinstance(window, Periodic)
        closed_right = window.closed == "right"
        return max((stop + closed_right for _, stop in self._windows_of(window, time)), default=None)

    def _windows_of(self, window: Periodic, time: int) -> list[tuple[int, int]]:
        length, period, step = window.range.amount, window.period.amount, window.step.amount
        return [
            (start, stop)
            for start in range(time - length, time + 1)
            if (start - window.offset.amount) % period == 0
            for stop in range(start + step, start + length + 1, step)
            if (start < time <= stop if window.closed == "right" else start <= time < stop)
        ]

    def _join_periodic(self, name: str, window: Periodic, key: Any, time: int, bit: int, mark: int) -> None:
        for start, stop in self._windows_of(window, time):
            if stop + self._wait(name) > mark:
                at = (name, key, start, stop)
                self.periodic[at] = self.periodic.get(at, 0) + bit

    def _wait(self, name: str) -> int:
        """Return how long after its end a window is open: one tick if it holds the rows at its end."""
        return int(getattr(self.windows[name], "closed", "left") == "right")

    def _join_session(self, name: str, gap: int, key: Any, time: int, bit: int) -> None:
        """Join a row and the open sessions near it."""
        first, last, bits = time, time, bit
        rest = []
        for session in self.sessions.get((name, key), []):
            if session[0] - gap <= time <= session[1] + gap:
                first, last, bits = min(first, session[0]), max(last, session[1]), bits + session[2]
            else:
                rest.append(session)
        self.sessions[name, key] = [*rest, [first, last, bits]]

    def emit(self, now: int) -> list[Emitted]:
        """Close the windows that end by a watermark, and return them."""
        done: list[Emitted] = [(*at, bits) for at, bits in self.periodic.items() if at[3] + self._wait(at[0]) <= now]
        self.periodic = {at: bits for at, bits in self.periodic.items() if at[3] + self._wait(at[0]) > now}
        for (name, key), sessions in self.sessions.items():
            gap = self.windows[name].gap.amount  # type: ignore[attr-defined]
            done += [(name, key, first, last + gap, bits) for first, last, bits in sessions if last + gap < now]
            self.sessions[name, key] = [session for session in sessions if session[1] + gap >= now]
        return sorted(done)
