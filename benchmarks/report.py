"""The table of targets with what was measured beside each, from the CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmarks.case import (
    BYTES,
    BYTES_A_KEY,
    COMBINES,
    COUNT,
    ERROR,
    FASTEST_PEER,
    HELD,
    ITEMS,
    MEGABYTES,
    MEMORY,
    PARTIALS,
    RATE,
    RATIO,
    SECONDS,
    Case,
    Target,
    say,
)
from benchmarks.cases import RANGES
from benchmarks.results import Reading
from sash.plan.expected import bytes_to_text

WRITTEN: Mapping[str, Callable[[float], str]] = {
    ERROR: "{:.1e}".format,
    MEMORY: "{:,.0f} MB".format,
    **{measure: f"{{:.3g}} {measure.partition(' ')[0]}".format for measure in (COMBINES, PARTIALS, ITEMS)},
    RATE: "{:,.0f} events a second".format,
    MEGABYTES: "{:.3g} MB".format,
    HELD: "{:.3g} MB".format,
    BYTES: bytes_to_text,
    BYTES_A_KEY: "{:,.0f} B".format,
    RATIO: "{:,.3g} ×".format,
    COUNT: "{:,.0f}".format,
}
"""How numbers that are no times are written, by what was measured."""


@dataclass(frozen=True)
class Verdict:
    """One target of one case, judged."""

    case: Case
    target: Target
    own: Reading
    other: Reading | None

    @property
    def ratio(self) -> float:
        """How many times better the contestant is than the other; for a limit, how many times the other's it takes."""
        if self.other is None:
            return 1.0
        better, worse = self.own.value, self.other.value
        if self.target.at_most is not None:
            better, worse = worse, better
        return worse / better if better else float("inf")

    @property
    def is_met(self) -> bool:
        """Whether the target is reached."""
        if self.target.at_least is not None:
            return self.ratio >= self.target.at_least
        return self.target.at_most is not None and (self.ratio if self.other else self.own.value) <= self.target.at_most

    @property
    def cell(self) -> Text:
        """The measured number in green or red, and below it what it was made from."""
        is_ratio = self.other is not None and self.own.measure != ERROR
        mark, style = ("✓", "green") if self.is_met else ("✗", "red")
        text = Text(f"{round_off(self.ratio)} × {mark}" if is_ratio else f"{quantity(self.own)} {mark}", style)
        if self.other is not None:
            text.append(f"\n{quantity(self.own)}, {self.beside}" if is_ratio else f"\n{self.beside}", "dim default")
        return text

    @property
    def beside(self) -> str:
        """What it was compared with, and on how few rows that was measured, if it was."""
        if self.other is None:
            return ""
        fewer = f" on {self.other.rows:,} rows" if self.other.rows < self.own.rows else ""
        return f"{self.other.contestant} {quantity(self.other)}{fewer}"


def round_off(ratio: float) -> str:
    """Write a ratio with two or three digits.

    >>> round_off(0.0523), round_off(4.26), round_off(12345)
    ('0.052', '4.3', '12,300')
    """
    return f"{float(f'{ratio:.3g}'):,.0f}" if ratio >= 100 else f"{ratio:.2g}"  # noqa: PLR2004


def quantity(one: Reading) -> str:
    """Write what was measured with its unit.

    >>> from unittest.mock import Mock
    >>> quantity(Mock(measure="ns a row", value=2.456)), quantity(Mock(measure="ns a row", value=45600.0))
    ('2.5 ns', '46 µs')
    """
    if one.measure in WRITTEN:
        return WRITTEN[one.measure](one.value)
    return say_time(one.value * 1e9 if one.measure == SECONDS else one.value)


def say_time(value: float) -> str:
    """Write nanoseconds in the unit that makes them readable.

    >>> say_time(1.5), say_time(4_000), say_time(12_345_678), say_time(2.74e9)
    ('1.5 ns', '4 µs', '12 ms', '2.7 s')
    """
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if value >= size:
            return f"{value / size:.2g} {unit}" if value < 100 * size else f"{value / size:.0f} {unit}"
    return f"{value:.1f} ns" if value < 10 else f"{value:.0f} ns"  # noqa: PLR2004


def judge(cases: Iterable[Case], readings: Iterable[Reading]) -> list[Verdict]:
    """Return a verdict for each target of each case that was measured."""
    found: dict[str, dict[str, Reading]] = {}
    for one in readings:
        found.setdefault(one.case, {})[one.contestant] = one
    verdicts = []
    for case in cases:
        measured = found.get(case.name, {})
        for target in case.targets:
            if target.contestant not in measured:  # not asked for, such as many keys in a quick run
                continue
            other = measured.get(target.against)
            if target.against == FASTEST_PEER:
                other = min((one for one in measured.values() if one.role == "peer"), key=lambda one: one.value)
            verdicts.append(Verdict(case, target, measured[target.contestant], other))
    return verdicts


def show(cases: Iterable[Case], readings: list[Reading], console: Console) -> None:
    """Print the targets with the measured ratios: first by range, then those that have ranges of their own."""
    verdicts = judge(cases, readings)
    columns = [say(length) for length in RANGES]
    lines: dict[tuple[str, str], list[Verdict]] = {}
    for one in verdicts:
        lines.setdefault((label(one), one.target.against), []).append(one)
    by_range = _table("Targets by range", "case", "to reach", *columns)
    others = _table("Other targets", "case", "range", "to reach", "measured")
    for (name, _), line in lines.items():
        cells = {one.case.range: one.cell for one in line}
        if cells.keys() <= set(columns):
            reach = ", ".join(dict.fromkeys(say_target(one) for one in line))
            by_range.add_row(name, reach, *(cells.get(heading, Text("")) for heading in columns))
        else:
            for one in line:
                others.add_row(name, one.case.range, say_target(one), one.cell)
    for table in (by_range, others):
        if table.row_count:
            console.print(table)
    copies = [one for one in readings if one.contestant == "copy of the column"]
    if copies:
        best = min(copies, key=lambda one: one.value)
        console.print(f"Memory roofline: a copy of the column into a fresh array takes {quantity(best)} a row.")
    met = sum(one.is_met for one in verdicts)
    console.print(f"{met} of {len(verdicts)} targets met, ✗ marks the others.")


def label(one: Verdict) -> str:
    """Return the name of a case without its range, with the contestant if that is not simply Sash."""
    name = one.case.name.removesuffix(one.case.range).rstrip(" ,")
    return name if one.target.contestant == "Sash" else f"{name}, {one.target.contestant}"


def say_target(one: Verdict) -> str:
    """Write a target with its unit, that of an error as the error it may have."""
    if one.own.measure == ERROR and one.target.against:
        return f"≤ {one.target.against}"
    if one.target.at_most is None or one.target.against or one.own.measure == ERROR:
        return str(one.target)
    limit = one.target.at_most * (1e9 if one.own.measure == SECONDS else 1)
    return f"≤ {say_time(limit)}".replace(".0 ns", " ns")


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title, show_lines=True)
    for heading in headings:
        table.add_column(heading)
    return table
