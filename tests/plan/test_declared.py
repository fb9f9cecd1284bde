"""What can't work is refused in a sentence that says what to do, before any row is touched."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import sash
from sash import agg, window

ROWS = pa.schema({"key": pa.string(), "t": pa.int64(), "ts": pa.timestamp("ms"), "x": pa.float64(), "s": pa.string()})
HOUR = window.time("1h", slide="10m")


def declared(**given: Any) -> sash.Query:
    return sash.Query(**{"aggregates": {"top": agg.max("x")}, "windows": window.rows(3), **given})


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: window.rows(0), r"range=0 must be at least 1"),
        (lambda: window.rows(-3), r"range=-3 must be at least 1"),
        (lambda: window.rows(2.5), r"range=2.5 is not a whole number of rows"),  # type: ignore[arg-type]
        (lambda: window.rows(True), r"range=True is not a whole number of rows"),
        (lambda: window.rows("1h"), r"For a window of time use window.time"),  # type: ignore[arg-type]
        (lambda: window.rows(3, slide=0), r"slide=0 must be at least 1"),
        (lambda: window.rows(3, slide=4), r"slide=4 is more than range=3, so that rows between two windows"),
        (lambda: window.rows(3, min_rows=0), r"min_rows=0 must be at least 1"),
        (lambda: window.time(0), r"range=0: it must be longer than nothing"),
        (lambda: window.time("-1h"), r"range='-1h': it must be longer than nothing"),
        (lambda: window.time(timedelta(0)), r"it must be longer than nothing"),
        (lambda: window.time("1h", slide="0s"), r"slide='0s': it must be longer than nothing"),
        (lambda: window.time("1h", slide="2h"), r"slide='2h' is more than range='1h'"),
        (lambda: window.time("soon"), r"range='soon' is not a duration. Use the units ns, us"),
        (lambda: window.time("1 fortnight"), r"is not a duration"),
        (lambda: window.time(1.5), r"range=1.5 is not a duration"),  # type: ignore[arg-type]
        (lambda: window.time("0.1ns"), r"is not a whole number of nanoseconds"),
        (lambda: window.time("1h", slide=5), r"1h and 5 have no common unit"),
        (lambda: window.time(60, slide=5, offset="1m"), r"60 and 1m have no common unit"),
        (lambda: window.time("1h", closed="up"), r"closed='up' is none of right, both, left, neither"),
        (lambda: window.time("1h", slide="1m", closed="both"), r"closed= does not apply"),
        (lambda: window.time("1h", offset="1m"), r"it needs slide="),
        (lambda: window.cumulative("24h", "7h"), r"range='24h' is not a multiple of step='7h'"),
        (lambda: window.cumulative("1h", "2h"), r"slide='2h' is more than range='1h'|step='2h'"),
        (lambda: window.session(0), r"gap=0: it must be longer than nothing"),
        (lambda: window.delta("", 3), r"'' is not the name of a column"),
        (lambda: window.delta("x", 0), r"threshold=0 must be more than 0"),
        (lambda: window.delta("x", float("nan")), r"threshold=nan must be more than 0, and finite"),
        (lambda: window.delta("x", "3"), r"threshold='3' is not a number"),  # type: ignore[arg-type]
        (lambda: window.delta("x", 3, slide=4), r"slide=4 is more than range=3"),
        (lambda: window.delta("x", 3, slide=-1), r"slide=-1 must be more than 0"),
        (lambda: window.punctuated(3), r"3 is not the name of a column"),  # type: ignore[arg-type]
        (lambda: window.custom(3), r"3 is not a function of a row"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_windows_say_what_is_wrong_with_them(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence) as caught:
        make()
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"aggregates": {}}, r"give a dictionary of named ones"),
        ({"aggregates": {"top": max}}, r"'top': <built-in function max> is not a named aggregate"),
        ({"aggregates": {"top": agg.max()}}, r"'top' is max of 1 column\(s\), but 0 are named"),
        ({"windows": {}}, r"windows={}: give a window"),
        ({"windows": "1h"}, r"windows='1h': give a window"),
        ({"windows": {"hour": "1h"}}, r"'hour': '1h' is not a named window"),
        ({"windows": {"a": window.rows(3), "b": HOUR}, "time": "ts"}, r"each row \(a\) and for each window \(b\) don't mix"),
        ({"windows": HOUR}, r'time\("1h", slide="10m"\) is a window of time: say which column holds it'),
        ({"windows": window.time("1h")}, r"is a window of time"),
        ({"windows": window.session("1h")}, r"is a window of time"),
        ({"lateness": "1h"}, r"lateness says how late rows may come, so there must be a time"),
        ({"lateness": "-1h", "time": "ts"}, r"lateness='-1h': it must not be negative"),
        ({"by": 3}, r"by=3: give the name of a column"),
        ({"by": ["key", "key"]}, r"by=\['key', 'key'\] names a column twice"),
        ({"order_by": [""]}, r"order_by=\[''\]: give the name of a column"),
        ({"time": 3}, r"time=3: give the name of the column"),
        ({"algorithm": "magic"}, r'There is no algorithm "magic": choose from recalculate, '),
        ({"algorithm": "subtract_on_evict"}, r"max has no inverse, so subtract_on_evict can't evict it: use two_stacks"),
        ({"algorithm": "order_statistics_tree"}, r"max is not read by rank"),
        ({"algorithm": "slickdeque", "aggregates": {"m": agg.skewness("x")}}, r"slickdeque can't"),
        ({"objective": "speed"}, r'objective=\'speed\': it is "throughput"'),
        ({"slicing": "thin"}, r"slicing='thin': it is auto, cutty, pairs, panes, or none"),
        ({"slicing": "cutty"}, r"rows\(3\) gives a result for each row, so there is nothing to slice"),
        ({"slicing": "panes", "windows": window.session(3), "time": "t"}, r"session\(3\) has no fixed slide, which panes need"),
        ({"slicing": "pairs", "windows": window.delta("x", 3, slide=1)}, r"is not known before it ends, so it can't be sliced"),
        ({"windows": HOUR, "time": "ts", "by": "top"}, r"two columns named 'top': rename an aggregate"),
        ({"windows": HOUR, "time": "ts", "by": "window_start"}, r"two columns named 'window_start'"),
        (
            {"aggregates": {"a_b": agg.max("x"), "a": agg.min("x")}, "windows": {"b_c": window.rows(2), "c": window.rows(3)}},
            r"two columns named 'a_b_c'",
        ),
    ],
)  # fmt: skip
def test_queries_say_what_is_wrong_with_them_when_they_are_declared(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence) as caught:
        declared(**given)
    assert str(caught.value).endswith(".")


NESTED = pa.schema({"x": pa.list_(pa.int64()), "key": pa.list_view(pa.string_view())})


@pytest.mark.parametrize(
    ("given", "schema", "sentence"),
    [
        ({"aggregates": {"top": agg.max("load")}}, ROWS, r"There is no column 'load'. The data has 'key', 't'"),
        ({"by": "who"}, ROWS, r"There is no column 'who'"),
        ({"time": "when"}, ROWS, r"There is no column 'when'"),
        ({"order_by": "rank"}, ROWS, r"There is no column 'rank'"),
        ({"windows": window.delta("odometer", 3)}, ROWS, r"There is no column 'odometer'"),
        ({"windows": window.punctuated("end")}, ROWS, r"There is no column 'end'"),
        ({"aggregates": {"x": agg.max("x")}}, ROWS, r"The data has a column 'x' already, the name of a result"),
        ({}, pa.schema([("x", pa.int64()), ("x", pa.int64())]), r"There are 2 columns named 'x'. Rename all but one"),
        ({"aggregates": {"n": agg.sum("s")}}, ROWS, r"'n': sum computes with its values, and column 's' is of string"),
        ({"aggregates": {"n": agg.stddev("s")}}, ROWS, r"stddev computes with its values"),
        ({"aggregates": {"n": agg.correlation("x", "s")}}, ROWS, r"correlation computes with its values, and column 's'"),
        ({"aggregates": {"n": agg.mean("ts")}}, ROWS, r"mean does arithmetic, which timestamp\[ms\] has none of"),
        ({"aggregates": {"n": agg.approx_quantile("ts", 0.5)}}, ROWS, r"approx_quantile does arithmetic"),
        ({"aggregates": {"n": agg.median("x")}}, pa.schema({"x": pa.timestamp("ns")}), r"median does arithmetic"),
        ({"aggregates": {"n": agg.median("x")}}, pa.schema({"x": pa.time32("s")}), r"median does arithmetic"),
        ({}, NESTED, r"max of column 'x': values of list<item: int64> have no order"),
        ({"aggregates": {"n": agg.top_k("x", 2)}}, NESTED, r"top_k of column 'x': values of list<item: int64> have no order"),
        ({"aggregates": {"n": agg.mode("x")}}, NESTED, r"mode of column 'x': values of list<item: int64> can't be told apart"),
        ({"aggregates": {"n": agg.collect_distinct("x")}}, NESTED, r"collect_distinct of column 'x': values of .* can't be told"),
        ({"by": "key", "aggregates": {"n": agg.count()}}, NESTED, r"The key 'key' is of type list_view<item: string_view>, whose values"),
        ({"order_by": "x", "aggregates": {"n": agg.count()}}, NESTED, r"order_by: column 'x': values of .* have no order"),
        ({"time": "x"}, ROWS, r"The time column 'x' is of type double, but it must hold timestamps, dates or integers"),
        ({"time": "s"}, ROWS, r"The time column 's' is of type string"),
        ({"windows": window.time(5), "time": "ts"}, ROWS, r"5 is a number without a unit, but column 'ts' holds times. Add a unit"),
        ({"windows": window.time("5s"), "time": "t"}, ROWS, r"5s is a length of time, but column 't' holds integers. Give a number"),
        ({"windows": window.session("5s"), "time": "t"}, ROWS, r"5s is a length of time, but column 't' holds integers"),
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
    with pytest.raises(ValueError, match=r"The time column 't' has 2 null\(s\), so that these rows have no order"):
        declared(time="t").run(table, compiled=False)


@pytest.mark.parametrize("values", [[1.0, None], [1.0, float("nan")]])
def test_rows_without_a_number_are_near_nothing(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"column 'v' has nulls or NaN, which have no distance"):
        declared(windows=window.delta("v", 3)).run(pa.table({"v": values, "x": [1.0, 2.0]}), compiled=False)


def test_times_that_windows_would_reach_beyond_are_refused() -> None:
    table = pa.table({"t": [2**63 - 10], "x": [1.0]})
    with pytest.raises(OverflowError, match="reach beyond times of 64 bits"):
        declared(windows=window.tumbling(100), time="t").run(table, compiled=False)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (None, r"discretize returned None for .* it must return two numbers, \(begin, end\)"),
        ((1, 2, 3), r"it must return two numbers"),
        ((-1, 0), r"numbers of windows cannot be negative"),
        ((1, 2), r"discretize ends 2 window\(s\) after .*, but only 1 are open"),
    ],
)
def test_functions_that_discretize_wrongly_are_told_what_they_gave(answer: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        declared(windows=window.custom(lambda _: answer)).run(pa.table({"x": [1.0]}), compiled=False)


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(TypeError):
        declared().run(datetime(2024, 1, 1))  # noqa: DTZ001 — no data of any kind


def test_a_tree_that_keeps_values_is_not_made_of_slices() -> None:
    given: dict[str, Any] = {"windows": HOUR, "time": "ts", "aggregates": {"m": agg.median("x")}}
    with pytest.raises(ValueError, match="order_statistics_tree keeps values, and slices have none"):
        declared(**given, slicing="cutty", algorithm="order_statistics_tree")
