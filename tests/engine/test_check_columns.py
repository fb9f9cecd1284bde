"""Data that does not fit a query is refused in a sentence that says what to do, before any row is read."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sash
from sash import agg, window

ROWS = pa.schema({"key": pa.string(), "t": pa.int64(), "ts": pa.timestamp("ms"), "x": pa.float64(), "s": pa.string()})


def declared(**given: Any) -> sash.Query:
    return sash.Query(**{"aggregates": {"top": agg.max("x")}, "windows": window.rows(3), **given})


NESTED = pa.schema({"x": pa.list_(pa.int64()), "key": pa.list_view(pa.string_view())})


@pytest.mark.parametrize(
    ("given", "schema", "sentence"),
    [
        ({"aggregates": {"top": agg.max("load")}}, ROWS, r"There is no column 'load'. The data has 'key', 't'"),
        ({"aggregates": {"n": agg.count("*")}}, ROWS, r"There is no column '\*'\. To count rows, write agg\.count\(\)\."),
        ({"by": "who"}, ROWS, r"There is no column 'who'"),
        ({"time": "when"}, ROWS, r"There is no column 'when'"),
        ({"order_by": "rank"}, ROWS, r"There is no column 'rank'"),
        ({"windows": window.delta("odometer", 3)}, ROWS, r"There is no column 'odometer'"),
        ({"windows": window.punctuated("end")}, ROWS, r"There is no column 'end'"),
        ({"aggregates": {"x": agg.max("x")}}, ROWS, r"The data already has a column 'x', so no result can have this name"),
        ({}, pa.schema([("x", pa.int64()), ("x", pa.int64())]), r"There are 2 columns named 'x'. Rename all but one"),
        ({"aggregates": {"n": agg.sum("s")}}, ROWS, r"'n': sum needs numbers, but column 's' is of type string\. Cast it, .* CAST\(replace\(s, ',', '\.'\) AS DOUBLE\)"),
        ({"aggregates": {"n": agg.stddev("s")}}, ROWS, r"stddev needs numbers, but column 's' is of type string"),
        ({"aggregates": {"n": agg.correlation("x", "s")}}, ROWS, r"correlation needs numbers, but column 's'"),
        ({"aggregates": {"n": agg.mean("ts")}}, ROWS, r"mean needs numbers, but column 'ts' is of type timestamp\[ms\]\. Cast it to int64"),
        ({"aggregates": {"n": agg.approx_quantile("ts", 0.5)}}, ROWS, r"approx_quantile needs numbers, but column 'ts'"),
        ({"aggregates": {"n": agg.median("x")}}, pa.schema({"x": pa.time64("ns")}), r"median needs numbers, but column \'x\' is of type time64\[ns\]"),
        ({"aggregates": {"n": agg.median("x")}}, pa.schema({"x": pa.time32("s")}), r"median needs numbers, but column \'x\' is of type time32\[s\]"),
        ({}, NESTED, r"max needs values with an order, but column 'x' is of type list<item: int64>"),
        ({"aggregates": {"n": agg.top_k("x", 2)}}, NESTED, r"top_k needs values with an order, but column 'x' is of type list<"),
        ({"aggregates": {"n": agg.mode("x")}}, NESTED, r"mode cannot compare values of column 'x', which is of type list<"),
        ({"aggregates": {"n": agg.collect_distinct("x")}}, NESTED, r"collect_distinct cannot compare values of column 'x', which is of type"),
        ({"by": "key", "aggregates": {"n": agg.count()}}, NESTED, r"The key 'key' is of type list_view<item: string_view>, whose values"),
        ({"order_by": "x", "aggregates": {"n": agg.count()}}, NESTED, r"order_by needs values with an order, but column 'x' is of type list<"),
        ({"time": "x"}, ROWS, r"The time column 'x' is of type double, but it must hold timestamps, dates or integers"),
        ({"time": "s"}, ROWS, r"The time column 's' holds text, but it must hold timestamps, dates or integers. Convert it: pd.to_datetime\(df\[.s.\]"),
        ({"windows": window.time(5), "time": "ts"}, ROWS, r"5 has no unit, but column 'ts' holds times. Add a unit"),
        ({"windows": window.time("5s"), "time": "t"}, ROWS, r"5s is a duration, but column 't' holds integers. Use a number"),
        ({"windows": window.session("5s"), "time": "t"}, ROWS, r"5s is a duration, but column 't' holds integers"),
        ({"windows": window.tumbling("10us"), "time": "ts"}, ROWS, r"10us is not a whole number of ticks of column 'ts'"),
        ({"windows": window.punctuated("x")}, ROWS, r"column 'x' is of type double, but it must be boolean"),
        ({"windows": window.delta("s", 3)}, ROWS, r"column 's' is of type string, but it must hold numbers"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("compiled", [True, False])
def test_queries_say_what_is_wrong_with_the_data_before_they_look_at_rows(
    given: dict[str, Any], schema: pa.Schema, sentence: str, compiled: bool
) -> None:
    query = declared(**given)
    with pytest.raises((ValueError, TypeError), match=sentence) as caught:
        query.run(schema.empty_table(), compiled=compiled)
    assert str(caught.value).endswith(".")


def test_rows_without_a_time_are_refused() -> None:
    table = pa.table({"t": pa.array([1, None, 3, None]), "x": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(ValueError, match=r"The time column 't' is null in 2 rows\. Fill in a time, or drop such rows"):
        declared(time="t").run(table)


@pytest.mark.parametrize("values", [[1.0, None], [1.0, float("nan")]])
def test_rows_without_a_number_are_near_nothing(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"column 'v' has nulls or NaN, which have no distance"):
        declared(windows=window.delta("v", 3)).run(pa.table({"v": values, "x": [1.0, 2.0]}))


def test_times_that_windows_would_reach_beyond_are_refused() -> None:
    table = pa.table({"t": [2**63 - 10], "x": [1.0]})
    with pytest.raises(OverflowError, match="reach beyond times of 64 bits"):
        declared(windows=window.tumbling(100), time="t").run(table)
