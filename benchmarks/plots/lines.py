"""Lines against what grows: the range of windows, the size of a table, the keys of a stream."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from benchmarks.case import TIME, say
from benchmarks.cases import RANGES
from benchmarks.engines.cases import BYTEWAX, FLINK, ON_SPARK, PATHWAY, SPARK
from benchmarks.engines.questions import CURVE, SECOND, StreamQuestion
from benchmarks.growth.case import LIBRARIES, MEMORY_SHOWN, TIME_SHOWN, say_number
from benchmarks.growth.cases import POINTS
from benchmarks.plots.style import (
    INK,
    PEERS,
    SASH,
    Lines,
    LineStyle,
    draw_lines,
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
from benchmarks.stream_growth import case as stream
from benchmarks.stream_growth.cases import KEYS, LENGTHS, say_keys

AGGREGATES = ("max", "sum", "stddev", "median")
COLUMN_STYLES = {name: LineStyle(colour, name) for name, colour in PEERS.items()} | {
    "Sash Query": LineStyle(SASH, "Sash: Query", is_ours=True),
    "Sash": LineStyle(SASH, "Sash: Aggregator.slide", is_ours=True, dashes="--"),
}
"""Of Sash: what users call for a table, and the loop over one column."""
LIBRARY_STYLES = {name: LineStyle(PEERS.get(name, SASH), name, is_ours=name == "Sash") for name in LIBRARIES}
STREAM_STYLES = {
    stream.SASH: LineStyle(SASH, stream.SASH, is_ours=True),
    stream.TUMBLING: LineStyle("#3d7ea6", "Spark,\ntumbling"),
    stream.SLIDING: LineStyle("#8a7a4f", "Spark,\nsliding"),
}
ENGINE_STYLES = {
    "Sash": LineStyle(SASH, "Sash", is_ours=True),
    ON_SPARK: LineStyle(SASH, ON_SPARK, is_ours=True, dashes="--"),
    FLINK: LineStyle("#3d7ea6", FLINK),
    SPARK: LineStyle("#d0742f", SPARK),
    PATHWAY: LineStyle("#8a7a4f", PATHWAY),
    BYTEWAX: LineStyle("#7b6ba8", BYTEWAX),
}
SWEEPS = {
    "rows": "rows",
    "keys": "keys, of 1 M rows in all",
    "windows": "windows in one query",
    "aggregates": "aggregates in one query",
    "range": "rows in the window",
}
"""What grows, and how it is said below the picture."""
SWEEP_TITLES = {TIME_SHOWN: "time", MEMORY_SHOWN: "memory above the rows"}
LEAST_MEGABYTES = 1.0
"""What is less is drawn as this: pages of a few kilobytes tell nothing."""
STREAM_ROWS = {stream.TIME: "seconds per micro-batch", stream.BYTES: "MB written per micro-batch"}
STREAM_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)


# -- windows of rows over a column -------------------------------------------------------------------------------------


def lines_of_column(readings: Sequence[Reading], aggregate: str) -> Lines:
    """Return the points of each contestant, of float64 columns."""
    lengths = {say(length): length for length in RANGES}
    lines: Lines = {}
    for one in readings:
        # A user-written aggregate has its peers' stddev beside it, which is not a second measurement of theirs here.
        if one.case == f"{aggregate} float64 {one.range}" and one.measure == TIME and one.contestant in COLUMN_STYLES:
            lines.setdefault(one.contestant, []).append((lengths[one.range], one.value))
    return {name: sorted(points) for name, points in lines.items()}


def draw_columns(readings: Sequence[Reading], path: Path) -> None:
    """Draw nanoseconds per row against the range: one panel per aggregate, all on the same scales."""
    panels = {aggregate: lines_of_column(readings, aggregate) for aggregate in AGGREGATES}
    heights = [value for lines in panels.values() for points in lines.values() for _, value in points]
    if not heights:
        raise not_measured("compiled")
    limits = min(heights) / 1.5, max(heights) * 1.5
    figure = new_figure(7.2)
    for axes, (aggregate, lines) in zip(
        figure.subplots(2, 2, sharex=True, sharey=True).flat, panels.items(), strict=True
    ):
        axes.set(xscale="log", yscale="log", xlim=(RANGES[0] / 1.6, RANGES[-1] * 1.6), ylim=limits)
        set_ticks(axes.xaxis, RANGES, lambda x: say(round(x)))
        set_ticks(axes.yaxis, ticks_between(*limits), lambda y: f"{y:g} ns" if y < 1000 else f"{y / 1000:g} µs")  # noqa: PLR2004
        style_axes(axes, aggregate)
        draw_lines(axes, lines, COLUMN_STYLES)
    own = [one for one in readings if one.contestant == "Sash" and one.measure == TIME and one.aggregate in AGGREGATES]
    facts = max(own, key=lambda one: (one.dtype == "float64", one.date))  # cases may have been measured again, later
    entitle(
        figure, f"Time per row against the range of the window, {facts.rows / 1e6:g} M rows of float64: lower is better"
    )
    drawn = [one for one in readings if one.aggregate in AGGREGATES and one.role == "peer" and one.measure == TIME]
    slow = sorted({f"{one.contestant}'s {one.aggregate}" for one in drawn if one.rows < facts.rows})
    say_facts(figure, facts, "rows in the window", f"\non fewer rows: {', '.join(slow)}" if slow else "")
    save(figure, path)


# -- sweeps over tables ------------------------------------------------------------------------------------------------


def lines_of_sweep(readings: Sequence[Reading], sweep: str, shown: str) -> Lines:
    """Return the points of each library."""
    numbers = {say_number(number): number for number in POINTS[sweep]}
    lines: Lines = {}
    for one in readings:
        if one.case == f"{sweep}, {shown}":
            library, number = one.contestant.rsplit(", ", 1)
            value = one.value if shown == TIME_SHOWN else max(one.value, LEAST_MEGABYTES)
            lines.setdefault(library, []).append((numbers[number], value))
    return {library: sorted(lines[library]) for library in LIBRARIES if library in lines}


def say_sweep_value(shown: str, value: float) -> str:
    """Write the value of a tick.

    >>> say_sweep_value("time", 0.01), say_sweep_value("memory", 1000)
    ('10 ms', '1 GB')
    """
    if shown == TIME_SHOWN:
        return say_time(value * 1e9)
    return f"{value:g} MB" if value < 1000 else f"{value / 1000:g} GB"  # noqa: PLR2004


def draw_sweep(readings: Sequence[Reading], sweep: str, path: Path) -> None:
    """Draw time and memory against what grows."""
    panels = {shown: lines_of_sweep(readings, sweep, shown) for shown in SWEEP_TITLES}
    if not all(panels.values()):
        raise not_measured("growth")
    figure = new_figure(3.9)
    ticks = POINTS[sweep]
    for axes, (shown, lines) in zip(figure.subplots(1, 2), panels.items(), strict=True):
        values = [value for points in lines.values() for _, value in points]
        limits = 10 ** (math.floor(math.log10(min(values)) * 2) / 2), 10 ** (math.ceil(math.log10(max(values)) * 2) / 2)
        axes.set(xscale="log", yscale="log", xlim=(ticks[0] / 1.4, ticks[-1] * 1.4), ylim=limits)
        set_ticks(axes.xaxis, ticks, lambda x: say_number(round(x)))
        set_ticks(axes.yaxis, ticks_between(*limits), lambda y, shown=shown: say_sweep_value(shown, y))  # type: ignore[misc]
        style_axes(axes, SWEEP_TITLES[shown])
        draw_lines(axes, lines, LIBRARY_STYLES, 0.085)
        axes.set_xlabel(SWEEPS[sweep], color=INK, fontsize=10)
    facts = next(one for one in readings if one.role == "sash" and one.range == sweep)
    say_facts(figure, facts, "lower is better")
    save(figure, path)


# -- streams -----------------------------------------------------------------------------------------------------------


def lines_of_stream(readings: Sequence[Reading], name: str) -> Lines:
    """Return the points of each way, by the number of keys, of a case."""
    numbers = {say_keys(keys): keys for keys in KEYS}
    lines: Lines = {}
    for one in readings:
        if one.case == name:
            way, keys = one.contestant.rsplit(", ", 1)
            lines.setdefault(way, []).append((numbers[keys], one.value))
    return {way: sorted(points) for way, points in lines.items()}


def draw_streams(readings: Sequence[Reading], path: Path) -> None:
    """Draw time and bytes per micro-batch: a row for each measure, a column for each number of slices."""
    panels = {
        (shown, slices): lines_of_stream(readings, f"{slices:,} slices, {shown}")
        for shown in STREAM_ROWS
        for slices in LENGTHS
    }
    if not any(panels.values()):
        raise not_measured("stream_growth")
    figure = new_figure(6.0)
    grid = figure.subplots(len(STREAM_ROWS), len(LENGTHS), sharex=True, sharey="row")
    for row, (shown, text) in zip(grid, STREAM_ROWS.items(), strict=True):
        values = [value for slices in LENGTHS for line in panels[shown, slices].values() for _, value in line]
        limits = min(values) / 1.4, max(values) * 1.4
        for axes, (slices, length) in zip(row, LENGTHS.items(), strict=True):
            axes.set(xscale="log", yscale="log", xlim=(KEYS[0] / 1.6, KEYS[-1] * 1.6), ylim=limits)
            set_ticks(axes.xaxis, KEYS, lambda x: say_keys(round(x)).removesuffix(" keys"))
            set_ticks(axes.yaxis, [tick for tick in STREAM_TICKS if limits[0] <= tick <= limits[1]], "{:g}".format)
            style_axes(axes, f"{length} every 1m: {slices:,} slices" if shown == stream.TIME else "")
            draw_lines(axes, panels[shown, slices], STREAM_STYLES, 0.1)
        row[0].set_ylabel(text, color=INK, fontsize=10)
    facts = next(one for one in readings if one.role == "sash")
    entitle(figure, f"A stream as its keys grow, {facts.rows:,} rows per micro-batch: lower is better")
    say_facts(figure, facts, "keys")
    save(figure, path)


# -- engines -----------------------------------------------------------------------------------------------------------


def windows_of_event(question: StreamQuestion) -> int:
    """Return in how many windows of a question an event is.

    >>> [windows_of_event(question) for question in CURVE]
    [6, 60, 360, 3600]
    """
    return question.lengths[0] // question.slide


def lines_of_engines(readings: Sequence[Reading]) -> Lines:
    """Return the points of each engine, by the windows of an event."""
    numbers = {question.name: windows_of_event(question) for question in CURVE}
    lines: Lines = {}
    for one in readings:
        if one.case in numbers and one.contestant in ENGINE_STYLES:
            lines.setdefault(one.contestant, []).append((numbers[one.case], one.value))
    return {engine: sorted(points) for engine, points in lines.items()}


def draw_engines(readings: Sequence[Reading], path: Path) -> None:
    """Draw the time per event against the slide of windows of an hour: a line for each engine."""
    lines = lines_of_engines(readings)
    if not lines:
        raise not_measured("engines")
    values = [value for points in lines.values() for _, value in points]
    limits = min(values) / 1.5, max(values) * 1.5
    measured = {number for points in lines.values() for number, _ in points}
    slides = {windows_of_event(question): say_slide(question) for question in CURVE}
    ticks = {number: slide for number, slide in slides.items() if number in measured}
    figure = new_figure(4.6)
    axes = figure.subplots()
    axes.set(xscale="log", yscale="log", xlim=(min(ticks) / 1.4, max(ticks) * 1.4), ylim=limits)
    set_ticks(axes.xaxis, list(ticks), lambda x: ticks[round(x)])
    set_ticks(axes.yaxis, ticks_between(*limits), lambda y: say_time(y).replace(".0 ", " "))
    style_axes(axes)
    draw_lines(axes, lines, ENGINE_STYLES, 0.065)
    entitle(figure, "Time per event of a stream, windows of an hour against their slide: lower is better")
    say_facts(figure, next(one for one in readings if one.role == "sash"), "a window every …")
    save(figure, path)


def say_slide(question: StreamQuestion) -> str:
    """Write the slide of a question.

    >>> [say_slide(question) for question in CURVE]
    ['10m', '1m', '10s', '1s']
    """
    seconds = question.slide // SECOND
    return f"{seconds // 60}m" if seconds % 60 == 0 else f"{seconds}s"
