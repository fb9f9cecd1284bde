"""Results as a chart: lines over time, one panel per aggregate and one line per key.

results ──► Chart: panels of lines ──► matplotlib (SVG, PNG), or dots in text
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sash.plan.declared import Declared

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


@dataclass(frozen=True)
class Curve:
    """The values of one key."""

    label: str
    xs: Numbers
    ys: Numbers


@dataclass(frozen=True)
class Chart:
    """What a chart shows."""

    x_name: str
    is_time: bool
    """Whether x is seconds since 1970."""
    panels: dict[str, list[Curve]] = field(default_factory=dict)
    left_out: int = 0
    """The number of keys that are not drawn."""


def make_chart(results: pa.Table, query: Declared, inputs: Sequence[str]) -> Chart:
    """Return a chart of results. `inputs` are the columns of the input. Raise ValueError if there is nothing to draw."""
    names = results.column_names
    x_name = next((name for name in ("window_end", "window_start", query.time) if name in names), None)
    keys = [name for name in (*map(str, query.by), "window") if name in names]
    drawn = [
        one.name
        for one in results.schema
        if one.name not in {x_name, "window_start", "window_end", *keys} and _is_number(one.type)
    ]
    made = [name for name in drawn if name not in inputs]
    drawn = (made if made and set(inputs) <= set(names) else drawn)[:MOST_PANELS]
    if not drawn or not len(results):
        what = "has no rows" if drawn else "has no column of numbers"
        message = f"There is nothing to draw: the result {what}."
        raise ValueError(message)
    xs = _numbers(results[x_name]) if x_name is not None else np.arange(len(results), dtype=np.float64)
    lines = list(_by_key(results, keys))
    panels = {name: [_line(label, rows, xs, results[name]) for label, rows in lines[:MOST_LINES]] for name in drawn}
    is_time = x_name is not None and pa.types.is_temporal(results[x_name].type)
    return Chart(x_name or "row", is_time, panels, max(len(lines) - MOST_LINES, 0))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _numbers(column: pa.ChunkedArray) -> Numbers:
    """Return a column as floats, times as seconds."""
    if pa.types.is_temporal(column.type):
        column = pc.divide(column.cast(pa.timestamp("us"), safe=False).cast(pa.int64()).cast(pa.float64()), 1e6)
    numbers: Numbers = column.cast(pa.float64()).to_numpy()
    return numbers


def _by_key(results: pa.Table, keys: Sequence[str]) -> Iterator[tuple[str, npt.NDArray[np.int64]]]:
    """Yield the name and the rows of each key, in order of first rows."""
    if not keys:
        yield "", np.arange(len(results))
        return
    labels = [" ".join(map(str, row.values())) for row in results.select(list(keys)).to_pylist()]
    rows: dict[str, list[int]] = {}
    for number, label in enumerate(labels):
        rows.setdefault(label, []).append(number)
    for label, own in rows.items():
        yield f"{keys[0]} {label}" if len(keys) == 1 else label, np.array(own)


def _line(label: str, rows: npt.NDArray[np.int64], xs: Numbers, column: pa.ChunkedArray) -> Curve:
    ys = _numbers(column)[rows]
    order = np.argsort(xs[rows], kind="stable")
    return Curve(label, *reduce_points(xs[rows][order], ys[order], BINS))


def reduce_points(xs: Numbers, ys: Numbers, bins: int) -> tuple[Numbers, Numbers]:
    """Return the lowest and the highest point of each section of a line, if it has many points.

    >>> xs, ys = reduce_points(np.arange(1000.0), np.arange(1000.0) % 10, 5)
    >>> len(xs), float(ys.min()), float(ys.max())
    (10, 0.0, 9.0)
    """
    if len(xs) <= 2 * bins:
        return xs, ys
    chosen: list[int] = []
    for part in np.array_split(np.arange(len(xs)), bins):
        own = ys[part]
        if np.isnan(own).all():
            chosen.append(int(part[0]))
            continue
        chosen += sorted({int(part[np.nanargmin(own)]), int(part[np.nanargmax(own)])})
    places = np.array(chosen)
    return xs[places], ys[places]


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
    for axes, (name, lines) in zip(all_axes[:, 0], chart.panels.items(), strict=True):
        for line, colour in zip(lines, COLOURS, strict=False):
            xs: Any = (line.xs * 1e6).astype("datetime64[us]") if chart.is_time else line.xs
            marker = "." if len(xs) == 1 else None
            axes.plot(xs, line.ys, color=colour, linewidth=1.3, label=line.label, marker=marker)
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


def chart_lines(chart: Chart, width: int, height: int) -> Iterator[Any]:
    """Yield a chart as lines of text for rich, of dots in braille letters."""
    from rich.text import Text  # noqa: PLC0415 — only a terminal needs it

    for name, lines in chart.panels.items():
        yield Text(name, "bold")
        yield from _panel(lines, width, height, chart)
    named = [line.label for line in next(iter(chart.panels.values())) if line.label]
    if named:
        legend = Text()
        for label, colour in zip(named, TERMINAL_COLOURS, strict=False):
            legend.append("● ", colour).append(f"{label}  ")
        yield legend


def _panel(lines: Sequence[Curve], width: int, height: int, chart: Chart) -> Iterator[Any]:
    from rich.text import Text  # noqa: PLC0415 — as above

    xs, ys = (np.concatenate([getattr(line, axis) for line in lines]) for axis in ("xs", "ys"))
    known = np.isfinite(ys)
    if not known.any():
        yield Text("  no values")
        return
    low, high = float(ys[known].min()), float(ys[known].max())
    first, last = float(xs.min()), float(xs.max())
    labels = [f"{high:.6g}", f"{low:.6g}"]
    room = max(map(len, labels)) + 1
    columns = max(width - room - 1, 10)
    cells = np.zeros((height, columns), np.uint8)
    owners = np.full((height, columns), -1)
    for number, line in enumerate(lines):
        for x, y in _dots(line, first, last, low, high, 2 * columns, 4 * height):
            cells[y // 4, x // 2] |= DOTS[y % 4][x % 2]
            owners[y // 4, x // 2] = number
    for row in range(height):
        label = labels[0] if row == 0 else labels[1] if row == height - 1 else ""
        text = Text(f"{label:>{room}}│" if label else " " * room + "│", "dim")
        for cell, owner in zip(cells[row], owners[row], strict=True):
            text.append(chr(BRAILLE + int(cell)) if cell else " ", TERMINAL_COLOURS[owner % len(TERMINAL_COLOURS)])
        yield text
    left, right = (_x_label(value, is_time=chart.is_time) for value in (first, last))
    yield Text(" " * room + "└" + left + right.rjust(columns - len(left)), "dim")


def _dots(
    line: Curve, first: float, last: float, low: float, high: float, width: int, height: int
) -> Iterator[tuple[int, int]]:
    """Yield the dots of a line, with those between two points."""
    across = (line.xs - first) / ((last - first) or 1) * (width - 1)
    down = (high - line.ys) / ((high - low) or 1) * (height - 1)
    known = np.isfinite(down)
    for place in range(len(across)):
        if not known[place]:
            continue
        is_joined = place + 1 < len(across) and known[place + 1]
        x, y = across[place], down[place]
        to_x, to_y = (across[place + 1], down[place + 1]) if is_joined else (x, y)
        steps = int(max(abs(to_x - x), abs(to_y - y))) + 1
        for share in np.linspace(0, 1, steps, endpoint=False):
            yield round(x + (to_x - x) * share), round(y + (to_y - y) * share)
        if place + 1 == len(across):
            yield round(x), round(y)


def _x_label(value: float, *, is_time: bool) -> str:
    if not is_time:
        return f"{value:.6g}"
    return str(np.datetime64(int(value), "s")).replace("T", " ")


def form_of_picture(target: str) -> str:
    """Return "svg" or "png", by the ending of a file. Raise ValueError for others.

    >>> form_of_picture("a/peaks.SVG")
    'svg'
    """
    ending = Path(target).suffix.lower().removeprefix(".")
    if ending not in ("svg", "png"):
        message = f"{target!r} does not end in .svg or .png."
        raise ValueError(message)
    return ending
