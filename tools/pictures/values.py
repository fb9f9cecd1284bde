"""Algorithms whose state depends on the values of rows."""

from __future__ import annotations

from typing import Any

from sash import agg
from sash.algorithms.occurrence_table import FREE, OccurrenceTable
from sash.algorithms.slickdeque import SlickDequeSelective
from sash.algorithms.sorted_block import SortedBlock
from sash.plan.pictures.svg import MARGIN, Canvas
from tools.pictures.state import LEFT, RIGHT

TALL = 78


def draw_cells(canvas: Canvas, words: str, cells: list[tuple[str, str]], y: float) -> float:
    """Draw a row of cells, each with a label and a fill; return their width."""
    cell = (RIGHT - LEFT) / len(cells)
    canvas.text((MARGIN, y + 15), words)
    for number, (label, fill) in enumerate(cells):
        stroke = {"window": "rim", "slice": "edge"}.get(fill, "frame")
        canvas.box((LEFT + number * cell + 1, y), (cell - 2, 21), fill, stroke)
        canvas.text((LEFT + (number + 0.5) * cell, y + 15), label, "text", 12 if cell > 24 else 10, "middle")  # noqa: PLR2004
    return cell


def draw_deque(canvas: Canvas, values: tuple[int, ...], asked: tuple[int, ...], top: float) -> float:
    """Draw the values of rows as heights, those in the deque of SlickDeque filled."""
    window: SlickDequeSelective[int] = SlickDequeSelective(agg.max())
    for value in values:
        window.insert(value)
    window._check()  # noqa: SLF001
    nodes = {window.births[k]: window.nodes[k] for k in range(window.head, window.tail)}
    cell = (RIGHT - LEFT) / len(values)
    y = top + 8 + TALL
    canvas.text((MARGIN, y - 4), "rows")
    for row, value in enumerate(values):
        height = TALL * value / max(values)
        inside = row in nodes
        x = LEFT + row * cell
        canvas.box(
            (x + 8, y - height), (cell - 16, height), "window" if inside else "paper", "rim" if inside else "frame"
        )
        canvas.text((x + cell / 2, y - height - 5), str(value), "text" if inside else "note", 12, "middle")
    canvas.line((LEFT, y), (RIGHT, y), "note")
    y += 12
    canvas.text((MARGIN, y + 13), "ranges")
    for last in asked:
        answer = window.query_last(last)
        left = RIGHT - last * cell
        canvas.box((left + 2, y), (last * cell - 4, 18), "slice", "edge")
        canvas.text(((left + RIGHT) / 2, y + 13), f"query_last({last}) = {answer}", "text", 12, "middle")
        y += 23
    canvas.text(
        (MARGIN, y + 14),
        "Orange: the rows in the deque. No newer row is larger or equal. A range answers with its first one.",
    )
    return y + 14


def draw_table(canvas: Canvas, values: tuple[int, ...], evicted: int, top: float) -> float:
    """Draw the queue of an occurrence table, and the table with lines from the newest row of each value to its place."""
    kinds = agg.count_distinct()
    window: OccurrenceTable[Any] = OccurrenceTable(kinds)
    for value in values:
        window.insert(kinds.lift(value))
    for _ in range(evicted):
        window.evict()
    window._check()  # noqa: SLF001
    rows = range(window.begin, window.end)
    newest = {row for row in rows if not window.repeated[row]}
    wide = draw_cells(
        canvas, "values", [(str(window.values[row]), "window" if row in newest else "paper") for row in rows], top
    )
    for number, row in enumerate(rows):
        canvas.text((LEFT + (number + 0.5) * wide, top - 5), f"row {row}", "note", 11, "middle")
    table = [
        ("" if position == FREE else str(position), "paper" if position == FREE else "slice")
        for position in window.table
    ]
    below = top + 76
    for place, position in enumerate(window.table):
        if position != FREE:
            number = position - window.begin
            cell = (RIGHT - LEFT) / len(table)
            canvas.line((LEFT + (number + 0.5) * wide, top + 21), (LEFT + (place + 0.5) * cell, below), "edge")
    draw_cells(canvas, "table", table, below)
    note = f"Orange: the newest row of its value. There are {window.distinct} of them, so count_distinct = {window.distinct}."
    canvas.text((MARGIN, below + 42), note, "text")
    canvas.text(
        (MARGIN, below + 60), "The table holds the number of that row, at a place that the hash of its value gives."
    )
    return below + 60


def draw_sorted_block(canvas: Canvas, values: tuple[int, ...], inserted: int, evicted: int, top: float) -> float:
    """Draw a block of rows, the rank of each, and the ranks that are in the window."""
    median = agg.median()
    window: SortedBlock[Any] = SortedBlock(median, values=values)
    for value in values[:inserted]:
        window.insert(median.lift(value))
    for _ in range(evicted):
        window.evict()
    window._check()  # noqa: SLF001
    inside = {window.ranks[row] for row in range(window.begin, window.end)}
    middle = (len(inside) - 1) // 2
    chosen = sorted(inside)[middle]
    draw_cells(
        canvas,
        "values",
        [
            (str(value), "slice" if window.begin <= row < window.end else "paper")
            for row, value in enumerate(window.values)
        ],
        top,
    )
    draw_cells(canvas, "their ranks", [(str(rank), "paper") for rank in window.ranks], top + 26)
    fills = ["window" if rank == chosen else "slice" if rank in inside else "paper" for rank in range(len(values))]
    draw_cells(
        canvas,
        "sorted",
        [(str(window.values[row]), fill) for row, fill in zip(window.order, fills, strict=True)],
        top + 66,
    )
    draw_cells(canvas, "bits", [(str(int(rank in inside)), fill) for rank, fill in enumerate(fills)], top + 92)
    first, last = window.begin, window.end - 1
    note = f"Rows {first} to {last} are in the window. The set bit number {middle}, counted from 0, is the value of rank {middle}: {window.select(middle)}."
    canvas.text((MARGIN, top + 134), note, "text")
    return top + 134
