"""The combines of each slide, counted while a window moves over random numbers."""

from __future__ import annotations

import random
from statistics import mean
from typing import Any

from sash.aggregates.base import Aggregate
from sash.algorithms import Algorithm
from sash.plan.pictures.svg import MARGIN, Canvas
from tools.pictures.recorded import Count
from tools.pictures.state import RIGHT

ROWS = 48
"""The length of the window."""
SLIDES = 3 * ROWS
HEIGHT, HIGHEST_STEP = 64, 9
"""The height of the chart, and of one combine in it, at most."""


def count_slides(algorithm: type[Algorithm[Any]], aggregate: Aggregate[Any]) -> list[int]:
    """Return the calls of combine and inverse of each slide (evict, insert, query), once the window is full."""
    count = Count(aggregate)
    window = algorithm(count.aggregate, (ROWS,))
    generator = random.Random(7)  # noqa: S311 — data, no secret
    calls = []
    for number in range(2 * ROWS + SLIDES):
        if number >= ROWS:
            window.evict()
        window.insert(count.aggregate.lift(generator.randrange(1000)))
        window.query()
        calls.append(count.take())
    return calls[-SLIDES:]


def draw_costs(canvas: Canvas, calls: list[int], top: float) -> float:
    """Draw a bar for each slide; return where the chart ends."""
    most, average = max(calls), mean(calls)
    cost = f"always {most}" if most == average else f"{average:.1f} on average (orange), {most} at most"
    canvas.text((MARGIN, top + 12), f"Combines of each slide of a window of {ROWS} rows, counted: {cost}", "text")
    scale = min(HEIGHT / most, HIGHEST_STEP)
    y = top + 24 + most * scale
    step = (RIGHT - MARGIN) / len(calls)
    for number, amount in enumerate(calls):
        height = max(amount * scale, 0.5)
        canvas.box((MARGIN + number * step, y - height), (step - 1, height), "edge", radius=0)
    canvas.line((MARGIN, y), (RIGHT, y), "note")
    if most > average:
        canvas.line((MARGIN, y - average * scale), (RIGHT, y - average * scale), "rim")
    canvas.text((RIGHT, y + 16), f"{len(calls)} slides", size=11, anchor="end")
    return y + 18
