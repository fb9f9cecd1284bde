"""What the papers say about each figure, and the same numbers computed from the CSV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console

from benchmarks.case import Case, say
from benchmarks.papers.analysis import Line, Lines, crossing, fit_log, mean_of, ratios, say_mean, say_ratio, series
from benchmarks.papers.cases import DRAWN, FIXED, OSCILLATING, REACTIVE, RECALCULATION, STEPS
from benchmarks.report import round_off, say_time
from benchmarks.results import Reading

Readings = Sequence[Reading]


@dataclass(frozen=True)
class Claim:
    """One statement of a paper, and how it is computed here."""

    figure: str
    paper: str
    compute: Callable[[Readings], str]

    def found(self, readings: Readings) -> str:
        """Return the same from the CSV; nothing if it has no such cases."""
        try:
            return self.compute(readings)
        except (KeyError, ValueError):  # a run of some cases only
            return ""


def faster(readings: Readings) -> str:
    """How many times faster the Reactive Aggregator is than recalculation, for the shortest window and for 1,024 rows."""
    parts = []
    for name in DRAWN:
        ratio = _against_recalculation(series(readings, "table 3", name))
        parts.append(f"{name}: {say_ratio(ratio[min(ratio)])} at {min(ratio)} rows, {say_ratio(ratio[1024])} at 1,024")
    return "; ".join(parts) + "."


def _against_recalculation(lines: Lines) -> Line:
    return ratios(lines[RECALCULATION], lines[REACTIVE])


def break_even(readings: Readings, name: str, level: float) -> str:
    """The window size from which on the Reactive Aggregator is `level` times as fast as recalculation."""
    ratio = _against_recalculation(series(readings, "table 3", name))
    found = crossing(ratio, level)
    if found is None:
        return f"not up to {say(max(ratio))}"
    return f"≤ {min(ratio)}" if found <= min(ratio) else f"≈ {round(found, -1):,.0f}"


def logarithmic(readings: Readings) -> str:
    """The fit to a logarithm, up to the longest window."""
    parts = []
    for name in DRAWN:
        line = series(readings, "figure 7", name)[REACTIVE]
        fit = fit_log(line)
        worst = max(line, key=lambda size: abs(line[size] / fit.at(size) - 1))
        parts.append(
            f"{name}: {fit.start:.0f} + {fit.slope:.1f} · log2 n ns, R² = {fit.explained:.2f}, up to {say(max(line))} rows; "
            f"farthest from the fit at {say(worst)} ({say_time(line[worst])}, fitted {say_time(fit.at(worst))})"
        )
    return "; ".join(parts) + "."


def logarithmic_combines(readings: Readings) -> str:
    """The counted combines of the same windows."""
    lines = series(readings, "figure 7 combines", "max")
    fit = fit_log(lines[REACTIVE])
    return f"counted: {fit.start:.1f} + {fit.slope:.2f} · log2 n combines a row, R² = {fit.explained:.3f}."


def tumbling(readings: Readings) -> str:
    """The Reactive Aggregator against recalculation for tumbling windows."""
    parts = []
    for name in DRAWN:
        lines = series(readings, "figure 8", name)
        parts.append(f"{name} {say_mean(ratios(lines[REACTIVE], lines[RECALCULATION]))}")
    return f"the Reactive Aggregator takes so many times as long as recalculation: {'; '.join(parts)}."


def resizing(readings: Readings) -> str:
    """Oscillating against fixed capacity."""
    parts = []
    for name in DRAWN:
        lines = series(readings, "figure 9", name)
        parts.append(f"{name} {say_mean(ratios(lines[OSCILLATING], lines[FIXED]))}")
    counted = series(readings, "figure 9 combines", "max")
    parts.append(f"counted combines of max {say_mean(ratios(counted[OSCILLATING], counted[FIXED]))}")
    return f"oscillating against fixed, time: {'; '.join(parts)}."


def coarse(readings: Readings) -> str:
    """The growth of the cost per row with the length of the window, for each slide."""
    lines, counted = (series(readings, figure, "stddev") for figure in ("figure 10", "figure 10 combines"))
    first, last = _ends(lines["m = 1"], at_least=256)
    grown = ", ".join(f"{m} {say_ratio(lines[m][last] / lines[m][first])}" for m in STEPS)
    least, most = _ends(counted["m = 1"], at_least=256)
    combined = ", ".join(f"{m} {counted[m][least]:.1f} → {counted[m][most]:.1f}" for m in STEPS)
    return (
        f"time per row at {say(last)} rows against {say(first)}: {grown}; "
        f"combines per row from {say(least)} to {say(most)} rows: {combined}."
    )


def _ends(line: Line, at_least: int = 0) -> tuple[int, int]:
    sizes = [size for size in line if size >= at_least]
    return min(sizes), max(sizes)


def constant_factor(readings: Readings) -> str:
    """B-Int against the Reactive Aggregator."""
    one = series(readings, "figure 7", "max")
    coarse_lines = series(readings, "figure 11", "max, m = 64")
    counted = series(readings, "figure 7 combines", "max")
    return (
        f"B-Int against the Reactive Aggregator, time for m = 1: {say_mean(ratios(one['B-Int'], one[REACTIVE]))}; "
        f"for m = 64: {say_mean(ratios(coarse_lines['B-Int'], coarse_lines[REACTIVE]))}; "
        f"counted combines for m = 1: {say_mean(ratios(counted['B-Int'], counted[REACTIVE]))}."
    )


def linear_space(readings: Readings) -> str:
    """The bytes of a row in a long window."""
    parts = []
    for name in DRAWN:
        lines = series(readings, "figure 12", name)
        size = max(lines[REACTIVE])
        held = {who: lines[who][size] * 1e6 / size for who in (RECALCULATION, REACTIVE)}
        small = max(each for each in lines[REACTIVE] if each <= 4 << 10)
        parts.append(
            f"{name} at {say(size)} rows: {held[REACTIVE]:.0f} bytes a row for the Reactive Aggregator, {held[RECALCULATION]:.0f} for "
            f"recalculation; at {say(small)} rows {lines[REACTIVE][small] * 1000:.0f} KB"
        )
    return "; ".join(parts) + "."


def one_query(readings: Readings) -> str:
    """FlatFIT against both forms of FlatFAT, one query."""
    return _flatfit(readings, "figure 13", "one query", ("FlatFAT", REACTIVE))


def all_queries(readings: Readings) -> str:
    """FlatFIT against FlatFAT, all queries."""
    return _flatfit(readings, "figure 14", "all queries", ("FlatFAT",))


def _flatfit(readings: Readings, figure: str, about: str, others: Sequence[str]) -> str:
    lines, counted = series(readings, figure, about), series(readings, f"{figure} combines", about)
    parts = []
    for other in others:
        quicker = ratios(lines[other], lines["FlatFIT"])
        fewer = ratios(counted[other], counted["FlatFIT"])
        most, widest = (max(each, key=lambda size, each=each: each[size]) for each in (quicker, fewer))  # type: ignore[misc]
        parts.append(
            f"against {other} {say_ratio(mean_of(quicker))} the throughput on average, at most {say_ratio(quicker[most])} "
            f"(at {say(most)}), at least {say_ratio(min(quicker.values()))}; {other} needs {say_ratio(mean_of(fewer))} the combines "
            f"on average, at most {say_ratio(fewer[widest])} (at {say(widest)})"
        )
    return "; ".join(parts) + "."


def from_size(readings: Readings) -> str:
    """The window size from which on FlatFIT is faster than FlatFAT."""
    lines = series(readings, "figure 13", "one query")
    parts = []
    for other in ("FlatFAT", REACTIVE):
        found = crossing(ratios(lines[other], lines["FlatFIT"]))
        when = (
            f"not up to {say(max(lines[other]))} rows"
            if found is None
            else f"from about {found:,.0f} row{'s' * (round(found) != 1)} on"
        )
        parts.append(f"faster than {other} {when}")
    return ", ".join(parts) + "."


def memory(readings: Readings) -> str:
    """FlatFAT's memory against FlatFIT's."""
    held, items = series(readings, "figure 16", "one query"), series(readings, "figure 16 items", "one query")
    more = ratios(items["FlatFAT"], items["FlatFIT"])
    compiled = ratios(held["FlatFAT"], held["FlatFIT"])
    return (
        f"counted partials and pointers: FlatFAT holds {say_ratio(mean_of(more))} on average, at most {say_ratio(max(more.values()))}; "
        f"bytes of the compiled windows: {say_ratio(mean_of(compiled))} on average, at most {say_ratio(max(compiled.values()))}."
    )


def against(readings: Readings, figure: str, name: str, other: str, own: str = "SlideSide") -> str:
    """How many times faster one is than another, from the first to the last size, and where it begins to be faster."""
    lines = series(readings, figure, name)
    quicker = ratios(lines[other], lines[own])
    first, last = _ends(quicker)
    most = max(quicker, key=lambda size: quicker[size])
    return (
        f"{own} has {say_ratio(quicker[first])} the throughput of {other} at {say(first)}, {say_ratio(quicker[last])} at {say(last)}, "
        f"at most {say_ratio(quicker[most])} (at {say(most)})"
    )


def invertible(readings: Readings) -> str:
    """Figure 3a."""
    others = ("Subtract-on-Evict", "SlickDeque", "Two-Stacks", "FlatFAT")
    return "; ".join(against(readings, "figure 3a", "sum", other) for other in others) + "."


def non_invertible(readings: Readings) -> str:
    """Figure 3b."""
    return (
        "; ".join(against(readings, "figure 3b", "min", other) for other in ("SlickDeque", "Two-Stacks", "FlatFAT"))
        + "."
    )


def one_range(readings: Readings) -> str:
    """Figures 3c and 3d: who is fastest, and SlideSide against it."""
    parts = []
    for figure, name in (("figure 3c", "sum"), ("figure 3d", "min")):
        lines = series(readings, figure, name)
        sizes = [size for size in lines["SlideSide"] if size >= 16]  # noqa: PLR2004 — shorter windows measure the loop
        mean = {who: sum(line[size] for size in sizes) / len(sizes) for who, line in lines.items()}
        best = min(mean, key=lambda who: mean[who])
        parts.append(
            f"{name}: {best} is fastest from 16 rows on, {round_off(1e3 / mean[best])} M rows/s; SlideSide takes "
            f"{say_ratio(mean['SlideSide'] / mean[best])}, SlickDeque {say_ratio(mean['SlickDeque'] / mean[best])}"
        )
    return "; ".join(parts) + "."


def latency(readings: Readings) -> str:
    """Figure 3e: the median and a high percentile of each algorithm."""
    parts = []
    for name in ("sum", "min"):
        shown = {at: series(readings, "figure 3e", f"{name}, percentile {at}") for at in ("50", "99.9")}
        (size,) = {size for line in shown["50"].values() for size in line}
        each = ", ".join(
            f"{who} {say_time(line[size])} and {say_time(shown['99.9'][who][size])}"
            for who, line in shown["50"].items()
        )
        parts.append(f"{name}, median and 99.9 %: {each}")
    return "; ".join(parts) + "."


def fewer_partials(readings: Readings) -> str:
    """Panes, pairs and Cutty over the whole grid."""
    cells: dict[str, dict[str, float]] = {}
    for one in readings:
        if one.case.startswith("slices, "):
            cells.setdefault(one.case, {})[one.contestant] = one.value
    pairs = [cell["panes"] / cell["pairs"] for cell in cells.values()]
    cutty = [cell["pairs"] / cell["cutty"] for cell in cells.values()]
    worse = sum(cell["pairs"] > cell["panes"] or cell["cutty"] > cell["pairs"] for cell in cells.values())
    return (
        f"over {len(cells)} pairs of range and slide, panes need {say_ratio(min(pairs))} to {say_ratio(max(pairs))} the partials of pairs, "
        f"and pairs {say_ratio(min(cutty))} to {say_ratio(max(cutty))} those of Cutty; the order is another one in {worse} of them."
    )


def fewer_combines(readings: Readings) -> str:
    """Cutty with and without FlatFAT, per row."""
    cells: dict[str, dict[str, float]] = {}
    for one in readings:
        if one.case.startswith("slices combines, "):
            cells.setdefault(one.case, {})[one.contestant] = one.value
    ratio = [cell["cutty"] / cell["cutty and FlatFAT"] for cell in cells.values()]
    rows = [cell["no slices, FlatFAT"] / cell["cutty and FlatFAT"] for cell in cells.values()]
    return (
        f"combines per row: Cutty that recalculates needs {say_ratio(min(ratio))} to {say_ratio(max(ratio))} those of Cutty with FlatFAT; "
        f"FlatFAT over rows, without slices, {say_ratio(min(rows))} to {say_ratio(max(rows))}."
    )


CLAIMS: tuple[Claim, ...] = (
    Claim("figure 6", "The Reactive Aggregator is about 10 % slower than recalculation on small windows and almost 3 × as fast at 1,024 "
          "rows for Max; 5 % slower and over 10 × as fast for StdDev.", faster),
    Claim("figure 7", "Measured times match a logarithm closely up to 8 million rows, without a knee where caches end.", logarithmic),
    Claim("figure 7", "An update of one row takes O(log n) combines.", logarithmic_combines),
    Claim("figure 8", "For tumbling windows the cost is about the same with and without the Reactive Aggregator.", tumbling),
    Claim("figure 9", "The cost of resizing is amortised; the oscillating runs are faster, because their windows are shorter than n "
          "most of the time.", resizing),
    Claim("figure 10", "The cost per row is O(1 + log(n/m)): it grows with log n for m = 1, 4 and 64, and is constant for m = n/16, n/4 "
          "and n.", coarse),
    Claim("figure 11", "B-Int (Arasu and Widom) has the same complexity; the Reactive Aggregator is faster by a constant factor.",
          constant_factor),
    Claim("figure 12", "The Reactive Aggregator needs O(n) space with a small constant; up to 4 K rows the process itself dominates.",
          linear_space),
    Claim("figure 13", "One query: FlatFIT has 1.8 × the throughput of FlatFAT on average, 2.6 × at most.", one_query),
    Claim("figure 13", "FlatFIT is faster than FlatFAT from 8 rows on.", from_size),
    Claim("figure 15", "All queries: FlatFIT has 10 × the throughput of FlatFAT on average, 17 × at most.", all_queries),
    Claim("figure 16", "FlatFIT needs 1.4 × less memory than FlatFAT on average, 1.9 × at most.", memory),
    Claim("figure 3a", "Sum: Subtract-on-Evict is up to 2.5 × as fast as the multi-query algorithms for one query; with many queries they "
          "are nearly 4 × as fast. SlideSide is up to 40 % faster than SlickDeque.", invertible),
    Claim("figure 3b", "Min: copies of Two-Stacks are fastest for few queries; then SlideSide is 1.7 to 2.2 × as fast as SlickDeque and "
          "more than 4 × as fast as Two-Stacks and FlatFAT.", non_invertible),
    Claim("figure 3c", "One query: SlideSide is nearly 3 × slower than Subtract-on-Evict and Two-Stacks for sum; for min, Two-Stacks is "
          "best (440 M rows/s), and SlideSide, 3 × slower, is better than SlickDeque.", one_range),
    Claim("figure 3e", "Latency of 32 K rows: SlideSide is comparable to the best and better than SlickDeque; FlatFAT is an order of "
          "magnitude higher.", latency),
    Claim("slices", "Pairs need fewer slices than panes where range and slide have a small common divisor; Cutty cuts only where "
          "windows begin, which is optimal.", fewer_partials),
    Claim("slices combines", "Slicing alone repeats combinations of slices; Cutty keeps them in FlatFAT, over slices instead of rows.",
          fewer_combines),
)  # fmt: skip


def show(cases: Sequence[Case], readings: Sequence[Reading], console: Console) -> None:
    """Print the papers' claims with what was measured."""
    for one in CLAIMS:
        found = one.found(readings)
        if found:
            console.print(f"[bold]{one.figure}[/bold]: {one.paper} [dim]Here:[/dim] {found}")
    console.print(f"{len(cases)} cases. python -m benchmarks.papers.page draws the figures and writes docs/papers.md.")
