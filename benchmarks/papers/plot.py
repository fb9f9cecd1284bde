"""Draw the papers' figures from the CSV and nothing else, one SVG for each in docs/images/papers."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from benchmarks.case import say
from benchmarks.papers.analysis import Lines
from benchmarks.papers.cases import CASES, PERCENTILES
from benchmarks.papers.data import GENERATED
from benchmarks.papers.figures import PICTURES, QUERIES, Panel, Picture
from benchmarks.plots.style import FACTS, LABEL_HEIGHT, entitle, new_figure, save, set_ticks, spread, style_axes
from benchmarks.results import PAPERS, ROOT, Reading, read

FOLDER = ROOT / "docs" / "images" / "papers"
COLOURS = ("#c2185b", "#3d7ea6", "#8a7a4f", "#4f8f6b", "#7b6ba8", "#d0742f", "#5f6b76", "#2aa198", "#a0522d")
HEIGHT = 3.6
MOST_TICKS = 6


def draw_panel(
    axes: Axes, panel: Panel, readings: Sequence[Reading], colours: Mapping[str, str], *, names: bool = True
) -> None:
    """Draw one pair of axes, each line with its name at the right."""
    lines, dashed = (drawable(found(readings), panel) for found in (panel.lines, panel.dashed))
    style_axes(axes, panel.title)
    axes.set_xlabel(panel.x, fontsize=9.5, color=FACTS)
    axes.set_ylabel(panel.y, fontsize=9.5, color=FACTS)
    if not any(lines.values()):
        axes.text(0.5, 0.5, "not measured", transform=axes.transAxes, ha="center", color=FACTS)
        return
    _scale(axes, panel, {**lines, **dashed})
    ends = []
    for name, line in lines.items():
        colour = colours[name]
        axes.plot(
            list(line), list(line.values()), color=colour, linewidth=1.8, marker="o", markersize=3.2, clip_on=False
        )
        ends.append((list(line.values())[-1], name, colour))
    for name, line in dashed.items():
        axes.plot(list(line), list(line.values()), color=FACTS, linewidth=1.2, linestyle="--")
        ends.append((list(line.values())[-1], name, FACTS))
    for name, level in panel.levels.items():
        axes.axhline(level, color=FACTS, linewidth=1.2, linestyle=":")
        ends.append((level, name, FACTS))
    heights = above_ticks(spread([_height(axes, value) for value, _, _ in ends], LABEL_HEIGHT))
    for height, (_, name, colour) in zip(heights, ends, strict=True) if names else ():
        axes.text(1.02, height, name, transform=axes.transAxes, color=colour, va="center", fontsize=8.5)


def drawable(lines: Lines, panel: Panel) -> Lines:
    """Return the lines without the points that have no place on a logarithmic axis, such as no combines for a window of one row."""
    shown = {
        name: {size: value for size, value in line.items() if value > 0 or not panel.logarithmic}
        for name, line in lines.items()
    }
    return {name: line for name, line in shown.items() if line}


def above_ticks(heights: Sequence[float]) -> list[float]:
    """Move labels up that would stand beside the numbers below the axis.

    >>> above_ticks([-0.1, 0.5])
    [0.02, 0.5]
    """
    moved = list(heights)
    for number, index in enumerate(sorted(range(len(heights)), key=lambda each: heights[each])):
        moved[index] = max(heights[index], 0.02 + number * LABEL_HEIGHT)
    return moved


def _scale(axes: Axes, panel: Panel, lines: Lines) -> None:
    sizes = sorted({size for line in lines.values() for size in line})
    values = [value for line in lines.values() for value in line.values()] + list(panel.levels.values())
    positive = [value for value in values if value > 0]
    if panel.x == "percentile":
        axes.set_xlim(0.8, len(PERCENTILES) + 0.2)
        set_ticks(axes.xaxis, range(1, len(PERCENTILES) + 1), lambda x: f"{PERCENTILES[round(x) - 1]:g} %")
    else:
        axes.set(xscale="log", xlim=(sizes[0] / 1.3, sizes[-1] * 1.3))
        step = max(1, math.ceil(len(sizes) / MOST_TICKS))
        set_ticks(axes.xaxis, sizes if panel.x == QUERIES else sizes[::step], lambda x: say(round(x)))
    if panel.logarithmic and positive:
        axes.set(yscale="log", ylim=(min(positive) / 1.4, max(positive) * 1.4))
        if max(positive) / min(positive) < 30:  # noqa: PLR2004 — powers of ten alone would leave one tick or none
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    else:
        axes.set(yscale="linear", ylim=(0, max(values) * 1.1))
        axes.yaxis.set_major_locator(MaxNLocator(MOST_TICKS))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,.0f}" if y >= 1000 else f"{y:g}"))  # noqa: PLR2004
    axes.yaxis.set_minor_locator(NullLocator())


def _height(axes: Axes, value: float) -> float:
    low, high = axes.get_ylim()
    if axes.get_yscale() == "log":
        return (math.log10(max(value, low)) - math.log10(low)) / (math.log10(high) - math.log10(low))
    return (value - low) / (high - low)


def readings_of(picture: Picture, readings: Sequence[Reading]) -> list[Reading]:
    """Return the readings that a picture is made from: each of its panels names a figure and a part of it."""
    parts = {one.name.rpartition(", ")[0] for one in CASES}
    shown = []
    for part in parts:
        own = [one for one in readings if one.case.rpartition(", ")[0] == part]
        if own and any(panel.lines(own) for panel in picture.panels):
            shown += own
    return shown


def draw(picture: Picture, readings: Sequence[Reading], folder: Path, suffix: str = ".svg") -> bool:
    """Write a picture, and return whether the CSV has anything for it."""
    own = readings_of(picture, readings)
    if not own:
        return False
    rows = math.ceil(len(picture.panels) / picture.columns)
    figure = new_figure(HEIGHT * rows + 0.5)
    grid = figure.subplots(rows, picture.columns, squeeze=False)
    shown = sorted({name for panel in picture.panels for name in panel.lines(readings)})
    colours = dict(zip(shown, COLOURS * 2, strict=False))  # the same in all panels
    for number, (axes, panel) in enumerate(zip(grid.flat, picture.panels, strict=True), 1):
        # In a row of three panels all have the same lines, and no room for their names.
        draw_panel(axes, panel, readings, colours, names=picture.columns == 2 or number % picture.columns == 0)  # noqa: PLR2004
    entitle(figure, picture.title)
    figure.supxlabel(say_data(own), fontsize=9, color=FACTS)
    save(figure, folder / f"{picture.file}{suffix}")
    return True


def say_data(readings: Sequence[Reading]) -> str:
    """Write which data and which run it is."""
    data = ", ".join(dict.fromkeys(one.dtype for one in readings))
    facts = max(readings, key=lambda one: one.date)
    marked = f"data: {data}" if GENERATED not in data else f"GENERATED data: {data}"
    return f"{marked}   ·   {facts.machine}, {facts.cores} cores   ·   {facts.date}, commit {facts.commit}"


def draw_all(readings: Sequence[Reading], folder: Path = FOLDER, suffix: str = ".svg") -> list[str]:
    """Write all pictures that the CSV has something for, and return their names."""
    return [picture.file for picture in PICTURES if draw(picture, readings, folder, suffix)]


def main() -> None:
    """Draw the pictures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers.plot", description="Draw the papers' figures.")
    parser.add_argument("--csv", type=Path, default=PAPERS)
    parser.add_argument("--to", type=Path, default=FOLDER, help="a folder")
    parser.add_argument("--png", action="store_true", help="PNG instead of SVG")
    options = parser.parse_args()
    draw_all(read(options.csv), options.to, ".png" if options.png else ".svg")


if __name__ == "__main__":
    main()
