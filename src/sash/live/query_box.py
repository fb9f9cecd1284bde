"""The query box: a query as text over recent rows; its results as a chart and a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sash.live.feed import ALL_ROWS, Feed
from sash.live.messages import Column, encode
from sash.live.reduce import highest, last, lowest, pixel_starts
from sash.live.result_layout import Layout
from sash.live.texts import layout_of_query, query_of

LONGEST_TEXT = 10_000
MOST_LINES = 8
MOST_TABLE_ROWS = 50
WIDTH = 1200
"""Pixels of the chart."""


def answer(text: str, rows: pa.Table | None, number: int) -> bytes:
    """Return a message with the results of a query, or with an error that the page shows."""
    try:
        header, columns = run_text(text, rows)
    except Exception as error:  # noqa: BLE001 — the page shows any error, and goes on
        return encode("answer", {"id": number, "error": str(error) or type(error).__name__})
    return encode("answer", {"id": number, "error": "", **header}, columns)


def run_text(text: str, rows: pa.Table | None) -> tuple[dict[str, Any], list[Column]]:
    """Run a text over rows. Return a header with the table, and columns: x, low, last and high of each line.

    Raise ValueError if the text cannot run.
    """
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"The query has {len(text):,} characters, but at most {LONGEST_TEXT:,} are allowed.")
    if rows is None:
        raise ValueError("No rows have arrived yet. Try again in a few seconds.")
    query = query_of(text, rows.schema)
    results = query.run(rows)
    header: dict[str, Any] = {
        "rows": len(rows),
        "results": len(results),
        "names": results.column_names,
        "table": _texts(results),
        "note": "",
        "isTime": False,
        "lines": [],
    }
    columns: list[Column] = []
    try:
        layout = layout_of_query(query, results.schema)
    except ValueError as error:
        return {**header, "note": str(error)}, columns
    lines = _lines(results, layout)
    for name, x, values in lines[:MOST_LINES]:
        starts = pixel_starts(x, float(x[0]), float(x[-1]), WIDTH)
        header["lines"].append({"name": name, "first": len(columns)})
        columns += [last(x, starts), lowest(values, starts), last(values, starts), highest(values, starts)]
    if len(lines) > MOST_LINES:
        header["note"] = f"The chart shows {MOST_LINES} of {len(lines)} lines."
    return {**header, "isTime": layout.unit > 0}, columns


def _lines(results: pa.Table, layout: Layout) -> list[tuple[str, Any, Any]]:
    """Return the lines of results, one for each zoom, key and column of numbers."""
    feed = Feed()
    feed.describe(layout)
    feed.add(results)
    lines = []
    for (zoom, key), series in feed.series.items():
        for column, name in enumerate(layout.values if series.count else ()):
            names = [name, *([zoom] if len(feed.zooms) > 1 else []), *([key] if key != ALL_ROWS else [])]
            lines.append((" · ".join(names), layout.seconds(series.ends), series.values[:, column]))
    return lines


def _texts(results: pa.Table) -> list[list[str]]:
    """Return the last results as strings, newest first."""
    newest = results.slice(max(0, len(results) - MOST_TABLE_ROWS)).to_pylist()
    return [[_text(value) for value in row.values()] for row in reversed(newest)]


def _text(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:,.6g}" if isinstance(value, float) and np.isfinite(value) else str(value)
