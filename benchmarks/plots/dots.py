"""A line for each query, with a dot for each contestant: Nexmark, what people do with windows, and the latency of engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes

from benchmarks.engines.cases import LATENCIES, PACED
from benchmarks.engines.latency import SHOWN
from benchmarks.nexmark.cases import CASES
from benchmarks.plots.style import (
    FAINT,
    PEERS,
    SASH,
    entitle,
    new_figure,
    not_measured,
    save,
    say_facts,
    set_ticks,
    style_axes,
    ticks_between,
)
from benchmarks.report import say_time
from benchmarks.results import Reading
from benchmarks.workloads.cases import TIMES

PANELS = {"batch": "over frames", "stream": "over streams"}
COLOURS = ("#3d7ea6", "#8a7a4f")
SPARK = "#d0742f"
TICKS = [digit * 10.0**power for power in range(8) for digit in (1, 2, 5)]
MOST_TICKS = 12
NEAR = 2.2
"""Labels of points that are closer than this ratio would overlap."""
ABOVE, BELOW, FURTHER = 7, -8, -19
"""Where a label may be, in points from its point: the first place that is free."""


def draw_workloads(readings: Sequence[Reading], path: Path) -> None:
    """Draw what people do with windows: a dot for each library."""
    names = {case.name: f"{case.name},\n{case.question.window}" for case in TIMES}
    readings = [one for one in readings if one.case in names]
    if not readings:
        raise not_measured("workloads")
    figure = new_figure(1.4 + 0.72 * len({one.case for one in readings}))
    colours = {**PEERS, "Spark": SPARK}
    _draw_panel(figure.subplots(), "", names, readings, colours)
    entitle(figure, "Time per row: left is better")
    say_facts(figure, next(one for one in readings if one.role == "sash"), "")
    save(figure, path)


def draw_queries(readings: Sequence[Reading], path: Path) -> None:
    """Draw Nexmark: a panel for frames and one for streams, on the same scale."""
    if not readings:
        raise not_measured("nexmark")
    shown = [kind for kind in PANELS if any(one.case.startswith(kind) for one in readings)]
    lines = [len({one.case for one in readings if one.case.startswith(kind)}) for kind in shown]
    figure = new_figure(1.6 + 0.72 * sum(lines))
    grid = figure.subplots(len(shown), 1, sharex=True, squeeze=False, height_ratios=lines)
    for (axes,), kind in zip(grid, shown, strict=True):
        names = {case.name: label(case.name, kind) for case in CASES if case.name.startswith(kind)}
        _draw_panel(axes, PANELS[kind], names, readings, {})
    entitle(figure, "Nexmark on Spark, time per event: left is better")
    say_facts(figure, next(one for one in readings if one.role == "sash"), "")
    save(figure, path)


def draw_latencies(readings: Sequence[Reading], path: Path) -> None:
    """Draw for each engine the rate that it sustains, and its latency at half of it: from the median to the 99th percentile."""
    found = {(one.case, one.contestant): one for one in readings}
    lines = [
        (question, engine.name, [found[f"latency, {question}: {shown}", engine.name] for shown in SHOWN])
        for question in dict.fromkeys(case.question.name for case in LATENCIES)
        for engine in PACED
        if all((f"latency, {question}: {shown}", engine.name) in found for shown in SHOWN)
    ]
    if not lines:
        raise not_measured("latency")
    figure = new_figure(1.6 + 0.34 * len(lines))
    rates, latencies = figure.subplots(1, 2, sharey=True)
    for axes, title, say, shown in (
        (rates, "events a second", say_rate, slice(1)),
        (latencies, "latency: median, 99th percentile", lambda x: say_time(x * 1e9), slice(1, None)),
    ):
        values = [one.value for _, _, three in lines for one in three[shown]]
        limits = min(values) / 2, max(values) * 2
        axes.set(xscale="log", xlim=limits, ylim=(len(lines) - 0.4, -0.6))
        set_ticks(axes.xaxis, ticks_between(*limits), say)
        style_axes(axes, title)
        axes.grid(visible=False, axis="y")
        for height, (_, name, three) in enumerate(lines):
            of_line = [one.value for one in three[shown]]
            colour = SASH if three[0].role == "sash" else {"Spark": SPARK}.get(name, COLOURS[0])
            axes.plot(of_line, [height] * len(of_line), "o-", color=colour, linewidth=3, markersize=7)
    rates.set_yticks(range(len(lines)), [f"{question}   {name}" for question, name, _ in lines])
    entitle(figure, "The highest rate that each engine sustains, and its latency at half of that")
    say_facts(figure, lines[0][2][0], "")
    save(figure, path)


def say_rate(rate: float) -> str:
    """Write events a second.

    >>> say_rate(5_000), say_rate(1e6)
    ('5 K', '1 M')
    """
    return f"{rate / 1e6:g} M" if rate >= 1e6 else f"{rate / 1e3:g} K"  # noqa: PLR2004


def _draw_panel(
    axes: Axes, title: str, names: Mapping[str, str], readings: Sequence[Reading], colours: Mapping[str, str]
) -> None:
    """Draw a line for each case that was measured, with a dot for each contestant; those without a colour take turns."""
    values = [one.value for one in readings]
    limits = min(values) / 2, max(values) * 2
    names = {name: text for name, text in names.items() if any(one.case == name for one in readings)}
    axes.set(xscale="log", xlim=limits, ylim=(len(names) - 0.45, -0.6))
    ticks = [tick for tick in TICKS if limits[0] <= tick <= limits[1]]
    ticks = ticks if len(ticks) <= MOST_TICKS else ticks[::3]  # powers of ten
    set_ticks(axes.xaxis, ticks, lambda x: say_time(x).replace(".0 ", " "))
    axes.set_yticks(range(len(names)), list(names.values()))
    style_axes(axes, title)
    axes.grid(visible=False, axis="y")
    for height, name in enumerate(names):
        ways = sorted((one for one in readings if one.case == name), key=lambda one: one.role != "sash")
        of_line = [one.value for one in ways]
        axes.plot([min(of_line), max(of_line)], [height, height], color=FAINT, linewidth=3, zorder=1)
        taken: list[tuple[float, int]] = []
        for number, one in enumerate(ways):
            ours = one.role == "sash"
            colour = SASH if ours else colours.get(one.contestant, COLOURS[(number - 1) % len(COLOURS)])
            axes.plot(one.value, height, "o", color=colour, markersize=9 if ours else 7, zorder=3 if ours else 2)
            near = {place for value, place in taken if value / NEAR < one.value < value * NEAR}
            place = next((place for place in (ABOVE, BELOW) if place not in near), FURTHER)
            taken.append((one.value, place))
            axes.annotate(
                one.contestant, (one.value, height), (0, place), textcoords="offset points",
                ha="center", va="bottom" if place == ABOVE else "top", color=colour, fontsize=8.5,
                fontweight="bold" if ours else "normal",
            )  # fmt: skip


def label(name: str, kind: str) -> str:
    r"""Return the name of a query in two lines.

    >>> label("batch, query 5: hot items, 10s every 2s", "batch")
    '5: hot items,\n10s every 2s'
    """
    title, window = name.removeprefix(f"{kind}, query ").rsplit(", ", 1)
    return f"{title},\n{window}"
