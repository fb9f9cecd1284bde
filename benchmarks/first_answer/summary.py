"""The table of targets: for each way to measure and number of rows, the slowest of the queries beside its target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmarks.case import Case
from benchmarks.first_answer.case import LIMITS, FirstCase
from benchmarks.first_answer.processes import DIFFERENCE, EMPTY, FURTHER, LIBRARIES, RUNS, STREAM, STREAMS, WARM
from benchmarks.report import Verdict, judge, quantity, say_target
from benchmarks.results import Reading

TITLES = {
    EMPTY: "first result, empty cache, imports included",
    FURTHER: "each further kind of query, empty cache",
    WARM: "first result, warm cache, imports included",
    STREAM: "a stream of 1 K rows, empty cache, imports included",
    **{name: f"{name}: first result, imports included" for name in LIBRARIES},
    DIFFERENCE: "new executors: first run minus second run",
    **{name: f"new executors: {name}" for name in RUNS},
    **{name: f"first micro-batch of a stream: {name}" for name in STREAMS},
}
"""The lines by contestant."""


def show(cases: Sequence[Case], readings: list[Reading], console: Console) -> None:
    """Print the table."""
    table = Table(title="Time to the first result: the slowest query", show_lines=True)
    for heading in ("", *LIMITS):
        table.add_column(heading)
    for title, cells in lines(cases, readings):
        table.add_row(title, *(Text("\n").join(Text(text, _style(text)) for text in cell) for cell in cells))
    console.print(table)
    verdicts = judge(cases, readings)
    console.print(f"{sum(one.is_met for one in verdicts)} of {len(verdicts)} targets met, ✗ marks the others.")


def _style(text: str) -> str:
    return "green" if "✓" in text else "red" if "✗" in text else ""


def lines(cases: Iterable[Case], readings: Sequence[Reading]) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield a title and, for each column, the slowest of the readings; with targets, one for each target."""
    known = {case.name: case for case in cases if isinstance(case, FirstCase)}
    verdicts = judge(known.values(), readings)
    for contestant, title in TITLES.items():
        judged = [one for one in verdicts if one.target.contestant == contestant]
        plain = [one for one in readings if one.contestant == contestant and one.case in known]
        cells = []
        for column in LIMITS:
            if judged:
                cells.append(_slowest_judged([one for one in judged if known[one.case.name].column == column]))
            else:
                cells.append(_slowest([one for one in plain if known[one.case].column == column], known))
        if any(cells):
            yield title, cells


def _slowest_judged(verdicts: list[Verdict]) -> list[str]:
    """Return the slowest for each limit, the strictest limit first."""
    found: dict[float, Verdict] = {}
    for one in verdicts:
        limit = one.target.at_most or 0.0
        found[limit] = max(found.get(limit, one), one, key=lambda each: each.own.value)
    return [
        f"{quantity(one.own)} {'✓' if one.is_met else '✗'} ({say_target(one)}; {_query(one.case)})"
        for _, one in sorted(found.items())
    ]


def _slowest(readings: list[Reading], cases: dict[str, FirstCase]) -> list[str]:
    if not readings:
        return []
    one = max(readings, key=lambda each: each.value)
    return [f"{quantity(one)} ({_query(cases[one.case])})"]


def _query(case: Case) -> str:
    return case.query if isinstance(case, FirstCase) else case.name


def page(cases: Sequence[FirstCase], readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the lines of the page: the table of targets, then every query."""
    yield "The table shows the slowest query of each."
    yield ""
    yield from _markdown(["", *LIMITS], ([title, *map("<br>".join, cells)] for title, cells in lines(cases, readings)))
    found = {(one.case, one.contestant): one for one in readings}
    contestants = [EMPTY, WARM, FURTHER, *LIBRARIES]
    for rows in dict.fromkeys(case.range for case in cases):
        own = [case for case in cases if case.range == rows and (case.name, EMPTY) in found]
        if own:
            yield f"All queries, {rows}:"
            yield ""
            measured = (
                [
                    case.query,
                    *(quantity(found[case.name, name]) if (case.name, name) in found else "" for name in contestants),
                ]
                for case in own
            )
            yield from _markdown(["query", *contestants], measured)


def _markdown(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for row in (headings, ["---"] * len(headings), *rows):
        yield f"| {' | '.join(row)} |"
    yield ""
