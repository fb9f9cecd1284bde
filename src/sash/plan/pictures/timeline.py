"""A window as a picture: rows, slices and windows along an axis, and what each window is combined of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from string import ascii_lowercase
from typing import Any

from sash.aggregates import count
from sash.plan.pictures.sample import Bar, Sample, make_sample
from sash.plan.pictures.svg import MARGIN, Canvas, Picture, fit, width_of
from sash.plan.query_spec import parse_query
from sash.plan.sharing import make_plan
from sash.plan.slicing import describe_slices, length_to_text
from sash.windows import Window
from sash.windows.capabilities import ColumnRule

WIDTH = 780
LEFT, RIGHT = 90, 644
"""Where the axis lies: labels are on its left, and what windows are combined of on its right."""
HEIGHT = 40
"""Of a column that is drawn as heights."""
BAR, NEXT_BAR = 14, 21
"""The height of the bar of a window, and the distance to the next one."""
SMALL = 11
MOST_LETTERS = 4
"""Of more slices, only the first and the last are written."""


def draw_timeline(window: Window, rows: Sequence[Mapping[str, Any]] | None, time: str, slicing: str) -> Picture | None:
    """Return the picture of a window over given rows or sample rows; None if there are no sample rows for it."""
    query = parse_query({"count": count()}, window, time="time", slicing=slicing)
    technique = make_plan(query.windows, query.aggregates, slicing=slicing).technique
    sample = make_sample(window, technique, rows, time)
    return None if sample is None else _Timeline(window, sample, technique).draw()


class _Timeline:
    """The picture while it is drawn, from top to bottom."""

    def __init__(self, window: Window, sample: Sample, technique: str) -> None:
        self.window = window
        self.sample = sample
        self.technique = technique
        self.canvas = Canvas(WIDTH, repr(window))
        self.right = RIGHT if sample.slices else WIDTH - 2 * MARGIN
        self.scale = (self.right - LEFT) / (sample.high - sample.low)
        self.by_rows = sample.unit == "rows"
        self.letters = [ascii_lowercase[n % 26] * (n // 26 + 1) for n in range(len(sample.slices))]
        self.column, rule = next(iter(window.columns.items()), ("", ColumnRule()))
        self.holds = rule.holds
        column = sample.columns[self.column] if self.holds else [0] * len(sample.places)
        self.values = [float(value) for value in column]

    def draw(self) -> Picture:
        rows_at = 54 + (HEIGHT if self.holds == "number" else 0)
        slices_at = rows_at + 18
        windows_at = slices_at + (30 if self.sample.slices else 4)
        bottom = windows_at + NEXT_BAR * len(self.sample.windows) + 4
        self._draw_slices(slices_at, bottom)
        self._draw_rows(rows_at)
        self.canvas.text((MARGIN, windows_at + 11), "windows")
        for number, bar in enumerate(self.sample.windows):
            self._draw_window(bar, windows_at + number * NEXT_BAR)
        self._draw_axis(bottom)
        y = bottom + 28
        for note in self._notes():
            self.canvas.text((MARGIN, y := y + 17), note)
        return self.canvas.picture(y + 14)

    def _x(self, place: float) -> float:
        """Return where a place is; places outside the picture move to its sides."""
        return LEFT + (min(max(place, self.sample.low), self.sample.high) - self.sample.low) * self.scale

    def _row_x(self, place: float) -> float:
        """Return where the dot of a row is: in the middle of its number."""
        return self._x(place) + (self.scale / 2 if self.by_rows else 0)

    def _draw_rows(self, y: float) -> None:
        self.canvas.text((MARGIN, y + 4), "rows")
        self.canvas.line((LEFT, y), (self.right, y), "frame")
        lowest, span = min(self.values), max(self.values) - min(self.values) or 1
        raised = self.holds == "number"
        if raised:
            self.canvas.text((MARGIN, y - HEIGHT + 4), fit(self.column, LEFT - MARGIN, SMALL), size=SMALL)
        for place, value in zip(self.sample.places, self.values, strict=True):
            x, top = self._row_x(place), y - (HEIGHT * (value - lowest) / span if raised else 0)
            if raised:
                self.canvas.line((x, y), (x, top), "frame")
            self.canvas.dot((x, top), *(("rim", 5) if value and not raised else ("text",)))

    def _draw_slices(self, y: float, bottom: float) -> None:
        if not self.sample.slices:
            return
        self.canvas.text((MARGIN, y + 13), "slices")
        spans = [(self._x(bar.left), self._x(bar.right)) for bar in self.sample.slices]
        for left, right in spans:
            self.canvas.box((left + 1, y), (right - left - 2, 18), "slice")
        edges = {place for bar in self.sample.slices for place in (bar.left, bar.right)}
        closes = [place for place in sorted(edges) if self.sample.low <= place < self.sample.high]
        for places, dashes in ((closes, ""), (self.sample.reads, "2 3")):
            for x in map(self._x, places):
                self.canvas.line((x, y - 26), (x, bottom), "edge", dashes)
        for letter, (left, right) in zip(self.letters, spans, strict=True):
            middle, width = (left + right) / 2, width_of(letter, 12) + 4
            if right - left > width:
                self.canvas.box((middle - width / 2, y + 2), (width, 14), "slice")
                self.canvas.text((middle, y + 13), letter, "edge", anchor="middle")

    def _draw_window(self, bar: Bar, y: float) -> None:
        left, right = self._x(bar.left), self._x(bar.right)
        self.canvas.box((left, y), (right - left, BAR), "window" if self._has_result(bar) else "paper", "rim", 4)
        if bar.left < self.sample.low:
            self.canvas.text((left - 8, y + 11), "‹", "rim", 14)
        if bar.right > self.sample.high:
            self.canvas.text((right + 3, y + 11), "›", "rim", 14)
        for place in self._rows_of(bar):
            self.canvas.dot((self._row_x(place), y + BAR / 2), "rim", 1.8)
        if self.window.per_row:
            row = bar.right - self.by_rows if bar.row is None else bar.row
            self.canvas.dot((self._row_x(row), y + BAR / 2), "paper", 4, "rim")
            if bar.row is not None and bar.row in self._rows_of(bar):
                self.canvas.dot((self._row_x(row), y + BAR / 2), "rim", 1.8)
        if self.sample.slices:
            self.canvas.text((RIGHT + 14, y + 11), self._combined(bar), "edge")

    def _rows_of(self, bar: Bar) -> list[int]:
        """Return the places of the rows in a window."""
        placed = zip(self.sample.places, self.sample.positions, strict=True)
        return [place for place, position in placed if bar.begin <= position < bar.end and position not in bar.excluded]

    def _has_result(self, bar: Bar) -> bool:
        rows = bar.end - bar.begin + self.sample.omitted if self.by_rows else len(self._rows_of(bar))
        return rows >= self.window.min_rows

    def _combined(self, bar: Bar) -> str:
        """Return the slices that a window is combined of; one that is read while it is open has a prime."""
        lettered = zip(self.letters, self.sample.slices, strict=True)
        inside = [(letter, part) for letter, part in lettered if part.begin < bar.end and part.end > bar.begin]
        names = [letter + "′" * (part.end > bar.end) for letter, part in inside]
        gap = any(older.end in self.sample.gap for _, older in inside[:-1])
        return " ⊕ ".join([names[0], "…", names[-1]] if gap or len(names) > MOST_LETTERS else names)

    def _draw_axis(self, y: float) -> None:
        self.canvas.line((LEFT, y), (self.right, y), "note")
        if gap := self.sample.gap:
            left, right = self._x(gap.start), self._x(gap.stop)
            self.canvas.box((left + 2, 42), (right - left - 4, y - 36), "paper", radius=0)
            for x in (left + 2, right - 2):
                self.canvas.line((x - 3, y + 5), (x + 3, y - 5), "note")
            for height in (58, y - 8):
                self.canvas.text(((left + right) / 2, height), "⋯", anchor="middle")
        self.canvas.text((MARGIN, y + 17), "row" if self.by_rows else "time", size=SMALL)
        free = float(LEFT - MARGIN)
        for place, words in sorted(self._labels().items()):
            x, half = self._row_x(place), width_of(words, SMALL) / 2
            if free <= x - half and x + half <= WIDTH - 4:
                self.canvas.line((x, y), (x, y + 4), "note")
                self.canvas.text((x, y + 17), words, size=SMALL, anchor="middle")
                free = x + half + SMALL

    def _labels(self) -> dict[int, str]:
        """Return labels by place: where windows begin and end, or their first and last rows, counted from 1."""
        ends = {place for bar in self.sample.windows for place in (bar.left, bar.right - self.by_rows)}
        labels = {}
        for place in ends:
            if self.sample.low <= place <= self.sample.high:
                amount = place - self.sample.origin + self.sample.omitted * (place >= self.sample.gap.stop)
                words = length_to_text(amount, self.sample.unit) if amount else "0"
                labels[place] = f"{amount + 1:,}" if self.by_rows else words
        return labels

    def _notes(self) -> Iterator[str]:
        """Yield what the picture does not explain itself."""
        if self.sample.rows_per_dot > 1:
            yield f"A dot stands for {self.sample.rows_per_dot:,} rows."
        if self.holds == "mark":
            yield f"Large dots: {fit(self.column, WIDTH / 2, SMALL)} is true."
        if self.window.per_row:
            yield "A ring marks the row that gets the result."
        if any(bar.excluded for bar in self.sample.windows):
            yield "Windows leave out rows that have no dot."
        if not all(map(self._has_result, self.sample.windows)):
            yield f"Hollow windows have fewer than {self.window.min_rows} rows: their result is null."
        if self.sample.reads:
            yield "Dashed lines: a window ends inside a slice, which is read while open (′)."
        slices = "; ".join(describe_slices({"": self.window}, self.technique))
        hidden = ", too many to draw" if self.technique and not self.sample.slices else ""
        yield f"Slices: {slices}{hidden}."
