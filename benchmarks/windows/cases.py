"""The table of cases over time, with the targets of each."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.case import Target
from benchmarks.windows.case import TableCase, TimeWindow, Windows
from benchmarks.windows.peers import per_row, per_window
from benchmarks.windows.sash_calls import by_sash

DAY: Windows = {"day": TimeWindow("24h", "1m")}
HOUR_PER_ROW: Windows = {"hour": TimeWindow("1h")}
HALF_DAYS: Windows = {"day": TimeWindow("24h", "12h")}
"""At a slide of 1 m, a million keys would have three billion windows."""
DASHBOARD: Windows = {
    f"{length}_{slide}": TimeWindow(length, slide)
    for slide, lengths in {
        "1m": ("5m", "10m", "15m", "30m", "45m", "1h"),
        "2m": ("1h", "90m", "2h"),
        "5m": ("2h", "3h", "4h"),
        "10m": ("4h", "6h", "8h"),
        "15m": ("8h", "12h"),
        "30m": ("12h", "24h"),
        "1h": ("24h",),
    }.items()
    for length in lengths
}
"""Twenty windows as a dashboard shows them, each 5 to 60 times as long as its slide."""


def at_least(times: float, *others: str) -> tuple[Target, ...]:
    """Return that Sash is so many times as fast as each of these."""
    return tuple(Target(against=other, at_least=times) for other in others)


def sliding() -> Iterator[TableCase]:
    """Yield the day that slides each minute, in both orders of the rows, and with slides that the day is no multiple of."""
    for events in ("by time", "by key"):
        yield TableCase(
            name=f"rows {events}, {DAY['day']}",
            contestants=(by_sash(DAY, events), *per_window(DAY, events)),
            targets=at_least(3, "Polars group_by_dynamic", "DuckDB slices doubled"),
        )
    for slide in ("7m", "11m", "13m"):
        windows = {"day": TimeWindow("24h", slide)}
        yield TableCase(
            name=f"rows by time, {windows['day']}",
            contestants=(by_sash(windows, "by time"), *per_window(windows, "by time")),
            targets=at_least(3, "Polars group_by_dynamic"),
        )


def rolling() -> Iterator[TableCase]:
    """Yield the hour before each row, in both orders of the rows."""
    for events in ("by time", "by key"):
        yield TableCase(
            name=f"rows {events}, {HOUR_PER_ROW['hour']}",
            contestants=(by_sash(HOUR_PER_ROW, events), *per_row(HOUR_PER_ROW, events)),
            targets=at_least(3, "Polars rolling", "DuckDB frames"),
        )


def sharing() -> Iterator[TableCase]:
    """Yield many windows in one query beside one window."""
    yield TableCase(
        name="many windows beside one",
        contestants=(
            by_sash(DASHBOARD, "by time", f"{len(DASHBOARD)} windows"),
            by_sash(DAY, "by time", "one window"),
        ),
        targets=(Target(contestant=f"{len(DASHBOARD)} windows", against="one window", at_most=3),),
    )


def keys() -> Iterator[TableCase]:
    """Yield many keys of a few rows beside few keys of many rows."""
    for windows in (HOUR_PER_ROW, HALF_DAYS):
        (window,) = windows.values()
        yield TableCase(
            name=f"many keys beside few, {window}",
            contestants=(by_sash(windows, "many keys", "1 M keys"), by_sash(windows, "by time", "1,000 keys")),
            targets=(Target(contestant="1 M keys", against="1,000 keys", at_most=3),),
        )


CASES: tuple[TableCase, ...] = (*sliding(), *rolling(), *sharing(), *keys())
