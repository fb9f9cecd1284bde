"""Runs a case and compares it with the oracle: it passes, is refused with a clear message, or is a finding."""

from __future__ import annotations

import signal
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import FrameType
from typing import Any

import pandas as pd
import pyarrow as pa

import sash
from fuzz.calls import build
from fuzz.cases import Case, as_key
from fuzz.comparison import ROUNDING, matches, nanoseconds
from fuzz.expected import Row, added_names, expected_rows
from fuzz.forms import as_table
from fuzz.random_aggregates import AggregateCall
from sash.state import reader

SOURCE = Path(sash.__file__).parent
MOST_SECONDS = 120
"""The processor time of a case; compiling takes seconds."""
MOST_ROWS = reader.MOST_ROWS
BETWEEN_TIMES = 1_000
"""Nanoseconds by which a median of times may differ: pandas, whose times the oracle computes with, rounds them to floats."""
EXACT_SKETCH = 150
"""The rows up to which a sketch of quantiles holds all values, whatever the order in which sketches are merged."""
LINE_ROUNDING = 1e-13
"""The error of a slope in values per tick."""
SECOND = 10**9
BOUNDS = ("window_start", "window_end", "t")


@dataclass(frozen=True)
class Outcome:
    """What became of a case."""

    kind: str
    """passed, refused or finding."""
    message: str = ""
    signature: str = ""
    """Equal for findings that probably have one cause."""


class TakesTooLong(BaseException):
    """A case that takes too long."""


class Difference(AssertionError):  # noqa: N818 — it is what was found
    """A result that is not the oracle's."""

    def __init__(self, message: str, signature: str) -> None:
        super().__init__(message)
        self.signature = signature


def check(case: Case) -> Outcome:
    """Return what becomes of a case."""
    try:
        with limited(MOST_SECONDS), warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                compare(case)
            finally:
                reader.MOST_ROWS = MOST_ROWS
    except Difference as difference:
        return Outcome("finding", str(difference), difference.signature)
    except OverflowError as error:
        if overflows(case):
            return Outcome("refused", str(error))
        return finding(error)
    except TakesTooLong:
        return Outcome("finding", f"it takes more than {MOST_SECONDS} s", "too slow")
    except Exception as error:  # noqa: BLE001 — whatever it is, it is a finding
        return Outcome("refused", str(error)) if is_refusal(error) else finding(error)
    return Outcome("passed")


def compare(case: Case) -> None:
    """Run a case. Raise Difference if a result is not the oracle's."""
    table = case.table.table()
    labels = None if case.labels is None else case.labels.table()
    query = build(case.query)
    data = build(case.form, table=table)
    if case.setting:
        reader.MOST_ROWS = 1
    options = case.options if labels is None else case.options | {"at": build(case.label_form, labels=labels)}
    declared = declared_schema(case, query, table if case.kind == "stream" else data, options)
    result = query.run(data, **options)
    if isinstance(result, pd.DataFrame):
        found = listed_frame(result)
        names = list(result.columns)
    else:
        made = as_table(case.kind, result)
        check_schema(case, made.schema, declared)
        found, names = listed(made), made.column_names
    compare_rows(case, found, names)


def declared_schema(case: Case, query: sash.Query, data: Any, options: dict[str, Any]) -> pa.Schema:
    """Return the schema that `schema` promises. That of a stream is that of a table, since to ask for it compiles, and updates have a change."""
    made: pa.Schema = query.schema(data, **{name: one for name, one in options.items() if name == "at"})
    return made.append(pa.field("change", pa.string())) if case.options.get("mode") == "update" else made


def check_schema(case: Case, found: pa.Schema, declared: pa.Schema) -> None:
    """Raise Difference if the types of results are not those that `schema` promised."""
    if found.names != declared.names:
        raise Difference(f"columns {found.names}, but schema() says {declared.names}", f"schema names {case.kind}")
    for field in declared:
        if found.field(field.name).type != field.type:
            one = next(
                (
                    call
                    for name, call in case.aggregates.items()
                    if field.name in (name, *(f"{name}_{window}" for window in case.windows))
                ),
                None,
            )
            message = f"{field.name} is of type {found.field(field.name).type}, but schema() says {field.type}"
            raise Difference(message, f"schema of {one.name if one else field.name} {case.kind}")


def listed(table: pa.Table) -> list[Row]:
    """Return the rows of an Arrow table; times as numbers of nanoseconds."""
    columns = {}
    for name in table.column_names:
        column = table[name]
        if name in BOUNDS and pa.types.is_temporal(column.type):
            columns[name] = in_nanoseconds(column)
        else:
            columns[name] = column.to_pylist(maps_as_pydicts="strict")
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def in_nanoseconds(column: pa.ChunkedArray) -> list[int | None]:
    """Return times in nanoseconds."""
    kind = column.type
    if pa.types.is_date32(kind):
        return [None if one is None else one * 86_400 * 10**9 for one in column.cast(pa.int32()).to_pylist()]
    tick = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}["ms" if pa.types.is_date64(kind) else kind.unit]
    return [None if one is None else one * tick for one in column.cast(pa.int64()).to_pylist()]


