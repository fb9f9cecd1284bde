"""Lists of rows from the bounds of windows: compiled and with NumPy, they equal those that the interpreter combines."""

from __future__ import annotations

import datetime as dt
import inspect
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.pairwise import matrix

import sash
from sash import agg, window
from sash.aggregates import BUILT_IN
from sash.aggregates.base import Aggregate
from sash.engine.executors import execute

ROWS = 240
CHOOSER = np.random.default_rng(7)


def with_nulls(values: list[Any], dtype: pa.DataType) -> pa.Array:
    """Return some values, drawn with repetition, with nulls between them."""
    drawn = [values[number] for number in CHOOSER.integers(0, len(values), ROWS)]
    return pa.array(
        [None if lot < 0.2 else value for value, lot in zip(drawn, CHOOSER.random(ROWS), strict=True)], dtype
    )


MOMENT = dt.datetime(2026, 3, 29, 0, 30, tzinfo=dt.UTC)
COLUMNS = {
    "float": with_nulls([1.5, -0.0, 0.0, float("nan"), float("inf"), -3.25, 1e300], pa.float64()),
    "many": pa.array(CHOOSER.normal(size=ROWS)),
    "half": with_nulls([1.5, 0.0, 2.5], pa.float16()),
    "int": with_nulls([3, -7, 0, 2**62, -(2**63)], pa.int64()),
    "small": with_nulls([3, -7, 0], pa.int8()),
    "unsigned": with_nulls([3, 0, 2**64 - 1, 2**63], pa.uint64()),
    "bool": with_nulls([True, False], pa.bool_()),
    "text": with_nulls(["ant", "bee", "", "ämse", "cat"], pa.string()),
    "large text": with_nulls(["ant", "bee", ""], pa.large_string()),
    "category": with_nulls(["ant", "bee", ""], pa.string()).dictionary_encode(),
    "bytes": with_nulls([b"ant", b"", b"\xff"], pa.binary()),
    "decimal": with_nulls([Decimal("1.10"), Decimal("-2.00"), Decimal("0.00")], pa.decimal128(9, 2)),
    "date": with_nulls([dt.date(2026, 3, 1), dt.date(1969, 3, 1)], pa.date32()),
    "time": with_nulls([dt.time(3, 4), dt.time(0, 0)], pa.time64("us")),
    "zoned": with_nulls([MOMENT, MOMENT + dt.timedelta(hours=1)], pa.timestamp("us", "Europe/Berlin")),
    "nanos": with_nulls([3, 0, 5], pa.int64()).cast(pa.timestamp("ns")),
    "duration": with_nulls([dt.timedelta(3), dt.timedelta(-1)], pa.duration("ms")),
    "list": with_nulls([[1, None], [], [3]], pa.list_(pa.int64())),
    "struct": with_nulls([{"a": 1, "b": "x"}, {"a": None, "b": "y"}], pa.struct({"a": pa.int64(), "b": pa.string()})),
    "null": pa.nulls(ROWS),
}
TABLE = pa.table(
    {
        "key": pa.array(CHOOSER.integers(0, 4, ROWS)),
        "ts": pa.array(np.sort(CHOOSER.integers(0, 500, ROWS))).cast(pa.timestamp("s")),
        "place": pa.array(CHOOSER.integers(0, 6, ROWS)),
        **COLUMNS,
    }
)
NESTED = ("list", "struct")
WINDOWS = {
    "rows": window.rows(7),
    "long": window.rows(60, min_rows=3),
    "ahead": window.rows(before=4, after=3),
    "expanding": window.expanding(),
    "time": window.time("40s"),
    "hops": window.time("60s", slide="20s"),
    "before": window.rows(5, closed="left"),
    "gaps": window.time("20s", slide="50s"),
    "sessions": window.session("10s"),
}


def made(name: str, column: str) -> Aggregate[Any]:
    """Return an aggregate over a column."""
    arguments: dict[str, Any] = {"first_n": {"n": 3}, "last_n": {"n": 3}, "top_k": {"k": 3}, "bottom_k": {"k": 5}}
    arguments |= {"concat": {"sep": ", "}}
    return getattr(agg, name)(column, **arguments.get(name, {}))  # type: ignore[no-any-return]


