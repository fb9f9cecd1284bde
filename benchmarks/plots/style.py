"""What all pictures have in common: colours, axes, lines with names at their ends, the line of facts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from benchmarks.results import Reading

SASH = "#c2185b"
PEERS = {"pandas": "#7b6ba8", "Polars": "#3d7ea6", "DuckDB": "#8a7a4f", "bottleneck": "#4f8f6b", "numbagg": "#8c8c8c"}
INK, FAINT, FACTS = "#24292f", "#d8dee4", "#57606a"
LABEL_HEIGHT = 0.075
"""Of the panel: how far apart labels must be to be readable."""
WIDTH = 10.4

Lines: TypeAlias = dict[str, list[tuple[int, float]]]
"""By contestant: its points."""


@dataclass(frozen=True)
class LineStyle:
    """How a line looks."""

    colour: str
    label: str
    is_ours: bool = False
    dashes: str = "-"


def new_figure(height: float) -> Figure:
    """Return an empty figure."""
    mpl.rcParams["svg.hashsalt"] = "sash"  # the same CSV gives the same bytes
    figure = Figure(figsize=(WIDTH, height), facecolor="white", layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.08, hspace=0.06, wspace=0.03)  # type: ignore[union-attr, call-arg]
    return figure


def style_axes(axes: Axes, title: str = "") -> None:
    """Draw a panel without a frame, with its title at the left."""
    if title:
        axes.set_title(title, loc="left", fontsize=11.5, fontweight="bold", color=INK)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelcolor=INK, labelsize=9.5, labelbottom=True)
    axes.spines[:].set_visible(False)
    axes.grid(visible=True, color=FAINT, linewidth=0.7)


def set_ticks(axis: Axis, ticks: Sequence[float], say: Callable[[float], str]) -> None:
    """Put ticks on an axis, with what `say` writes of their values."""
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FuncFormatter(lambda value, _: say(value)))
    axis.set_minor_locator(NullLocator())


def ticks_between(low: float, high: float) -> list[float]:
    """Return powers of ten; over less than two of them, also 2 and 5 times each.

    >>> ticks_between(0.5, 2000), ticks_between(30, 300)
    ([1.0, 10.0, 100.0, 1000.0], [50.0, 100.0, 200.0])
    """
    steps = (1, 2, 5) if high / low < 100 else (1,)  # noqa: PLR2004
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [tick for power in powers for step in steps if low <= (tick := step * 10.0**power) <= high]


def draw_lines(axes: Axes, lines: Lines, styles: Mapping[str, LineStyle], apart: float = LABEL_HEIGHT) -> None:
    """Draw lines on logarithmic axes, each with its name at the right end; those of Sash last, on top of the others."""
    low, high = (math.log10(limit) for limit in axes.get_ylim())
    names = sorted(lines, key=lambda name: styles[name].is_ours)
    ends = [(math.log10(lines[name][-1][1]) - low) / (high - low) for name in names]
    for name, height in zip(names, spread(ends, apart), strict=True):
        style = styles[name]
        xs, ys = zip(*lines[name], strict=True)
        axes.plot(
            xs, ys, color=style.colour, linewidth=3 if style.is_ours else 1.6, marker="o",
            markersize=5.5 if style.is_ours else 3.5, linestyle=style.dashes, solid_capstyle="round", clip_on=False,
        )  # fmt: skip
        axes.text(
            1.02, height, style.label, transform=axes.transAxes, color=style.colour, va="center", fontsize=9.5,
            fontweight="bold" if style.is_ours else "normal",
        )  # fmt: skip


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


def entitle(figure: Figure, title: str) -> None:
    """Write the title of a figure."""
    figure.suptitle(title, x=0.012, ha="left", fontsize=13.5, color=INK)


def say_facts(figure: Figure, facts: Reading, before: str, after: str = "") -> None:
    """Write below a figure on which machine, when and at which commit it was measured."""
    when = f"{facts.machine}, {facts.cores} cores   ·   {facts.date}, commit {facts.commit}"
    figure.supxlabel("   ·   ".join([before] * bool(before) + [when]) + after, fontsize=9.5, color=FACTS)


def save(figure: Figure, path: Path) -> None:
    """Write a figure, as SVG or PNG."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=160)


def not_measured(suite: str) -> SystemExit:
    """Return the error for a CSV that has nothing to draw."""
    return SystemExit(f"The CSV has none of the cases that are drawn: run python -m benchmarks {suite} first.")
