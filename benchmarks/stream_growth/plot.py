"""Draw the growth of streams: time and bytes per micro-batch against the number of keys, from the CSV and nothing else."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from benchmarks.plot import FAINT, INK, SASH, Lines, spread
from benchmarks.results import ROOT, STREAM_GROWTH, Reading, read
from benchmarks.stream_growth import case
from benchmarks.stream_growth.cases import KEYS, LENGTHS, say_keys

PICTURE = ROOT / "docs" / "images" / "stream_growth.svg"
ROWS = {case.TIME: "seconds per micro-batch", case.BYTES: "MB written per micro-batch"}
COLOURS = {case.SASH: SASH, case.TUMBLING: "#3d7ea6", case.SLIDING: "#8a7a4f"}


def lines_of(readings: Sequence[Reading], name: str) -> Lines:
    """Return the points of each way, by the number of keys, of a case."""
    numbers = {say_keys(keys): keys for keys in KEYS}
    lines: Lines = {}
    for one in readings:
        if one.case == name:
            way, keys = one.contestant.rsplit(", ", 1)
            lines.setdefault(way, []).append((numbers[keys], one.value))
    return {way: sorted(points) for way, points in lines.items()}


def draw_panel(axes: Axes, lines: Lines, limits: tuple[float, float]) -> None:
    """Draw a line for each way, with its name at the right end."""
    axes.set(xscale="log", yscale="log", xlim=(KEYS[0] / 1.6, KEYS[-1] * 1.6), ylim=limits)
    axes.xaxis.set_major_locator(FixedLocator(KEYS))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: say_keys(round(x)).removesuffix(" keys")))
    steps = [step for step in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if limits[0] <= step <= limits[1]]
    axes.yaxis.set_major_locator(FixedLocator(steps))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
    axes.grid(visible=True, color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelcolor=INK, labelsize=9.5)
    axes.spines[:].set_visible(False)
    low, high = (math.log10(limit) for limit in limits)
    ends = [(math.log10(points[-1][1]) - low) / (high - low) for points in lines.values()]
    for (way, points), height in zip(lines.items(), spread(ends, 0.1), strict=True):
        ours = way == case.SASH
        xs, ys = zip(*points, strict=True)
        axes.plot(xs, ys, color=COLOURS[way], linewidth=3 if ours else 1.7, marker="o", markersize=5 if ours else 3.5, clip_on=False)  # fmt: skip
        label = way.replace(", ", ",\n")
        axes.text(1.02, height, label, transform=axes.transAxes, color=COLOURS[way], va="center", fontsize=9, fontweight="bold" if ours else "normal")  # fmt: skip


def draw(readings: Sequence[Reading], path: Path) -> None:
    """Write the picture: a row for each measure, a column for each number of slices."""
    panels = {
        (shown, slices): lines_of(readings, f"{slices:,} slices, {shown}") for shown in ROWS for slices in LENGTHS
    }
    if not any(panels.values()):
        message = "The CSV has none of the cases that are drawn: run python -m benchmarks.stream_growth first."
        raise SystemExit(message)
    mpl.rcParams["svg.hashsalt"] = "sash"  # the same CSV gives the same bytes
    figure = Figure(figsize=(10.4, 6.0), facecolor="white", layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08, hspace=0.05, wspace=0.02)  # type: ignore[union-attr, call-arg]
    grid = figure.subplots(len(ROWS), len(LENGTHS), sharex=True, sharey="row")
    for row, (shown, text) in zip(grid, ROWS.items(), strict=True):
        values = [value for slices in LENGTHS for line in panels[shown, slices].values() for _, value in line]
        limits = min(values) / 1.4, max(values) * 1.4
        for axes, (slices, length) in zip(row, LENGTHS.items(), strict=True):
            draw_panel(axes, panels[shown, slices], limits)
            axes.tick_params(labelbottom=True)
            if shown == case.TIME:
                axes.set_title(
                    f"{length} every 1m: {slices:,} slices", loc="left", fontsize=11, fontweight="bold", color=INK
                )
        row[0].set_ylabel(text, color=INK, fontsize=10)
    facts = next(one for one in readings if one.role == "sash")
    figure.suptitle(
        f"A stream as its keys grow, {facts.rows:,} rows per micro-batch: lower is better",
        x=0.012, ha="left", fontsize=13.5, color=INK,
    )  # fmt: skip
    figure.supxlabel(
        f"keys   ·   {facts.machine}, {facts.cores} cores   ·   {facts.date}, commit {facts.commit}",
        fontsize=9.5, color="#57606a",
    )  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=160)


def main() -> None:
    """Draw the picture of docs/streaming.md."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stream_growth.plot", description="Draw the CSV.")
    parser.add_argument("--csv", type=Path, default=STREAM_GROWTH)
    parser.add_argument("--to", type=Path, default=PICTURE, help=".svg or .png")
    options = parser.parse_args()
    draw(read(options.csv), options.to)


if __name__ == "__main__":
    main()