def listed_frame(frame: pd.DataFrame) -> list[Row]:
    """Return the rows of a DataFrame."""
    columns = {name: list(frame[name]) for name in frame.columns}
    for name in BOUNDS:
        if name in columns:
            columns[name] = [value if (ns := nanoseconds(value)) is None else ns for value in columns[name]]
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def compare_rows(case: Case, found: list[Row], names: list[str]) -> None:
    """Raise Difference if rows are not the oracle's: in order for tables; a stream may give the rows of keys in another order."""
    expected = [in_order_of_columns(case, row) for row in expected_rows(case)]
    if case.kind == "stream":
        found = merged(case, found) if case.options.get("mode") == "update" else found
        found, expected = sorted(found, key=place_of(case)), sorted(expected, key=place_of(case))
    kinds = " + ".join(sorted({call.function for call in case.windows.values()}))
    if len(found) != len(expected):
        raise Difference(f"{len(found)} rows instead of {len(expected)}", f"number of rows, {kinds}, {case.kind}")
    for number, (mine, theirs) in enumerate(zip(found, expected, strict=True)):
        if set(mine) != set(theirs):
            raise Difference(f"columns {list(mine)} instead of {list(theirs)}", f"columns {case.kind}")
        for name, value in theirs.items():
            one = case.aggregates.get(name.partition("_")[0])
            if not matches(mine[name], value, nan_is_null=case.kind == "pandas", apart=tolerance(case, one)):
                message = f"row {number}, {name}: {mine[name]!r} instead of {value!r}"
                raise Difference(message, f"{one.name if one else name}, {kinds}, {case.kind}")
    if (
        list(names)[-len(added_names(case)) :] != added_names(case)
        and case.options.get("mode") != "update"
        and is_per_row(case)
    ):
        raise Difference(f"columns {names}", f"order of columns {case.kind}")


def tolerance(case: Case, one: AggregateCall | None) -> float:
    """Return how far apart results may be, besides relative rounding."""
    time = case.table.time
    if one is None:
        return ROUNDING
    if one.name in ("median", "quantile"):
        return BETWEEN_TIMES if "time" in one.traits(case.table) else ROUNDING
    if one.name == "approx_quantile" and case.table.rows > EXACT_SKETCH:
        return float("inf")
    if time is not None and len(one.inputs) == 1 and one.name in ("slope", "intercept"):
        per_second = SECOND / (time.tick or SECOND)
        far = max(map(abs, case.table.columns["t"].values), default=0)  # the line is extended to 1970
        return max(ROUNDING, LINE_ROUNDING * (far if one.name == "intercept" else per_second))
    return ROUNDING


def is_per_row(case: Case) -> bool:
    """Return whether each row has a result."""
    return any(build(call.text(case.lengths)).per_row for call in case.windows.values())


def in_order_of_columns(case: Case, row: Row) -> Row:
    """Return a row of the oracle with its times in nanoseconds."""
    time = case.table.time
    if time is None or time.tick is None:
        return row
    return row | {
        name: nanoseconds(row[name]) if case.has_calendar else row[name] * time.tick
        for name in BOUNDS
        if row.get(name) is not None
    }


def place_of(case: Case) -> Any:
    """Return a key that sorts results of a stream: by row, or by window, key and time, and then as they came."""

    def place(row: Row) -> Any:
        if is_row:
            return row["id"]
        keys = [text_of(row[name]) for name in case.by]
        return [row.get("window", ""), keys, row.get("window_start") or 0, row.get("window_end") or 0]

    is_row = is_per_row(case)
    return place


def text_of(key: Any) -> str:
    """Return a key as text; equal times have the same, whatever their zone."""
    return as_key(key if (ns := nanoseconds(key)) is None else ns)


def merged(case: Case, found: list[Row]) -> list[Row]:
    """Return what a MERGE by key and window keeps of all updates."""
    kept: dict[Any, Row] = {}
    for row in found:
        at = tuple(text_of(row.get(name)) for name in (*case.by, "window", "window_start", "window_end"))
        if row.pop("change") == "delete":
            if at not in kept:
                raise Difference(f"{row} is deleted, but was never emitted", "delete of nothing")
            del kept[at]
        else:
            kept[at] = row
    return list(kept.values())


def overflows(case: Case) -> bool:
    """Return whether a result of the oracle does not fit in its type, or a column holds numbers that arithmetic does not take."""

    def is_large(value: Any) -> bool:
        if isinstance(value, list | tuple):
            return any(map(is_large, value))
        if isinstance(value, dict):
            return any(map(is_large, value.values()))
        return isinstance(value, int | Decimal) and not -(2**63) <= value < 2**63

    if any(is_large(column.values) for column in case.table.columns.values()):
        return True
    try:
        return any(is_large(list(row.values())) for row in expected_rows(case))
    except OverflowError:
        return True


def is_refusal(error: Exception) -> bool:
    """Return whether Sash itself refused the query, in a sentence."""
    if type(error) not in (ValueError, TypeError, NotImplementedError):
        return False
    frames = traceback.extract_tb(error.__traceback__)
    return Path(frames[-1].filename).is_relative_to(SOURCE) and str(error).rstrip().endswith((".", ")"))


def finding(error: Exception) -> Outcome:
    """Return the finding for an error; its signature is where Sash was."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(SOURCE)
    ]
    place = f"{Path(frames[-1].filename).relative_to(SOURCE)}:{frames[-1].name}" if frames else "outside of sash"
    if frames and frames[-1].name == "recompute":
        place += f" of {traceback.extract_tb(error.__traceback__)[-1].name}"
    return Outcome("finding", f"{type(error).__name__}: {error}\n  at {place}", f"{type(error).__name__} at {place}")


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise TakesTooLong if what follows takes more processor time."""

    def stop(_: int, __: FrameType | None) -> None:
        raise TakesTooLong

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