def answers(
    query: sash.Query, *, compiled: bool | None, monkeypatch: pytest.MonkeyPatch, data: pa.Table = TABLE
) -> pa.ChunkedArray:
    """Return the results; None runs with NumPy."""
    with monkeypatch.context() as patched:
        if compiled is None:
            patched.setattr(execute.Run, "compiles", property(lambda _: False))
        result = query.run(data, compiled=compiled)["answer"]
    assert isinstance(result, pa.ChunkedArray)
    result.validate(full=True)
    return result


def compare(query: sash.Query, monkeypatch: pytest.MonkeyPatch, *, compiles: bool = True) -> None:
    """Compare the three executors."""
    right = answers(query, compiled=False, monkeypatch=monkeypatch)
    for compiled in (None, True) if compiles else (None,):
        found = answers(query, compiled=compiled, monkeypatch=monkeypatch)
        assert found.type == right.type
        assert repr(found.to_pylist()) == repr(right.to_pylist())


@pytest.mark.parametrize(
    ("name", "column", "shown"),
    matrix(
        ["collect", "first_n", "last_n", "concat", "top_k", "bottom_k", "collect_distinct", "per_value"],
        list(COLUMNS),
        list(WINDOWS),
        valid=lambda name, column, _: column not in NESTED or name in ("collect", "first_n", "last_n", "concat"),
    ),
)
def test_lists_are_those_of_the_interpreter(
    name: str, column: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = sash.Query({"answer": made(name, column)}, WINDOWS[shown], by="key", time="ts")
    assert "interpreted" not in str(query.explain(TABLE))
    compare(query, monkeypatch, compiles=shown in ("rows", "hops"))


INNER = {
    "sum": agg.sum("small"),
    "mean": agg.mean("many"),
    "stddev": agg.stddev("many"),
    "median": agg.median("float"),
    "quantiles": agg.quantile("many", [0.1, 0.9]),
    "max of text": agg.max("text"),
    "first category": agg.first("category"),
    "sum of decimals": agg.sum("decimal"),
    "distinct": agg.count_distinct("text"),
    "mode": agg.mode("date"),
    "rank": agg.rank("many"),
    "mean that fades": agg.ewm_mean("many", half_life="10s"),
    "lists": agg.collect("text"),
    "top": agg.top_k("float", 2),
    "maps": agg.per_value("text", agg.max("many")),
    "own": sash.aggregate("own", lambda x: (x, 1), lambda a, b: (a[0] + b[0], a[1] + b[1]), lambda c: c[0] / c[1])(
        "many"
    ),
    "own objects": sash.aggregate("own", lambda x: {x}, lambda a, b: a | b, len)("place"),
}


@pytest.mark.parametrize("inner", INNER)
def test_items_of_maps_are_those_of_the_interpreter(inner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for shown in ("rows", "hops"):
        query = sash.Query({"answer": agg.per_value("place", INNER[inner])}, WINDOWS[shown], by="key", time="ts")
        right = answers(query, compiled=False, monkeypatch=monkeypatch)
        for compiled in (None, True):
            found = answers(query, compiled=compiled, monkeypatch=monkeypatch)
            assert found.type == right.type
            for one, other in zip(found.to_pylist(), right.to_pylist(), strict=True):
                assert (one is None) == (other is None)
                for (key, item), (right_key, right_item) in zip(one or [], other or [], strict=True):
                    assert key == right_key
                    if isinstance(item, float):
                        assert item == pytest.approx(right_item, rel=1e-9, nan_ok=True)
                    else:
                        assert repr(item) == repr(right_item)


def test_sorted_lists_of_random_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    chooser = np.random.default_rng(3)
    for rows in (1, 2, 50, 700):
        values = chooser.integers(0, max(2, rows // 3), rows).astype(np.float64)
        values[chooser.random(rows) < 0.1] = np.nan
        table = pa.table({"x": values, "t": np.sort(chooser.integers(0, rows, rows))})
        for k in (1, 4, 1_000):
            for windows in (window.rows(1), window.rows(33), window.time(9), window.time(40, slide=11)):
                query = sash.Query({"answer": agg.top_k("x", k)}, windows, time="t")
                right = answers(query, compiled=False, monkeypatch=monkeypatch, data=table)
                for compiled in (None, True):
                    found = answers(query, compiled=compiled, monkeypatch=monkeypatch, data=table)
                    assert repr(found.to_pylist()) == repr(right.to_pylist())


def test_rows_in_several_sections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sash.engine.run_table.SECTION_ROWS", 32)
    for name in ("collect", "last_n", "concat", "top_k", "collect_distinct", "per_value"):
        for by in (["key"], list[str]()):
            compare(sash.Query({"answer": made(name, "text")}, window.rows(30), by=by), monkeypatch, compiles=False)


def test_windows_of_several_runs_and_slices_asked_for_are_interpreted() -> None:
    without = window.rows(before=5, after=2, exclude="row")
    query = sash.Query({"answer": agg.collect("many")}, without, by="key")
    assert "interpreted" in str(query.explain(TABLE))
    assert query.run(TABLE)["answer"].to_pylist() == query.run(TABLE, compiled=False)["answer"].to_pylist()
    sliced = sash.Query({"answer": agg.last_n("many", 3)}, WINDOWS["hops"], by="key", time="ts", slicing="panes")
    assert sliced.run(TABLE)["answer"].to_pylist() == sliced.run(TABLE, compiled=False)["answer"].to_pylist()


def test_long_lists_take_several_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sash.columns.lists.MOST_OFFSET", 1_000)
    for name in ("collect", "collect_distinct", "per_value"):
        for by in (["key"], list[str]()):
            query = sash.Query({"answer": made(name, "many")}, window.rows(100), by=by)
            compare(query, monkeypatch, compiles=False)
            assert answers(query, compiled=None, monkeypatch=monkeypatch).num_chunks > 1


def test_lists_that_are_too_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sash.columns.lists.MOST_OFFSET", 150)
    for aggregate in (agg.collect("many"), agg.concat("text"), agg.collect_distinct("many")):
        with pytest.raises(OverflowError, match="Use shorter windows"):
            sash.Query(aggregate, window.rows(200)).run(TABLE)


@pytest.mark.parametrize("column", ["float", "many", "int", "bool", "text", "category", "date", "unsigned"])
def test_the_mode_is_read_from_lists_before_it_is_compiled(column: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for windows in WINDOWS.values():
        query = sash.Query({"answer": agg.mode(column)}, windows, by="key", time="ts")
        assert "interpreted" not in str(query.explain(TABLE))
        compare(query, monkeypatch, compiles=False)


def test_windows_with_many_values_are_compiled_for_their_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sash.kernels.ranks.numpy_kernels.MOST_DIFFERENT", 2)
    query = sash.Query({"answer": agg.mode("place")}, window.rows(50), by="key")
    compare(query, monkeypatch, compiles=False)


SHOWN = {**WINDOWS, "many rows": window.rows(200), "days": window.time("1d", slide="1h")}


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("shown", ["rows", "hops", "many rows", "days"])
@pytest.mark.parametrize("is_stream", [False, True])
def test_no_built_in_aggregate_is_interpreted(name: str, shown: str, is_stream: bool) -> None:
    factory = BUILT_IN[name]
    needed = {"item": 3, "edges": [0, 1, 2], "half_life": "1m"}
    parameters = inspect.signature(factory).parameters
    arguments = {parameter: needed[parameter] for parameter in parameters if parameter in needed}
    columns = [one for one in parameters if one in ("column", "x", "y", "a", "w")]
    for column in ("many", "int", "text"):
        data: Any = pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches()) if is_stream else TABLE
        try:
            query = sash.Query(factory(*(column for _ in columns), **arguments), SHOWN[shown], by="key", time="ts")
            text = str(query.explain(data))
        except TypeError:  # it needs numbers
            assert column == "text"
        else:
            assert "interpreted" not in text
