"""A plan as a picture: windows on the left, slices in the middle, aggregates and how they are computed on the right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap

from sash.plan.pictures.svg import BOLD, LETTER, Canvas, Picture, fit

MARGIN, GAP = 18, 44
COLUMNS = (("windows", 190), ("slices", 200), ("aggregates", 400))
"""What is drawn side by side, and how wide."""
SIZE, LINE = 12, 16
PAD, APART = 11, 14
"""Around the words of a box, and between two boxes."""


@dataclass(frozen=True)
class Box:
    """A title and what is said below it."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class _Placed:
    """A box and where it is, its words wrapped."""

    left: float
    top: float
    width: float
    titles: tuple[str, ...]
    words: tuple[str, ...]

    @property
    def height(self) -> float:
        return LINE * (len(self.titles) + len(self.words)) + 2 * PAD - 4

    @property
    def middle(self) -> float:
        return self.top + self.height / 2


def draw_flow(
    title: str, windows: Sequence[Box], middle: Mapping[bool, Box], passes: Sequence[tuple[Box, bool]]
) -> Picture:
    """Return the picture; `middle` has slices (True) and rows (False), and passes say which of them they go over."""
    lefts = [MARGIN + sum(width + GAP for _, width in COLUMNS[:number]) for number in range(len(COLUMNS))]
    stacks = [list(windows), list(middle.values()), [box for box, _ in passes]]
    heights = [_stacked(stack, width)[1] for stack, (_, width) in zip(stacks, COLUMNS, strict=True)]
    tallest = max(heights)
    placed = []
    for number, stack in enumerate(stacks):
        top = 66 + (tallest - heights[number]) / 2
        placed.append(_stacked(stack, COLUMNS[number][1], lefts[number], top)[0])
    canvas = Canvas(lefts[-1] + COLUMNS[-1][1] + MARGIN)
    canvas.text((MARGIN, 27), fit(title, canvas.width - 2 * MARGIN, 14 * BOLD), size=14, weight="bold")
    for (name, width), left in zip(COLUMNS, lefts, strict=True):
        words = " and ".join(box.title for box in middle.values()) if name == "slices" else name
        canvas.text((left + width / 2, 52), words, "note", anchor="middle")
    by_kind = dict(zip(middle, placed[1], strict=True))
    for window in placed[0]:
        for box in placed[1]:
            _link(canvas, window, box)
    for box, (_, over_slices) in zip(placed[2], passes, strict=True):
        _link(canvas, by_kind[over_slices], box)
    for box in placed[0]:
        _draw(canvas, box, "window", "rim")
    for over_slices, box in by_kind.items():
        _draw(canvas, box, "slice" if over_slices else "paper", "edge" if over_slices else "note")
    for box in placed[2]:
        _draw(canvas, box, "paper", "note")
    return canvas.picture(66 + tallest + MARGIN, title)


def _stacked(boxes: Sequence[Box], width: float, left: float = 0, top: float = 0) -> tuple[list[_Placed], float]:
    """Return boxes one below the other, and how high all of them are."""
    placed: list[_Placed] = []
    y = top
    for box in boxes:
        titles = tuple(_wrapped(box.title, width, SIZE * BOLD))
        words = tuple(part for line in box.lines for part in _wrapped(line, width))
        placed.append(_Placed(left, y, width, titles, words))
        y += placed[-1].height + APART
    return placed, y - top - APART


def _wrapped(words: str, width: float, size: float = SIZE) -> list[str]:
    return wrap(words, int((width - 2 * PAD) / (size * LETTER))) or [""]


def _draw(canvas: Canvas, box: _Placed, fill: str, stroke: str) -> None:
    canvas.box((box.left, box.top), (box.width, box.height), fill, stroke, 6)
    y = box.top + PAD + SIZE - 3
    for number, line in enumerate((*box.titles, *box.words)):
        weight = "bold" if number < len(box.titles) else "normal"
        canvas.text((box.left + PAD, y), line, "text", SIZE, weight=weight)
        y += LINE


def _link(canvas: Canvas, one: _Placed, other: _Placed) -> None:
    start, end = one.left + one.width, other.left
    half = (start + end) / 2
    canvas.curve(
        f"M {start:g} {one.middle:g} C {half:g} {one.middle:g} {half:g} {other.middle:g} {end:g} {other.middle:g}",
        "note",
    )
