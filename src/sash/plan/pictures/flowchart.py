"""A plan as a picture: columns of boxes from left to right, with lines from each box to those that it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap

from sash.plan.pictures.svg import BOLD, LETTER, MARGIN, Canvas, Picture, Point

WIDTHS = (190, 200, 400)
"""The widths of the columns."""
BETWEEN = 44
"""The distance between two columns."""
TOP = 66
SIZE, LINE = 12, 16
PAD, APART = 11, 14
"""The space around the text of a box, and between two boxes."""


@dataclass(frozen=True, eq=False)
class TextBox:
    """A bold title, and lines below it."""

    title: str
    lines: Sequence[str]
    fill: str = "paper"
    stroke: str = "note"
    reads: Sequence[TextBox] = ()
    """The boxes of earlier columns that a line connects it with."""


def draw_flowchart(title: str, columns: Mapping[str, Sequence[TextBox]]) -> Picture:
    """Return the picture of three columns, by their headings."""
    canvas = Canvas(2 * MARGIN + sum(WIDTHS) + BETWEEN * (len(WIDTHS) - 1), title)
    texts = [[_wrapped(box, width) for box in boxes] for boxes, width in zip(columns.values(), WIDTHS, strict=True)]
    heights = [sum(map(_height, column)) + APART * (len(column) - 1) for column in texts]
    outlets: dict[TextBox, Point] = {}
    left = float(MARGIN)
    for (heading, boxes), column, height, width in zip(columns.items(), texts, heights, WIDTHS, strict=True):
        canvas.text((left + width / 2, 52), heading, anchor="middle")
        top = TOP + (max(heights) - height) / 2
        for box, lines in zip(boxes, column, strict=True):
            middle = top + _height(lines) / 2
            for other in box.reads:
                canvas.curve(outlets[other], (left, middle), "note")
            canvas.box((left, top), (width, _height(lines)), box.fill, box.stroke, 6)
            for number, (line, weight) in enumerate(lines):
                canvas.text((left + PAD, top + PAD + SIZE - 3 + LINE * number), line, "text", SIZE, weight=weight)
            outlets[box] = (left + width, middle)
            top += _height(lines) + APART
        left += width + BETWEEN
    return canvas.picture(TOP + max(heights) + MARGIN)


def _wrapped(box: TextBox, width: float) -> list[tuple[str, str]]:
    """Return the lines of a box with their weights."""
    letters = (width - 2 * PAD) / (SIZE * LETTER)
    title = [(line, "bold") for line in wrap(box.title, int(letters / BOLD))]
    return title + [(part, "") for line in box.lines for part in wrap(line, int(letters))]


def _height(lines: Sequence[object]) -> float:
    return LINE * len(lines) + 2 * PAD - 4
