"""What pages have in common: Markdown tables, and the line that says where and when was measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks.case import SECONDS, TIME, Case
from benchmarks.report import quantity, round_off
from benchmarks.results import ROOT, Reading

HERE = Path(__file__).parent.parent


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table.

    >>> print(*table(["a", "b"], [["1", "2"]]), sep="|")
    | a | b ||| --- | --- ||| 1 | 2 ||
    """
    for row in (headings, ["---"] * len(headings), *rows):
        yield f"| {' | '.join(row)} |"
    yield ""


def say_where(readings: Sequence[Reading]) -> str:
    """Return on which machine, when and at which commits was measured."""
    own = [one for one in readings if one.role == "sash" and one.measure in (TIME, SECONDS)] or list(readings)
    facts = own[0]
    when = ", ".join(f"{date} (commit {commit})" for date, commit in sorted({(one.date, one.commit) for one in own}))
    return f"{facts.machine}, {facts.cores} cores, Python {facts.python}, {when}"


def say_file(csv: Path, depth: int) -> str:
    """Return a link to a CSV from a page that lies `depth` folders below the repository."""
    return f"[{csv.name}]({'../' * depth}{csv.relative_to(ROOT)})"


def text_of(name: str) -> str:
    """Return a text of the benchmarks; nothing if there is no such file."""
    path = HERE / name
    return path.read_text(encoding="utf-8").strip() + "\n" if path.exists() else ""


def all_measured(cases: Sequence[Case], readings: Sequence[Reading]) -> Iterator[str]:
    """Yield a table of everything that was measured, with the time for all rows."""
    most = {case.name: case.rows for case in cases}
    yield from table(
        ("case", "contestant", "measured", "rows", "time for all rows"),
        (_line(one, most.get(one.case, one.rows)) for one in readings),
    )


def shares_of_the_ideal(pairs: Iterable[tuple[Reading, Reading]]) -> Iterator[str]:
    """Yield a table of times with one thread and two: two take half of the time of one, at best."""
    rows = [
        [
            two.case.removesuffix(", time"),
            two.contestant,
            quantity(one),
            quantity(two),
            f"{one.value / two.value / 2:.0%}",
        ]
        for one, two in pairs
    ]
    if rows:
        yield "## One thread and two\n"
        yield from table(("case", "contestant", "one", "two", "share of the ideal"), rows)


def _line(one: Reading, most: int) -> list[str]:
    seconds = f"{round_off(one.value * most / 1e9)} s" + (", scaled" if one.rows < most else "")
    return [one.case, one.contestant, quantity(one), f"{one.rows:,}", seconds if one.measure == TIME else ""]
