"""The table of cases, with the targets of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

import sash
from benchmarks.case import FASTEST_PEER, Call, Case, Target
from benchmarks.first_answer.ask_sash import QUESTIONS
from benchmarks.query_overhead.case import OverheadCase, OverheadContestant, RowWindow
from benchmarks.query_overhead.warm import WarmCase
from benchmarks.sash_calls import AGGREGATES, slide
from benchmarks.windows.case import TableCase, TimeWindow, Windows, microseconds
from benchmarks.windows.peers import per_row, per_window
from benchmarks.windows.sash_calls import by_sash
from sash import window

LENGTH = 1_000
HOUR = "1h"
BY_SLIDE, ONE, TWO = "slide", "Query, 1 thread", "Query, 2 threads"
PLAIN = "without"
MOST = 1.5
"""Times `slide`, or times the same query without nulls."""
NANOSECONDS = {"by time": 120, "by key": 25}
"""Of the hour before each row."""
KEYS: Mapping[str, Mapping[str, Any]] = {
    "no key": {},
    "sorted keys": {"by": "household"},
    "sorted keys and time": {"by": "household", "time": "ts"},
}
"""The arguments of `Query`. Only with a time is it checked that the rows are in order."""


def by_query(
    aggregate: str, windows: window.Window, options: Mapping[str, Any], table: pa.Table, threads: int | None = None
) -> Call:
    """Return the call of a query, declared once; without a key the table has no other columns than the load."""
    query = sash.Query({"answer": AGGREGATES[aggregate]("load")}, windows, **options)
    rows = table if options else table.select(["load"])

    def run() -> Any:
        return query.run(rows, threads=threads)["answer"]

    return run


def by_slide(aggregate: str, table: pa.Table) -> Call:
    """Return the call of the kernel over the column alone."""
    values = table["load"].to_numpy()
    return lambda: slide(aggregate, "auto", values, LENGTH)


def of_rows() -> Iterator[OverheadCase]:
    """Yield the last rows by `Query`, in one thread and in two, beside `Aggregator.slide`, which has one."""
    for keys, options in KEYS.items():
        for aggregate in ("max", "sum", "mean", "stddev"):
            asked = partial(by_query, aggregate, window.rows(LENGTH), options)
            frame = RowWindow(rows=LENGTH, keyed=bool(options))
            yield OverheadCase(
                name=f"{aggregate}, {keys}, rows({LENGTH})",
                aggregate=aggregate,
                contestants=(
                    OverheadContestant(
                        name=ONE, role="sash", algorithm="auto", prepare=partial(asked, threads=1), window=frame
                    ),
                    OverheadContestant(
                        name=TWO, role="sash", algorithm="auto", prepare=partial(asked, threads=2), window=frame
                    ),
                    OverheadContestant(
                        name=BY_SLIDE,
                        role="sash",
                        algorithm="auto",
                        prepare=partial(by_slide, aggregate),
                        window=RowWindow(rows=LENGTH, keyed=False),
                    ),
                ),
                targets=(
                    Target(contestant=ONE, against=BY_SLIDE, at_most=MOST),
                    Target(contestant=TWO, against=ONE, at_least=1),
                ),
            )


def sliding() -> Iterator[TableCase]:
    """Yield a day of 1,000 keys, rows in order of time, beside every formulation in Polars and DuckDB."""
    for slide_of_day in ("1m", "7m", "11m", "13m"):
        windows: Windows = {"day": TimeWindow("24h", slide_of_day)}
        own = (Target(at_most=60),) if slide_of_day == "1m" else ()
        yield TableCase(
            name=f"rows by time, {windows['day']}",
            contestants=(by_sash(windows, "by time"), *per_window(windows, "by time")),
            targets=(*own, Target(against=FASTEST_PEER, at_least=1)),
        )


def rolling() -> Iterator[TableCase]:
    """Yield the hour before each row, in both orders of the rows, beside Polars' rolling windows."""
    windows: Windows = {"hour": TimeWindow(HOUR)}
    for events, limit in NANOSECONDS.items():
        yield TableCase(
            name=f"rows {events}, {windows['hour']}",
            contestants=(by_sash(windows, events), *per_row(windows, events)),
            targets=(Target(at_most=limit), Target(against="Polars rolling", at_least=1)),
        )


def with_nulls() -> Iterator[OverheadCase]:
    """Yield the same query with nulls in the column and with `min_rows`, beside the query without."""
    for aggregate in ("max", "mean"):
        for shown, windows, options, frame in (
            (f"rows({LENGTH})", partial(window.rows, LENGTH), KEYS["sorted keys"], RowWindow(rows=LENGTH)),
            (f"{HOUR} per row", partial(window.time, HOUR), KEYS["sorted keys and time"], _hour("right")),
        ):
            asked = partial(by_query, aggregate)
            given = {
                PLAIN: (windows(), 1, "all"),
                "nulls": (windows(), 1, "with nulls"),
                "min_rows": (windows(min_rows=10), 10, "all"),
                "nulls and min_rows": (windows(min_rows=10), 10, "with nulls"),
            }
            yield OverheadCase(
                name=f"nulls and min_rows, {aggregate}, {shown}",
                aggregate=aggregate,
                shown_range=shown,
                contestants=tuple(
                    OverheadContestant(
                        name=name,
                        role="sash",
                        algorithm="auto",
                        prepare=partial(asked, made, options),
                        window=RowWindow(frame.rows, frame.microseconds, least=least),
                        loads=loads,  # type: ignore[arg-type]
                    )
                    for name, (made, least, loads) in given.items()
                ),
                targets=tuple(Target(contestant=name, against=PLAIN, at_most=MOST) for name in given if name != PLAIN),
            )


def closed() -> Iterator[OverheadCase]:
    """Yield an hour that includes other ends than its own row, beside the default."""
    yield OverheadCase(
        name=f"closed, max, {HOUR} per row",
        aggregate="max",
        shown_range=f"{HOUR} per row",
        contestants=tuple(
            OverheadContestant(
                name=end,
                role="sash",
                algorithm="auto",
                prepare=partial(by_query, "max", window.time(HOUR, closed=end), KEYS["sorted keys and time"]),
                window=_hour(end),
            )
            for end in ("right", "left", "both", "neither")
        ),
        targets=tuple(Target(contestant=end, against="right", at_most=MOST) for end in ("left", "both", "neither")),
    )


def _hour(end: str) -> RowWindow:
    return RowWindow(microseconds=microseconds(HOUR), closed=end)


WARM = WarmCase(name="1 K rows, warm", targets=tuple(Target(contestant=name, at_most=0.4e-3) for name in QUESTIONS))

CASES: tuple[Case, ...] = (*of_rows(), *sliding(), *rolling(), *with_nulls(), *closed(), WARM)
