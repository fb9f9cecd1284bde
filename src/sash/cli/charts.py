"""Results as a chart: lines over time, one panel per aggregate and one line per key.

results ──► Chart: panels of lines ──► matplotlib (SVG, PNG), or dots in text
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from rich.text import Text

from sash.cli.display import is_number
from sash.plan.query_spec import QuerySpec

Numbers = npt.NDArray[np.float64]

MOST_LINES, MOST_PANELS = 8, 6
BINS = 500
"""A line of more points than twice this is reduced to the lowest and highest point of as many sections."""
TITLE_LETTERS = 105
COLOURS = ("#1a65a8", "#b45f06", "#2f7d32", "#7b3fa0", "#b3261e", "#00796b", "#8a6d00", "#5f6368")
TERMINAL_COLOURS = ("bright_blue", "yellow", "green", "magenta", "red", "cyan", "bright_yellow", "white")
BRAILLE = 0x2800
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The bits of the eight dots of a braille letter, by row and column."""


class Curve(NamedTuple):
    """The values of one key."""

    label: str
    xs: Numbers
    ys: Numbers


class Chart(NamedTuple):
    """What a chart shows."""

    x_name: str
    is_time: bool
    """Whether x is seconds since 1970."""
    panels: dict[str, list[Curve]]
    left_out: int
    """The number of keys that are not drawn."""


def make_chart(results: pa.Table, query: QuerySpec, inputs: Sequence[str]) -> Chart:
    """Return a chart of results. `inputs` are the columns of the input. Raise ValueError if there is nothing to draw."""
    names = results.column_names
    x_name = next((name for name in ("window_end", "window_start", query.time) if name in names), None)
    keys = [name for name in (*map(str, query.by), "window") if name in names]
    others = {x_name, "window_start", "window_end", *keys}
    drawn = [field.name for field in results.schema if field.name not in others and is_number(field.type)]
    added = [name for name in drawn if name not in inputs]
    drawn = (added if added and set(inputs) <= set(names) else drawn)[:MOST_PANELS]
    if not drawn or not len(results):
        problem = "has no rows" if drawn else "has no column of numbers"
        raise ValueError(f"There is nothing to draw: the result {problem}.")
    xs = _numbers(results[x_name]) if x_name is not None else np.arange(len(results), dtype=np.float64)
    by_key = _rows_by_key(results, keys)
    first_keys = list(by_key.items())[:MOST_LINES]
    panels = {name: [_curve(label, rows, xs, results[name]) for label, rows in first_keys] for name in drawn}
    is_time = x_name is not None and pa.types.is_temporal(results[x_name].type)
    return Chart(x_name or "row", is_time, panels, max(len(by_key) - MOST_LINES, 0))


def _numbers(column: pa.ChunkedArray) -> Numbers:
    """Return a column as floats, times as seconds."""
    if pa.types.is_temporal(column.type):
        column = pc.divide(column.cast(pa.timestamp("us"), safe=False).cast(pa.int64()).cast(pa.float64()), 1e6)
    numbers: Numbers = column.cast(pa.float64()).to_numpy()
    return numbers


def _rows_by_key(results: pa.Table, keys: Sequence[str]) -> dict[str, list[int]]:
    """Return the rows of each key, in order of first rows."""
    if not keys:
        return {"": list(range(len(results)))}
    rows: dict[str, list[int]] = {}
    for number, row in enumerate(results.select(list(keys)).to_pylist()):
        label = " ".join(map(str, row.values()))
        rows.setdefault(f"{keys[0]} {label}" if len(keys) == 1 else label, []).append(number)
    return rows


def _curve(label: str, rows: Sequence[int], xs: Numbers, column: pa.ChunkedArray) -> Curve:
    ordered = np.asarray(rows)[np.argsort(xs[rows], kind="stable")]
    return Curve(label, *reduce_points(xs[ordered], _numbers(column)[ordered], BINS))


def reduce_points(xs: Numbers, ys: Numbers, bins: int) -> tuple[Numbers, Numbers]:
    """Return the lowest and the highest point of each section of a line, if it has many points.

    >>> xs, ys = reduce_points(np.arange(1000.0), np.arange(1000.0) % 10, 5)
    >>> len(xs), float(ys.min()), float(ys.max())
    (10, 0.0, 9.0)
    """
    if len(xs) <= 2 * bins:
        return xs, ys
    chosen: list[int] = []
    for section in np.array_split(np.arange(len(xs)), bins):
        values = ys[section]
        has_values = not np.isnan(values).all()
        chosen += sorted({section[np.nanargmin(values)], section[np.nanargmax(values)]}) if has_values else [section[0]]
    return xs[chosen], ys[chosen]


# -- SVG and PNG -------------------------------------------------------------------------------------------------------


