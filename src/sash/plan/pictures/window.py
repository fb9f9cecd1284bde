"""A window as a picture: rows, slices and windows over a short stretch of stream, found by the code that a query runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sash.aggregates import count
from sash.plan.declared import declare
from sash.plan.pictures.axis import Axis, make_labels
from sash.plan.pictures.shown import Shown, choose_windows, find_windows, place_windows
from sash.plan.pictures.slices import DrawnSlices, find_slices
from sash.plan.pictures.stretch import Stretch, make_up, take_rows
from sash.plan.pictures.svg import BOLD, Canvas, Picture, fit
from sash.plan.sharing import make_plan
from sash.plan.slicing import CUT, regular_slices, slices_in_words, why_no_slices
from sash.windows import Window

WIDTH = 780
LEFT, RIGHT = 84, 644
"""Where the stream is drawn: left of it are the names of what is drawn, right of it what windows are combined of."""
BAR, NEXT_BAR = 14, 21
SMALL = 11
CLOSE = 6
"""Dots that would lie closer than this are left out."""


def draw_window(
    window: Window, rows: Sequence[Mapping[str, Any]] | None = None, *, time: str = "time", slicing: str = "auto"
) -> Picture | None:
    """Return a window's picture over rows of one's own, or made-up ones; None if none can be made up."""
    declared = declare({"count": count()}, window, (), "time", (), "auto", "throughput", slicing, None)
    plan = make_plan(declared.windows, declared.aggregates, slicing=slicing)
    stretch = make_up(window) if rows is None else take_rows(window, rows, time)
    return None if stretch is None else _WindowPicture(window, stretch, plan.technique).draw()


def draw_own(window: Window, rows: Sequence[Mapping[str, Any]] | None, *, time: str, slicing: str) -> Picture:
    """Return a window's picture, or say that rows must be given."""
    picture = draw_window(window, rows, time=time, slicing=slicing)
    if picture is None:
        message = f"No rows can be made up for {window}: give some, as in draw([{{…}}, {{…}}])."
        raise ValueError(message)
    return picture


