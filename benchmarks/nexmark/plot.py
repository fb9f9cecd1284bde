"""Draw Nexmark's queries: time per event in Sash and in Spark, over frames and over streams, from the CSV and nothing else."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from benchmarks.nexmark.cases import CASES
from benchmarks.plot import FAINT, INK, SASH
from benchmarks.report import say_time
from benchmarks.results import NEXMARK, ROOT, Reading, read

PICTURE = ROOT / "docs" / "images" / "nexmark.svg"
PANELS = {"batch": "over frames", "stream": "over streams"}
PEERS = ("#3d7ea6", "#8a7a4f")
STEPS = [digit * 10.0**power for power in range(1, 7) for digit in (1, 2, 5)]
NEAR = 2.2
"""Labels of points that are closer than this ratio would overlap."""
ABOVE, BELOW, FURTHER = 7, -8, -19
"""Where a label may be, in points from its point: the first place that is free."""


def draw_panel(axes: Axes, kind: str, readings: Sequence[Reading], limits: tuple[float, float]) -> None:
    """Draw a line for each query, with a point for each way to answer it."""
    names = [
        case.name for case in CASES if case.name.startswith(kind) and any(one.case == case.name for one in readings)
    ]
    axes.set_title(PANELS[kind], loc="left", fontsize=11.5, fontweight="bold", color=INK)
    axes.set(xscale="log", xlim=limits, ylim=(len(names) - 0.45, -0.6))
    axes.xaxis.set_major_locator(FixedLocator([step for step in STEPS if limits[0] <= step <= limits[1]]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: say_time(x).replace(".0 ", " ")))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_yticks(range(len(names)), [_label(name, kind) for name in names])
    axes.grid(visible=True, axis="x", color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelcolor=INK, labelsize=9.5)
    axes.spines[:].set_visible(False)
    for height, name in enumerate(names):
        ways = sorted((one for one in readings if one.case == name), key=lambda one: one.role != "sash")
        values = [one.value for one in ways]
        taken: list[tuple[float, int]] = []
        axes.plot([min(values), max(values)], [height, height], color=FAINT, linewidth=3, zorder=1)
        for number, one in enumerate(ways):
            ours = one.role == "sash"
            colour = SASH if ours else PEERS[(number - 1) % len(PEERS)]
            axes.plot(one.value, height, "o", color=colour, markersize=9 if ours else 7, zorder=3 if ours else 2)
            near = {place for value, place in taken if value / NEAR < one.value < value * NEAR}
            place = next((place for place in (ABOVE, BELOW) if place not in near), FURTHER)
            taken.append((one.value, place))
            axes.annotate(
                one.contestant, (one.value, height), (0, place), textcoords="offset points",
                ha="center", va="bottom" if place == ABOVE else "top", color=colour, fontsize=8.5,
                fontweight="bold" if ours else "normal",
            )  # fmt: skip


def _label(name: str, kind: str) -> str:
    r"""Return the name of a query in two lines.

    >>> _label("batch, query 5: hot items, 10s every 2s", "batch")
    '5: hot items,\n10s every 2s'
    """
    title, window = name.removeprefix(f"{kind}, query ").rsplit(", ", 1)
    return f"{title},\n{window}"


def draw(readings: Sequence[Reading], path: Path) -> None:
    """Write the picture: a panel for frames and one for streams, on the same scale."""
    if not readings:
        message = "The CSV has none of the cases that are drawn: run python -m benchmarks.nexmark first."
        raise SystemExit(message)
    values = [one.value for one in readings]
    limits = min(values) / 2, max(values) * 2
    mpl.rcParams["svg.hashsalt"] = "sash"  # the same CSV gives the same bytes
    shown = [kind for kind in PANELS if any(one.case.startswith(kind) for one in readings)]
    lines = [len({one.case for one in readings if one.case.startswith(kind)}) for kind in shown]
    figure = Figure(figsize=(10.4, 1.6 + 0.72 * sum(lines)), facecolor="white", layout="constrained")
    figure.get_layout_engine().set(h_pad=0.08)  # type: ignore[union-attr, call-arg]
    grid = figure.subplots(len(shown), 1, sharex=True, squeeze=False, height_ratios=lines)
    for (axes,), kind in zip(grid, shown, strict=True):
        draw_panel(axes, kind, readings, limits)
        axes.tick_params(labelbottom=True)
    facts = next(one for one in readings if one.role == "sash")
    figure.suptitle("Nexmark on Spark, time per event: left is better", x=0.012, ha="left", fontsize=13.5, color=INK)
    figure.supxlabel(
        f"{facts.machine}, {facts.cores} cores   ·   {facts.date}, commit {facts.commit}", fontsize=9.5, color="#57606a"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=160)


def main() -> None:
    """Draw the picture of docs/benchmarks.md."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nexmark.plot", description="Draw the CSV.")
    parser.add_argument("--csv", type=Path, default=NEXMARK)
    parser.add_argument("--to", type=Path, default=PICTURE, help=".svg or .png")
    options = parser.parse_args()
    draw(read(options.csv), options.to)


if __name__ == "__main__":
    main()
