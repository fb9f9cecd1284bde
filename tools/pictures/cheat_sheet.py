"""The cheat sheet as one picture: the tables of docs/cheat-sheet.md in three columns."""

from __future__ import annotations

import re
from pathlib import Path

from sash.plan.pictures.svg import MARGIN, Canvas, Picture, width_of

PAGE = Path(__file__).parents[2] / "docs" / "cheat-sheet.md"
COLUMNS = ((0, 1), (2,), (3, 4))
"""The sections of the page in each column of the picture."""
COLUMN_WIDTH = 470
ROW_HEIGHT = 17
HEADING_HEIGHT = 30
SIZE = 10.5
CODE_LETTER = 0.62
"""The width of a letter of code, relative to the font size."""

Section = tuple[str, list[tuple[str, str]]]


def read_sections(text: str) -> list[Section]:
    r"""Return the headings of a page, each with the rows of its table: code and meaning.

    >>> read_sections("## Run\n\n| call | result |\n|---|---|\n| `a()` | an `a` |")
    [('Run', [('a()', 'an a')])]
    """
    sections = []
    for section in f"\n{text}".split("\n## ")[1:]:
        rows = re.findall(r"^\| `(.*?)` \| (.*?) \|$", section, re.MULTILINE)
        sections.append((section.partition("\n")[0], [(code, meaning.replace("`", "")) for code, meaning in rows]))
    return sections


def draw_cheat_sheet() -> Picture:
    """Return the picture."""
    sections = read_sections(PAGE.read_text("utf-8"))
    canvas = Canvas(len(COLUMNS) * COLUMN_WIDTH + MARGIN, "Sash: cheat sheet")
    bottom = 0.0
    for number, places in enumerate(COLUMNS):
        left, top = MARGIN + number * COLUMN_WIDTH, 40.0
        for place in places:
            top = _draw_section(canvas, sections[place], left, top)
        bottom = max(bottom, top)
    return canvas.picture(bottom + MARGIN)


def _draw_section(canvas: Canvas, section: Section, left: float, top: float) -> float:
    """Draw a heading and its rows. Return where the next section begins."""
    heading, rows = section
    canvas.text((left, top + 20), heading, "rim", 13, weight="bold")
    top += HEADING_HEIGHT
    for code, meaning in rows:
        canvas.line((left, top + ROW_HEIGHT - 3), (left + COLUMN_WIDTH - MARGIN, top + ROW_HEIGHT - 3), "frame")
        canvas.code((left, top + 10), code, size=SIZE)
        if len(code) * SIZE * CODE_LETTER + 10 + width_of(meaning, SIZE) > COLUMN_WIDTH - MARGIN:
            raise ValueError(f"{heading}: the row of {code} is too wide for its column of the cheat sheet.")
        canvas.text((left + COLUMN_WIDTH - MARGIN, top + 10), meaning, "note", SIZE, anchor="end")
        top += ROW_HEIGHT
    return top
