"""Pictures, as SVG, of windows; `plan/explanation.py` draws plans.

sample.py     the rows, windows and slices of a picture        svg.py        shapes and colours as text
timeline.py   rows, slices and windows along an axis
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sash.plan.pictures.svg import Picture
    from sash.windows import Window


def draw_window(window: Window, rows: Sequence[Mapping[str, Any]] | None, time: str, slicing: str) -> Picture | None:
    """Return a picture of rows, slices and windows; None if there are no sample rows for the window."""
    from sash.plan.pictures.timeline import draw_timeline  # noqa: PLC0415 — few processes draw, and it takes 10 ms to import

    return draw_timeline(window, rows, time, slicing)
