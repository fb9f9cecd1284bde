"""Which lines the pictures have: one picture for each figure of the papers, with counted combines beside times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log2

from benchmarks.papers.analysis import Lines, fit_log, ratios, series
from benchmarks.papers.cases import GRID, PERCENTILES, REACTIVE
from benchmarks.results import Reading

Readings = Sequence[Reading]
ROWS, QUERIES, SLIDE = "rows in the window", "queries", "rows of a slide"
NANOSECONDS, COMBINES, THROUGHPUT = "ns per row", "combines per row (counted)", "million rows per second"


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    lines: Callable[[Readings], Lines]
    y: str
    x: str = ROWS
    dashed: Callable[[Readings], Lines] = field(default=lambda _: {})
    """Fitted or predicted lines."""
    levels: Mapping[str, float] = field(default_factory=dict)
    """Numbers that a paper states."""
    logarithmic: bool = True
    """Whether the y-axis is."""


@dataclass(frozen=True)
class Picture:
    """One file in docs/images/papers."""

    file: str
    figures: tuple[str, ...]
    """Those of the claims that stand beside it."""
    title: str
    panels: tuple[Panel, ...]
    columns: int = 2


def line_of(figure: str, about: str) -> Callable[[Readings], Lines]:
    """Return the lines of a figure as they are in the CSV."""
    return lambda readings: series(readings, figure, about)


def throughput(figure: str, about: str) -> Callable[[Readings], Lines]:
    """Return million rows per second instead of nanoseconds per row."""

    def lines(readings: Readings) -> Lines:
        found = series(readings, figure, about)
        return {name: {size: 1e3 / value for size, value in line.items()} for name, line in found.items()}

    return lines


def named(figure: str, abouts: Mapping[str, str], who: str | None = None) -> Callable[[Readings], Lines]:
    """Return lines of several parts of a figure, each with the name of its part; of one contestant, or of each."""

    def lines(readings: Readings) -> Lines:
        found = {}
        for about, name in abouts.items():
            for contestant, line in series(readings, figure, about).items():
                if who is None or contestant == who:
                    found[name if who else f"{name}, {contestant}"] = line
        return found

    return lines


def fitted(readings: Readings) -> Lines:
    """Return the best fits to a logarithm of figure 7."""
    found = {}
    for name, line in named("figure 7", {"max": "max", "stddev": "stddev"}, REACTIVE)(readings).items():
        if len(line) > 1:
            fit = fit_log(line)
            found[f"{name}, fitted"] = {size: fit.at(size) for size in line}
    return found


def tree_height(readings: Readings) -> Lines:
    """Return log2 n for the sizes of figure 7."""
    line = series(readings, "figure 7 combines", "max").get(REACTIVE, {})
    return {"log2 n": {size: log2(size) for size in line}}


def flatfit_ratio(figure: str, about: str, others: Sequence[str]) -> Callable[[Readings], Lines]:
    """Return how many times FlatFIT's throughput is that of others, and how many times its combines others need."""

    def lines(readings: Readings) -> Lines:
        found = {}
        for kind, name in (("", "time"), (" combines", "combines")):
            one = series(readings, f"{figure}{kind}", about)
            for other in others:
                if other in one:
                    found[f"{other}, {name}"] = ratios(one[other], one["FlatFIT"])
        return found

    return lines


def per_row(readings: Readings, figure: str) -> Lines:
    """Return what a window holds, divided by its rows."""
    scale = 1e6 if figure == "figure 16" else 1
    found = series(readings, figure, "one query")
    return {name: {size: scale * value / size for size, value in line.items()} for name, line in found.items()}


def latencies(name: str) -> Callable[[Readings], Lines]:
    """Return the percentiles of each algorithm, numbered."""

    def lines(readings: Readings) -> Lines:
        found: Lines = {}
        for place, percentile in enumerate(PERCENTILES, 1):
            for who, line in series(readings, "figure 3e", f"{name}, percentile {percentile:g}").items():
                found.setdefault(who, {})[place] = next(iter(line.values()))
        return found

    return lines


