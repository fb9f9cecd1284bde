"""Draw nanoseconds per row against the range, for Sash and its peers, from the CSV and nothing else."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from benchmarks.case import TIME, say
from benchmarks.cases import RANGES
from benchmarks.results import COMPILED, ROOT, Reading, read

PICTURE = ROOT / "docs" / "images" / "ns_per_row.svg"
PANELS = ("max", "sum", "stddev", "median")
SASH = "#c2185b"
OURS = {"Sash Query": "Sash: Query", "Sash": "Sash: Aggregator.slide"}
"""The contestants of Sash and their labels: what users call for a table, and the loop over one column."""
PEERS = {"pandas": "#7b6ba8", "Polars": "#3d7ea6", "DuckDB": "#8a7a4f", "bottleneck": "#4f8f6b", "numbagg": "#8c8c8c"}
INK, FAINT = "#24292f", "#d8dee4"
LABEL_HEIGHT = 0.075
"""Of the panel: how far apart labels must be to be readable."""

Lines = dict[str, list[tuple[int, float]]]


def lines_of(readings: Sequence[Reading], aggregate: str) -> Lines:
    """Return the points of each contestant, of float64 columns."""
    lengths = {say(length): length for length in RANGES}
    lines: Lines = {}
    for one in readings:
        is_shown = one.role == "peer" or one.contestant in OURS
        # A user-written aggregate has its peers' stddev beside it, which is not a second measurement of theirs here.
        if one.case == f"{aggregate} float64 {one.range}" and one.measure == TIME and is_shown:
            lines.setdefault(one.contestant, []).append((lengths[one.range], one.value))
    return {name: sorted(points) for name, points in lines.items()}


def spread(heights: Sequence[float], least: float = LABEL_HEIGHT) -> list[float]:
    """Move labels apart, from the lowest up, so that each keeps its distance and all move as little as may be.

    >>> [round(height, 2) for height in spread([0.5, 0.5, 0.9], 0.1)]
    [0.45, 0.55, 0.9]
    """
    order = sorted(range(len(heights)), key=lambda index: heights[index])
    groups: list[list[int]] = []
    for index in order:
        groups.append([index])
        while len(groups) > 1 and _top(groups[-2], heights, least) + least > _bottom(groups[-1], heights, least):
            groups[-2:] = [groups[-2] + groups[-1]]
    placed = list(heights)
    for group in groups:
        for number, index in enumerate(group):
            placed[index] = _bottom(group, heights, least) + number * least
    return placed


def _bottom(group: list[int], heights: Sequence[float], least: float) -> float:
    return sum(heights[index] for index in group) / len(group) - (len(group) - 1) * least / 2


def _top(group: list[int], heights: Sequence[float], least: float) -> float:
    return _bottom(group, heights, least) + (len(group) - 1) * least


def draw_panel(axes: Axes, aggregate: str, lines: Lines, limits: tuple[float, float]) -> None:
    """Draw one aggregate, each line with its name at the right end."""
    axes.set_title(aggregate, loc="left", fontsize=12, fontweight="bold", color=INK)
    axes.set(xscale="log", yscale="log", xlim=(RANGES[0] / 1.6, RANGES[-1] * 1.6), ylim=limits)
    axes.xaxis.set_major_locator(FixedLocator(RANGES))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: say(round(x))))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g} ns" if y < 1000 else f"{y / 1000:g} µs"))  # noqa: PLR2004
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
    axes.grid(visible=True, color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelcolor=INK, labelsize=9.5)
    axes.spines[:].set_visible(False)
    low, high = (math.log10(limit) for limit in limits)
    names = sorted(lines, key=lambda name: name in OURS)  # Sash last, on top of the others
    ends = [(math.log10(lines[name][-1][1]) - low) / (high - low) for name in names]
    for name, height in zip(names, spread(ends), strict=True):
        ours = name in OURS
        colour = SASH if ours else PEERS.get(name, INK)
        xs, ys = zip(*lines[name], strict=True)
        axes.plot(
            xs, ys, color=colour, linewidth=3.0 if ours else 1.5, marker="o", markersize=6 if ours else 3.2,
            alpha=1.0 if ours else 0.85, linestyle="--" if name == "Sash" else "-",
            solid_capstyle="round", clip_on=False,
        )  # fmt: skip
        axes.text(
            1.015, height, OURS.get(name, name), transform=axes.transAxes, color=colour, va="center",
            fontsize=10 if ours else 9.5, fontweight="bold" if ours else "normal",
        )  # fmt: skip


def draw(readings: Sequence[Reading], path: Path) -> None:
    """Write the picture: one panel per aggregate, all on the same scales."""
    panels = {aggregate: lines_of(readings, aggregate) for aggregate in PANELS}
    heights = [value for lines in panels.values() for points in lines.values() for _, value in points]
    if not heights:
        message = "The CSV has none of the cases that are drawn: run python -m benchmarks.compiled first."
        raise SystemExit(message)
    limits = min(heights) / 1.5, max(heights) * 1.5
    mpl.rcParams["svg.hashsalt"] = "sash"  # the same CSV gives the same bytes
    figure = Figure(figsize=(10.4, 7.2), facecolor="white", layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1, hspace=0.06, wspace=0.03)  # type: ignore[union-attr, call-arg]
    grid = figure.subplots(2, 2, sharex=True, sharey=True)
    for axes, (aggregate, lines) in zip(grid.flat, panels.items(), strict=True):
        draw_panel(axes, aggregate, lines, limits)
        axes.tick_params(labelbottom=True)
    own = [one for one in readings if one.contestant == "Sash" and one.measure == TIME and one.aggregate in PANELS]
    facts = max(own, key=lambda one: (one.dtype == "float64", one.date))  # cases may have been measured again, later
    figure.suptitle(
        f"Time per row against the range of the window, {facts.rows / 1e6:g} M rows of float64: lower is better",
        x=0.012, ha="left", fontsize=13.5, color=INK,
    )  # fmt: skip
    drawn = [one for one in readings if one.aggregate in PANELS and one.role == "peer" and one.measure == TIME]
    slow = sorted({f"{one.contestant}'s {one.aggregate}" for one in drawn if one.rows < facts.rows})
    figure.supxlabel(
        f"rows in the window   ·   {facts.machine}, {facts.cores} cores   ·   {facts.date}, commit {facts.commit}"
        + (f"\non fewer rows: {', '.join(slow)}" if slow else ""),
        fontsize=9.5, color="#57606a",
    )  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=160)


def main() -> None:
    """Draw the picture of the README."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plot", description="Draw the benchmark's CSV.")
    parser.add_argument("--csv", type=Path, default=COMPILED)
    parser.add_argument("--to", type=Path, default=PICTURE, help=".svg or .png")
    options = parser.parse_args()
    draw(read(options.csv), options.to)


if __name__ == "__main__":
    main()