class _WindowPicture:
    """The picture while it is drawn, from top to bottom."""

    def __init__(self, window: Window, stretch: Stretch, technique: str) -> None:
        self.window = window
        self.stretch = stretch
        self.axis = Axis(stretch.parts, LEFT, RIGHT)
        self.bounds = find_windows(window, stretch)
        around = min(6 / self.axis.scale, 0.4) if stretch.unit == "rows" else 6 / self.axis.scale
        self.shown = choose_windows(place_windows(self.bounds, stretch, around), stretch)
        self.rows = stretch.shown(self._thinned())
        self.technique = technique
        self.slices: DrawnSlices | None = None
        if technique:
            self.slices = find_slices(window, stretch, self.bounds, technique, self.rows)
        self.canvas = Canvas(WIDTH)

    def draw(self) -> Picture:
        self.canvas.text((18, 27), fit(repr(self.window), WIDTH - 36, 14 * BOLD), size=14, weight="bold")
        height = 40 if "height" in self._looks() else 0
        rows_at = 54 + height
        slices_at = rows_at + 18
        windows_at = slices_at + (30 if self.slices else 4)
        below = windows_at + NEXT_BAR * max(1, len(self.shown)) + 4
        self._draw_slices(slices_at)
        self._draw_lines(slices_at, below)
        self._draw_letters(slices_at)
        self._draw_rows(rows_at, height)
        for place, shown in enumerate(self.shown):
            self._draw_window(shown, windows_at + place * NEXT_BAR)
        self.canvas.text((18, windows_at + 11), "windows", "note")
        self._draw_axis(rows_at - height - 12, below)
        self._draw_legend(below + 42)
        notes = self._notes()
        for number, note in enumerate(notes):
            self.canvas.text((18, below + 64 + 17 * number), note, "note")
        return self.canvas.picture(below + 58 + 17 * len(notes), f"{self.window!r}: rows, slices and windows")

    # -- rows ------------------------------------------------------------------------------------------------------

    def _thinned(self) -> int:
        """Return of how many rows one is drawn."""
        if self.stretch.unit != "rows" or self.axis.scale >= CLOSE:
            return 1
        places = self.axis.round_places("rows", CLOSE)
        return max(1, places[1] - places[0])

    def _looks(self) -> Mapping[str, Any]:
        """Return the column that windows look at, by how it is drawn: as height, or as marks."""
        by_kind = {"delta": "height", "punctuated": "mark"}
        columns = self.stretch.rows.columns
        return {by_kind[self.window.kind]: next(iter(columns.values()))} if self.window.kind in by_kind else {}

    def _column(self, room: float) -> str:
        """Return the name of that column, as much as there is room for."""
        return fit(self.window.columns[0], room, SMALL)

    def _draw_rows(self, y: float, height: float) -> None:
        for begin, end in self.stretch.parts:
            self.canvas.line((self.axis.x(begin), y), (self.axis.x(end), y), "frame", 1.5)
        self.canvas.text((18, y + 4), "rows", "note")
        looks = self._looks()
        marks, heights = looks.get("mark"), looks.get("height")
        if heights is not None:
            self.canvas.text((18, y - height + 4), self._column(LEFT - 22), "note", SMALL)
            lowest, span = min(heights), max(heights) - min(heights) or 1
        for row in self.rows:
            x = self.axis.x(self.stretch.place(row))
            if heights is not None:
                top = y - height * float(heights[row] - lowest) / float(span)
                self.canvas.line((x, y), (x, top), "frame")
                self.canvas.dot(x, top, "row")
            elif marks is not None and marks[row]:
                self.canvas.dot(x, y, "rim", 5)
            else:
                self.canvas.dot(x, y, "row")

    # -- slices ----------------------------------------------------------------------------------------------------

    def _draw_lines(self, top: float, bottom: float) -> None:
        if self.slices is None:
            return
        for place in self.slices.closes:
            x = self.axis.x(place)
            self.canvas.line((x, top - 26), (x, bottom), "edge", 1)
        for place in self.slices.reads:
            x = self.axis.x(place)
            self.canvas.line((x, top - 26), (x, bottom), "edge", 1, "2 3")

    def _draw_slices(self, y: float) -> None:
        if self.slices is None:
            return
        self.canvas.text((18, y + 13), "slices", "note")
        for slice_ in self.slices.slices:
            left, right = self.axis.x(slice_.left) + 1, self.axis.x(slice_.right) - 1
            self.canvas.box((left, y), (right - left, 18), "slice")

    def _draw_letters(self, y: float) -> None:
        for slice_ in self.slices.slices if self.slices is not None else ():
            left, right = self.axis.x(slice_.left), self.axis.x(slice_.right)
            if slice_.letter and right - left > SMALL:
                middle = (left + right) / 2
                self.canvas.box((middle - 5, y + 2), (10, 14), "slice")
                self.canvas.text((middle, y + 13), slice_.letter, "edge", anchor="middle")

    # -- windows ---------------------------------------------------------------------------------------------------

    def _draw_window(self, shown: Shown, y: float) -> None:
        if len(shown.rows):
            left, right = self.axis.x(shown.begin), self.axis.x(shown.end)
            enough = len(shown.rows) >= self.window.min_rows
            self.canvas.box((left, y), (right - left, BAR), "window" if enough else "paper", "rim", 4)
            if shown.begin < self.stretch.parts[0][0]:
                self.canvas.text((left - 9, y + 11), "‹", "rim", 14)
            if shown.end > self.stretch.parts[-1][1]:
                self.canvas.text((right + 4, y + 11), "›", "rim", 14)
        for row in self.rows:
            if row in shown.rows:
                self.canvas.dot(self.axis.x(self.stretch.place(row)), y + BAR / 2, "rim", 1.8)
        if self.window.per_row:
            own = shown.number + int(self.stretch.rows.done[0])
            self.canvas.dot(self.axis.x(self.stretch.place(own)), y + BAR / 2, "paper", 4, "rim")
        if self.slices is not None:
            self.canvas.text((RIGHT + 14, y + 11), self.slices.combined(*self._cut(shown)), "edge")

    def _cut(self, shown: Shown) -> tuple[float, float]:
        """Return where a window begins and ends, as slices tell it."""
        by_time = self.stretch.unit != "rows" and regular_slices({"": self.window}, self.technique) is not None
        return (shown.begin, shown.end) if by_time else (shown.rows.start, shown.rows.stop)

    # -- below -----------------------------------------------------------------------------------------------------

    def _draw_axis(self, top: float, y: float) -> None:
        places: list[float] = []
        if self.bounds.starts is not None and self.bounds.stops is not None:
            numbers = [shown.number for shown in self.shown]
            places = [float(ends[number]) for ends in (self.bounds.starts, self.bounds.stops) for number in numbers]
        else:
            places = [float(place) for place in self.axis.round_places(self.stretch.unit, 60)]
            places = [place for place in places if place >= 1] if self.stretch.unit == "rows" else places
        for begin, end in self.stretch.parts:
            self.canvas.line((self.axis.x(begin), y), (self.axis.x(end), y), "note")
        for x in self.axis.breaks:
            self.canvas.box((x + 4, top), (26, y - top + 6), "paper", radius=0)
            for side in (x + 4, x + 30):
                self.canvas.line((side - 3, y + 5), (side + 3, y - 5), "note")
            self.canvas.text((x + 17, top + 16), "⋯", "note", anchor="middle")
            self.canvas.text((x + 17, y - 8), "⋯", "note", anchor="middle")
        self.canvas.text((18, y + 17), "row" if self.stretch.unit == "rows" else "time", "note", SMALL)
        for label in make_labels(self.axis, places, self.stretch.unit, self.stretch.origin, SMALL):
            self.canvas.line((label.x, y), (label.x, y + 4), "note")
            self.canvas.text((label.x, y + 17), label.words, "note", SMALL, anchor="middle")

    def _draw_legend(self, y: float) -> None:
        x = 18.0
        every = self._thinned()
        many = f"{every:,} rows" if every > 1 else "a row"
        self.canvas.dot(x + 4, y - 4, "row")
        x = self._write(x + 14, y, many)
        if "mark" in self._looks():
            self.canvas.dot(x + 4, y - 4, "rim", 5)
            x = self._write(x + 14, y, f"a row whose {self._column(240)} is true")
        if self.window.per_row:
            self.canvas.dot(x + 4, y - 4, "paper", 4, "rim")
            x = self._write(x + 14, y, "the row that has the window's result")
        if self.slices is not None:
            self.canvas.line((x + 4, y - 10), (x + 4, y + 2), "edge")
            x = self._write(x + 12, y, "a slice ends")
            if self.slices.reads:
                self.canvas.line((x + 4, y - 10), (x + 4, y + 2), "edge", 1, "2 3")
                x = self._write(x + 12, y, "a slice is read while it is open")
        if any(len(shown.rows) < self.window.min_rows for shown in self.shown):
            self.canvas.box((x, y - 10), (18, 12), "paper", "rim", 4)
            self._write(x + 24, y, f"null: fewer than {self.window.min_rows} rows")

    def _write(self, x: float, y: float, words: str) -> float:
        """Write words of the legend, and return where the next ones go."""
        self.canvas.text((x, y), words, "note", SMALL)
        return x + len(words) * SMALL * 0.52 + 18

    def _notes(self) -> list[str]:
        """Return what can't be seen."""
        if not self.technique:
            return [f"No slices: {why_no_slices(self.window)}."]
        regular = regular_slices({"": self.window}, self.technique)
        slices = slices_in_words(self.window, regular)
        sentence = f"Cut {CUT[self.technique]} ({self.technique}): a window has {slices}"
        if regular and regular.reads_open(""):
            sentence += ", read while it is open" if slices == "1 slice" else ", the newest read while it is open"
        return [f"{sentence}{'' if self.slices else ', which are too many to draw'}."]
