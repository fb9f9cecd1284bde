"""What a case must give, by the naive oracle.

The oracle counts in ticks of the time column, so that it knows nanoseconds; only windows of the calendar need Python's times.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from datetime import time as time_of_day
from typing import Any
from zoneinfo import ZoneInfo

from fuzz.calls import build, in_ticks
from fuzz.cases import EXPRESSION_KEYS, Case
from fuzz.forms import NUMPY_FLOATS
from fuzz.random_columns import rank_of
from fuzz.random_tables import RandomTable, TimeKind
from sash.aggregates.base import Aggregate
from sash.testing.naive_windows import comparable, in_utc, in_zone, recompute_query, results, rows_of_each
from sash.windows import Window
from sash.windows.row_frame import RowFrame

Row = dict[str, Any]
SECOND = 10**9


class Category(str):
    """A value of an ordered dictionary: its order is that of the categories."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return bool(rank_of(str(self)) < rank_of(str(other)))

    def __gt__(self, other: str) -> bool:
        return bool(rank_of(str(self)) > rank_of(str(other)))

    def __le__(self, other: str) -> bool:
        return not self > other

    def __ge__(self, other: str) -> bool:
        return not self < other


def expected_rows(case: Case) -> list[Row]:
    """Return the results of a case: windows begin and end in ticks."""
    rows = rows_of(case, case.table)
    lengths = case.lengths if case.has_calendar else in_ticks
    own = [] if case.labels is None else rows_of(case, case.labels)
    aggregates = {name: one.for_oracle(rows, f"__{name}_", lengths) for name, one in case.aggregates.items()}
    windows: dict[str, Window] = {name: build(call.text(lengths)) for name, call in case.windows.items()}
    if case.labels is None:
        given = next(iter(windows.values())) if len(windows) == 1 else windows
        time = None if case.table.time is None else "t"
        made = recompute_query(rows, aggregates, given, case.by, time, case.order_by)
    else:
        made = at_labels(case, rows, own, aggregates, windows)
    return [finished(case, row) for row in made]


def rows_of(case: Case, table: RandomTable) -> list[Row]:
    """Return the rows of a table as the oracle takes them."""
    listed: list[Row] = table.table().to_pylist()
    numpy_floats = [
        name for name, column in table.columns.items() if is_numpy_float(case, table, name, column.type_text)
    ]
    ranked = [
        name
        for name, column in table.columns.items()
        if "ordered=True" in column.type_text and case.kind not in ("polars", "lazy")
    ]
    in_polars = case.kind in ("polars", "lazy")
    dates = [name for name, column in table.columns.items() if in_polars and column.type_text == "pa.date64()"]
    for number, row in enumerate(listed):
        for name, value in row.items():
            row[name] = in_utc(value)
        for name in dates:  # Polars makes times of them
            row[name] = None if row[name] is None else datetime.combine(row[name], time_of_day())
        for name in numpy_floats:
            if row[name] is not None and math.isnan(row[name]):
                row[name] = None
        for name in ranked:
            row[name] = None if row[name] is None else Category(row[name])
        if table.time is not None:
            ticks = table.columns["t"].values[number]
            row["t"] = moment_of(ticks, table.time) if case.has_calendar else ticks
    for name in set(case.by) & set(EXPRESSION_KEYS):
        for row in listed:
            row[name] = EXPRESSION_KEYS[name](row)
    return listed


def is_numpy_float(case: Case, table: RandomTable, name: str, type_text: str) -> bool:
    """Return whether a column is one of NumPy's floats in pandas, in which NaN is null."""
    if case.kind != "pandas" or type_text not in NUMPY_FLOATS:
        return False
    return table is case.labels or name not in build(case.form, table=None, pandas=lambda _, types, *__: types)


def moment_of(ticks: int, time: TimeKind) -> datetime | date:
    """Return a time as Python's."""
    assert time.tick is not None
    if "date" in time.type_text:
        return date(1970, 1, 1) + timedelta(days=ticks * time.tick // (86_400 * SECOND))
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=ticks * time.tick // 1_000)
    return moment.astimezone(ZoneInfo(time.zone)) if time.zone else moment.replace(tzinfo=None)


def at_labels(
    case: Case,
    rows: list[Row],
    labels: list[Row],
    aggregates: Mapping[str, Aggregate[Any]],
    windows: Mapping[str, Window],
) -> list[Row]:
    """Return the labels with their results: each holds the events of its key up to its time."""
    assert case.table.time is not None
    zone = case.table.time.zone
    ordered = sorted(rows, key=lambda row: [comparable(row[column]) for column in ("t", *case.order_by)])
    ordered = [row | {"t": in_utc(row["t"])} for row in ordered]
    made = []
    for label in labels:
        now = in_utc(label["t"])
        key = [comparable(label[name]) for name in case.by]
        events = [row for row in ordered if row["t"] <= now and [comparable(row[name]) for name in case.by] == key]
        added: Row = {}
        for window_name, one in windows.items():
            window = in_zone(one, zone)
            held: list[Mapping[str, Any]] = list(events_of(window, events, {"t": now}))
            found = results(aggregates, window, held, "t", now)
            added |= {f"{name}_{window_name}" if len(windows) > 1 else name: value for name, value in found.items()}
        made.append(label | {name: added[name] for name in added_names(case)})
    return made


def events_of(window: Window, events: list[Row], label: Row) -> list[Row]:
    """Return the events that a window of a label holds. Windows of rows count from the last event; the others from the label."""
    if isinstance(window, RowFrame):
        return [dict(row) for row in rows_of_each(window, [*events], "t")[-1]] if events else []
    return [event for event in events if any(held is event for held in rows_of_each(window, [event, label], "t")[-1])]


def added_names(case: Case) -> list[str]:
    """Return the columns that results per row add."""
    if len(case.windows) == 1:
        return list(case.aggregates)
    return [f"{name}_{window}" for name in case.aggregates for window in case.windows]


def finished(case: Case, row: Row) -> Row:
    """Return a row of the oracle without its helper columns, slopes per second."""
    made = {name: value for name, value in row.items() if not name.startswith("__")}
    if "id" in made:  # results per row stand beside the columns of the input alone
        made = {name: value for name, value in made.items() if name not in EXPRESSION_KEYS}
    time = case.table.time
    if time is None or time.tick is None or case.has_calendar:
        return made
    for name, one in case.aggregates.items():
        for column in (name, *(f"{name}_{window}" for window in case.windows)):
            if one.reads_time and made.get(column) is not None:
                made[column] *= SECOND / time.tick
    return made