def save_chart(chart: Chart, title: str, file: Any, form: str) -> None:
    """Draw a chart with matplotlib, as "svg" or "png"."""
    import matplotlib as mpl  # noqa: PLC0415 — it takes long to import

    mpl.use("agg")
    from matplotlib import dates  # noqa: PLC0415 — as above
    from matplotlib import pyplot as plt  # noqa: PLC0415 — as above

    mpl.rcParams.update({"svg.hashsalt": "sash", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 10})
    panels = len(chart.panels)
    figure, all_axes = plt.subplots(
        panels, 1, figsize=(8.6, 0.9 + 1.75 * panels), sharex=True, squeeze=False, layout="constrained"
    )
    for axes, (name, curves) in zip(all_axes[:, 0], chart.panels.items(), strict=True):
        for curve, colour in zip(curves, COLOURS, strict=False):
            xs: Any = (curve.xs * 1e6).astype("datetime64[us]") if chart.is_time else curve.xs
            marker = "." if len(xs) == 1 else None
            axes.plot(xs, curve.ys, color=colour, linewidth=1.3, label=curve.label, marker=marker)
        axes.set_title(name, loc="left", fontsize=10, color="#59636e")
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color("#d0d7de")
        axes.tick_params(colors="#59636e", length=0)
        axes.grid(visible=True, axis="y", color="#eaeef2", linewidth=0.8)
        axes.margins(x=0.01)
    bottom = all_axes[-1, 0]
    if chart.is_time:
        locator: Any = dates.AutoDateLocator()  # type: ignore[no-untyped-call]
        bottom.xaxis.set_major_locator(locator)
        bottom.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    bottom.set_xlabel(chart.x_name, color="#59636e")
    words = "\n".join(wrap(title.replace("$", r"\$"), TITLE_LETTERS))
    figure.suptitle(words, x=0.01, ha="left", fontsize=9, fontweight="bold", color="#1f2328", family="monospace")
    handles, labels = bottom.get_legend_handles_labels()
    if any(labels):
        columns = min(len(labels), 4)
        figure.legend(handles, labels, loc="outside lower right", ncols=columns, frameon=False, labelcolor="#1f2328")
    figure.savefig(file, format=form, metadata={"Date": None} if form == "svg" else None, dpi=160, bbox_inches="tight")
    plt.close(figure)


# -- text --------------------------------------------------------------------------------------------------------------


def chart_lines(chart: Chart, width: int, height: int) -> Iterator[Text]:
    """Yield a chart as lines of text for rich, of dots in braille letters."""
    for name, curves in chart.panels.items():
        yield Text(name, "bold")
        yield from _panel(curves, width, height, is_time=chart.is_time)
    labels = [curve.label for curve in next(iter(chart.panels.values())) if curve.label]
    if labels:
        legend = Text()
        for label, colour in zip(labels, TERMINAL_COLOURS, strict=False):
            legend.append("● ", colour).append(f"{label}  ")
        yield legend


def _panel(curves: Sequence[Curve], width: int, height: int, *, is_time: bool) -> Iterator[Text]:
    xs, ys = (np.concatenate([getattr(curve, axis) for curve in curves]) for axis in ("xs", "ys"))
    known = np.isfinite(ys)
    if not known.any():
        yield Text("  no values")
        return
    low, high = float(ys[known].min()), float(ys[known].max())
    first, last = float(xs.min()), float(xs.max())
    labels = {0: f"{high:.6g}", height - 1: f"{low:.6g}"}
    room = max(map(len, labels.values())) + 1
    columns = max(width - room - 1, 10)
    cells = np.zeros((height, columns), np.uint8)
    colours = np.full((height, columns), TERMINAL_COLOURS[-1], object)
    for curve, colour in zip(curves, TERMINAL_COLOURS, strict=False):
        across = (curve.xs - first) / ((last - first) or 1) * (2 * columns - 1)
        down = (high - curve.ys) / ((high - low) or 1) * (4 * height - 1)
        for x, y in _dots(across, down):
            cells[y // 4, x // 2] |= DOTS[y % 4][x % 2]
            colours[y // 4, x // 2] = colour
    for row in range(height):
        text = Text(f"{labels.get(row, ''):>{room}}│", "dim")
        for cell, colour in zip(cells[row].tolist(), colours[row].tolist(), strict=True):
            text.append(chr(BRAILLE + cell) if cell else " ", colour)
        yield text
    left, right = (f"{x:.6g}" for x in (first, last))
    if is_time:
        left, right = (str(np.datetime64(int(x), "s")).replace("T", " ") for x in (first, last))
    yield Text(" " * room + "└" + left + right.rjust(columns - len(left)), "dim")


def _dots(across: Numbers, down: Numbers) -> Iterator[tuple[int, int]]:
    """Yield the dots of a curve, with those between neighbouring points."""
    known = np.append(np.isfinite(down), False)
    for point in np.flatnonzero(known):
        to = point + 1 if known[point + 1] else point
        steps = int(max(abs(across[to] - across[point]), abs(down[to] - down[point]))) + 1
        lines = (np.linspace(axis[point], axis[to], steps, endpoint=False).round() for axis in (across, down))
        yield from zip(*(line.astype(int).tolist() for line in lines), strict=True)


def format_of_picture(target: str) -> str:
    """Return "svg" or "png", by the ending of a file. Raise ValueError for others.

    >>> format_of_picture("a/peaks.SVG")
    'svg'
    """
    ending = Path(target).suffix.lower().removeprefix(".")
    if ending not in ("svg", "png"):
        raise ValueError(f"{target!r} does not end in .svg or .png.")
    return ending
