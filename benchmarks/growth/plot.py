"""Draw a picture for each sweep: time and memory against what grows, from the CSV and nothing else."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from benchmarks.growth.case import LIBRARIES, MEMORY_SHOWN, TIME_SHOWN, say_number
from benchmarks.growth.cases import POINTS
from benchmarks.plot import FAINT, INK, PEERS, SASH, Lines, spread
from benchmarks.report import say_time
from benchmarks.results import GROWTH, ROOT, Reading, read

FOLDER = ROOT / "docs" / "images" / "growth"
TITLES = {TIME_SHOWN: "time", MEMORY_SHOWN: "memory above the rows"}
LABELS = {
    "rows": "rows",
    "keys": "keys, of 1 M rows in all",
    "windows": "windows in one query",
    "aggregates": "aggregates in one query",
    "range": "rows in the window",
}
LEAST_MEGABYTES = 1.0
"""What is less is drawn as this: pages of a few kilobytes tell nothing."""


def lines_of(readings: Sequence[Reading], sweep: str, shown: str) -> Lines:
    """Return the points of each library."""
    numbers = {say_number(number): number for number in POINTS[sweep]}
    lines: Lines = {}
    for one in readings:
        if one.case == f"{sweep}, {shown}":
            library, number = one.contestant.rsplit(", ", 1)
            value = one.value if shown == TIME_SHOWN else max(one.value, LEAST_MEGABYTES)
            lines.setdefault(library, []).append((numbers[number], value))
    return {library: sorted(lines[library]) for library in LIBRARIES if library in lines}


def say_value(shown: str, value: float) -> str:
    """Write the value of a tick.

    >>> say_value("time", 0.01), say_value("memory", 1000)
    ('10 ms', '1 GB')
    """
    if shown == TIME_SHOWN:
        return say_time(value * 1e9)
    return f"{value:g} MB" if value < 1000 else f"{value / 1000:g} GB"  # noqa: PLR2004


def ticks_between(low: float, high: float) -> list[float]:
    """Return powers of ten; over less than two of them, also 2 and 5 times each.

    >>> ticks_between(0.5, 2000), ticks_between(30, 300)
    ([1.0, 10.0, 100.0, 1000.0], [50.0, 100.0, 200.0])
    """
    steps = (1, 2, 5) if high / low < 100 else (1,)  # noqa: PLR2004
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [tick for power in powers for step in steps if low <= (tick := step * 10.0**power) <= high]


def draw_panel(axes: Axes, sweep: str, shown: str, lines: Lines) -> None:
    """Draw a line for each library, with its name at the right end."""
    values = [value for points in lines.values() for _, value in points]
    limits = 10 ** (math.floor(math.log10(min(values)) * 2) / 2), 10 ** (math.ceil(math.log10(max(values)) * 2) / 2)
    ticks = POINTS[sweep]
    axes.set_title(TITLES[shown], loc="left", fontsize=11.5, fontweight="bold", color=INK)
    axes.set(xscale="log", yscale="log", xlim=(ticks[0] / 1.4, ticks[-1] * 1.4), ylim=limits)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: say_number(round(x))))
    axes.yaxis.set_major_locator(FixedLocator(ticks_between(*limits)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: say_value(shown, y)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
    axes.grid(visible=True, color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelcolor=INK, labelsize=9.5)
    axes.spines[:].set_visible(False)
    low, high = (math.log10(limit) for limit in limits)
    names = sorted(lines, key=lambda name: name == "Sash")  # Sash last, on top of the others
    ends = [(math.log10(lines[name][-1][1]) - low) / (high - low) for name in names]
    for name, height in zip(names, spread(ends, 0.085), strict=True):
        ours = name == "Sash"
        colour = SASH if ours else PEERS[name]
        xs, ys = zip(*lines[name], strict=True)
        axes.plot(xs, ys, color=colour, linewidth=3 if ours else 1.6, marker="o", markersize=5.5 if ours else 3.5, clip_on=False)  # fmt: skip
        axes.text(1.02, height, name, transform=axes.transAxes, color=colour, va="center", fontsize=10, fontweight="bold" if ours else "normal")  # fmt: skip


def draw(readings: Sequence[Reading], sweep: str, path: Path) -> None:
    """Write the picture of a sweep."""
    panels = {shown: lines_of(readings, sweep, shown) for shown in TITLES}
    if not all(panels.values()):
        message = f"The CSV has no sweep of {sweep}: run python -m benchmarks.growth first."
        raise SystemExit(message)
    mpl.rcParams["svg.hashsalt"] = "sash"  # the same CSV gives the same bytes
    figure = Figure(figsize=(10.4, 3.9), facecolor="white", layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.08, wspace=0.03)  # type: ignore[union-attr, call-arg]
    for axes, (shown, lines) in zip(figure.subplots(1, 2), panels.items(), strict=True):
        draw_panel(axes, sweep, shown, lines)
        axes.set_xlabel(LABELS[sweep], color=INK, fontsize=10)
    facts = next(one for one in readings if one.role == "sash" and one.range == sweep)
    figure.supxlabel(
        f"lower is better   ·   {facts.machine}, {facts.cores} cores   ·   {facts.date}, commit {facts.commit}",
        fontsize=9, color="#57606a",
    )  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=160)


def main() -> None:
    """Draw the pictures of docs/benchmarks.md."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth.plot", description="Draw the CSV.")
    parser.add_argument("--csv", type=Path, default=GROWTH)
    parser.add_argument("--to", type=Path, default=FOLDER, help="a folder")
    parser.add_argument("--format", choices=("svg", "png"), default="svg")
    options = parser.parse_args()
    readings = read(options.csv)
    for sweep in POINTS:
        draw(readings, sweep, options.to / f"{sweep}.{options.format}")


if __name__ == "__main__":
    main()