PICTURES: tuple[Picture, ...] = (
    Picture("figure_06", ("figure 6",), "Throughput against recalculation", (
        Panel("max", throughput("table 3", "max"), THROUGHPUT),
        Panel("stddev", throughput("table 3", "stddev"), THROUGHPUT),
    )),
    Picture("figure_07", ("figure 7",), "Cost of a row as the window grows", (
        Panel("Reactive Aggregator", named("figure 7", {"max": "max", "stddev": "stddev"}, REACTIVE), NANOSECONDS,
              dashed=fitted, logarithmic=False),
        Panel("max, counted", line_of("figure 7 combines", "max"), COMBINES, dashed=tree_height),
    )),
    Picture("figure_08", ("figure 8",), "Tumbling windows: nothing to reuse", (
        Panel("max", line_of("figure 8", "max"), NANOSECONDS),
        Panel("stddev", line_of("figure 8", "stddev"), NANOSECONDS),
    )),
    Picture("figure_09", ("figure 9",), "Capacity that oscillates between n and 2n (interpreted)", (
        Panel("time", named("figure 9", {"max": "max", "stddev": "stddev"}), NANOSECONDS),
        Panel("max, counted", line_of("figure 9 combines", "max"), COMBINES),
    )),
    Picture("figure_10", ("figure 10",), "Slides of m rows at once: stddev, Reactive Aggregator", (
        Panel("time", line_of("figure 10", "stddev"), NANOSECONDS),
        Panel("counted", line_of("figure 10 combines", "stddev"), COMBINES),
    )),
    Picture("figure_11", ("figure 11",), "Against B-Int: max", (
        Panel("m = 1", line_of("figure 7", "max"), NANOSECONDS),
        Panel("m = 64", line_of("figure 11", "max, m = 64"), NANOSECONDS),
    )),
    Picture("figure_12", ("figure 12",), "Memory of a compiled window", (
        Panel("max", line_of("figure 12", "max"), "MB"),
        Panel("stddev", line_of("figure 12", "stddev"), "MB"),
    )),
    Picture("figure_13", ("figure 13",), "One query: max of the energy", (
        Panel("time", throughput("figure 13", "one query"), THROUGHPUT),
        Panel("counted", line_of("figure 13 combines", "one query"), "combines per slide (counted)"),
    )),
    Picture("figure_14", ("figure 14",), "All queries, ranges 1 to n: max of the energy", (
        Panel("time", throughput("figure 14", "all queries"), "million slides per second"),
        Panel("counted", line_of("figure 14 combines", "all queries"), "combines per slide (counted)"),
    )),
    Picture("figure_15", ("figure 15",), "FlatFIT against FlatFAT: how many times the throughput, how many times fewer combines", (
        Panel("one query", flatfit_ratio("figure 13", "one query", ("FlatFAT", REACTIVE)), "times",
              levels={"paper, mean": 1.8, "paper, most": 2.6}),
        Panel("all queries", flatfit_ratio("figure 14", "all queries", ("FlatFAT",)), "times",
              levels={"paper, mean": 10, "paper, most": 17}),
    )),
    Picture("figure_16", ("figure 16",), "Memory of a window of n rows, divided by n", (
        Panel("compiled: bytes", lambda readings: per_row(readings, "figure 16"), "bytes per row", logarithmic=False),
        Panel("partials and pointers", lambda readings: per_row(readings, "figure 16 items"), "items per row (counted)",
              logarithmic=False),
    )),
    Picture("figure_03", ("figure 3a", "figure 3b", "figure 3c"), "Many queries and one query over the load", (
        Panel("3a: sum", throughput("figure 3a", "sum"), THROUGHPUT, QUERIES),
        Panel("3b: min", throughput("figure 3b", "min"), THROUGHPUT, QUERIES),
        Panel("3c: sum, one query", throughput("figure 3c", "sum"), THROUGHPUT),
        Panel("3d: min, one query", throughput("figure 3d", "min"), THROUGHPUT),
    )),
    Picture("figure_03_combines", ("figure 3 combines",), "Many queries: counted combines", (
        Panel("sum", line_of("figure 3a combines", "sum"), COMBINES, QUERIES),
        Panel("min", line_of("figure 3b combines", "min"), COMBINES, QUERIES),
    )),
    Picture("figure_03e", ("figure 3e",), "Latency of single rows, window of 32 K rows", (
        Panel("sum", latencies("sum"), "ns per row, clock included", "percentile"),
        Panel("min", latencies("min"), "ns per row, clock included", "percentile"),
    )),
    Picture("slices", ("slices", "slices combines"), "Panes, pairs and Cutty", (
        *(Panel(f"range {length}", line_of("slices", f"range {length}"), "partials per window", SLIDE) for length in GRID),
        *(Panel(f"range {length}", line_of("slices combines", f"range {length}"), COMBINES, SLIDE) for length in GRID),
    ), columns=3),
)  # fmt: skip
