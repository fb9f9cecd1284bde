"""Data as people have it: categoricals, decimals, far times, odd keys, kinds of frames."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sash
from sash import agg, window
from sash.engine import run_table
from sash.state import reader as stream

LEVELS = ["low", "mid", "high"]
both = pytest.mark.parametrize("compiled", [False, True])


@both
def test_first_and_max_of_text_are_told_apart(compiled: bool) -> None:
    rows = pa.table({"x": ["b", "c", "a", "b"]})
    aggregates = {"first": agg.first("x"), "top": agg.max("x"), "low": agg.min("x")}
    result = sash.Query(aggregates, window.rows(4)).run(rows, compiled=compiled)
    assert result.to_pylist()[-1] == {"x": "b", "first": "b", "top": "c", "low": "a"}


@both
def test_categories_have_their_own_order(compiled: bool) -> None:
    aggregates = {"top": agg.max("k"), "first": agg.first("k")}
    if not compiled:  # test_occurrences.py compiles it
        aggregates["usual"] = agg.mode("k")
    frame = pd.DataFrame({"k": pd.Categorical(["low", "high", None, "mid"], categories=LEVELS, ordered=True)})
    result = sash.Query(aggregates, window.rows(2)).run(frame, compiled=compiled)
    assert result["top"].tolist() == ["low", "high", "high", "mid"]
    assert result["first"].tolist() == ["low", "low", "high", "mid"]
    assert result["top"].dtype == frame["k"].dtype
    enum = pl.DataFrame({"k": pl.Series(["low", "high", "mid"], dtype=pl.Enum(LEVELS))})
    shown = sash.Query(aggregates, window.rows(2)).run(enum, compiled=compiled)
    assert shown["top"].to_list() == ["low", "high", "high"]
    assert shown.schema["top"] == pl.Enum(LEVELS)
    keyed = sash.Query({"n": agg.count()}, window.rows(9, slide=1), by="k").run(enum)
    assert keyed.schema["k"] == pl.Enum(LEVELS)


@both
def test_categories_need_not_be_text(compiled: bool) -> None:
    frame = pd.DataFrame({"c": pd.Categorical([3, 1, 2])})
    result = sash.Query({"top": agg.max("c"), "last": agg.last("c")}, window.rows(2)).run(frame, compiled=compiled)
    assert result["top"].tolist() == [3, 3, 2]
    assert result["last"].tolist() == [3, 1, 2]


def test_decimals_keep_all_their_digits() -> None:
    large = Decimal(9999999999999999999999999999)
    rows = pa.table({"x": pa.array([large, Decimal(2), -large], pa.decimal128(38, 0))})
    sums = sash.Query({"sum": agg.sum("x")}, window.rows(3)).run(rows)["sum"]
    assert sums.to_pylist() == [large, Decimal(10**28 + 1), Decimal(2)]
    long = pa.table({"x": pa.array([Decimal("1234567890123456789012345678.0123456789")], pa.decimal128(38, 10))})
    assert sash.Query({"top": agg.max("x")}, window.rows(3)).run(long)["top"] == long["x"]
    with pytest.raises(OverflowError, match=r"mean\(x\): some results need more than the 38 digits"):
        sash.Query({"mean": agg.mean("x")}, window.rows(3)).run(long)


def test_times_further_apart_than_64_bits() -> None:
    far = pa.table({"t": pa.array([datetime(1700, 1, 1), datetime(2250, 12, 31)], pa.timestamp("ns"))})  # noqa: DTZ001
    for windows in (window.time("1h"), window.session("1h"), window.time("2h", slide="1h")):
        with pytest.raises(OverflowError, match="Windows over 't' reach beyond times of 64 bits"):
            sash.Query({"n": agg.count()}, windows, time="t").run(far)
    assert sash.Query({"n": agg.count()}, window.rows(2), time="t").run(far)["n"].to_pylist() == [1, 2]


@both
def test_windows_over_narrow_integers_begin_before_zero(compiled: bool) -> None:
    rows = pa.table({"t": pa.array([3, 254], pa.uint8())})
    query = sash.Query({"n": agg.count()}, {"a": window.tumbling(10), "b": window.time(20, slide=10)}, time="t")
    result = query.run(rows, compiled=compiled)
    assert result["window_start"].to_pylist() == [0, 250, -10, 0, 240, 250]
    assert result.schema.field("window_start").type == result.schema.field("window_end").type == pa.int64()


def test_dates_slide_by_days() -> None:
    for kind in (pa.date32(), pa.date64()):
        rows = pa.table({"t": pa.array([0, 2], pa.int32()).cast(pa.date32()).cast(kind)})
        result = sash.Query({"n": agg.count()}, window.tumbling("2d"), time="t").run(rows)
        assert result["window_start"].type == kind
        assert result["n"].to_pylist() == [1, 1]
        with pytest.raises(ValueError, match="not a whole number of days"):
            sash.Query({"n": agg.count()}, window.tumbling("1h"), time="t").run(rows)
    day = pa.table({"t": pa.array([0], pa.time32("s"))})
    with pytest.raises(TypeError, match="holds times of day"):
        sash.Query({"n": agg.count()}, window.tumbling("1h"), time="t").run(day)


@both
def test_nan_is_one_key(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    other_nan = np.frombuffer(b"\x01\0\0\0\0\0\xf8\xff", np.float64)[0]
    rows = pa.table({"k": np.array([np.nan, other_nan, 0.0, -0.0]), "x": [3, 4, 5, 6]})
    result = sash.Query({"sum": agg.sum("x")}, window.rows(3), by="k").run(rows, compiled=compiled)
    assert result["sum"].to_pylist() == [3, 7, 5, 11]
    monkeypatch.setattr(stream, "MOST_ROWS", 2)
    back = pa.table({"k": [1.0, np.nan, np.nan, 2.0], "t": [1, 7, 3, 1]})
    query = sash.Query({"n": agg.count()}, window.time(4, slide=2), by="k", time="t")
    with pytest.raises(ValueError, match="3 arrived after a later time"):
        query.run(back.to_reader(2), order="keys").read_all()


@both
def test_narrow_integers_are_keys(compiled: bool) -> None:
    rows = pa.table({"k": pa.array([-100, 28, -27, 100, 28], pa.int8()), "x": [1, 2, 4, 8, 16]})
    result = sash.Query({"sum": agg.sum("x")}, window.rows(10), by="k").run(rows, compiled=compiled)
    assert result["sum"].to_pylist() == [1, 2, 4, 8, 18]


@pytest.mark.parametrize("algorithm", ["flatfat", "flatfit", "slideside"])
def test_one_structure_for_slices_beside_one_for_rows(algorithm: str) -> None:
    rows = pa.table({"t": list(range(8)), "x": [5, 1, 2, 9, 3, 3, 8, 0]})
    windows = {"a": window.time(5, slide=2), "b": window.time(8, slide=4)}
    aggregates = {"all": agg.collect("x"), "top": agg.max("x"), "usual": agg.mode("x")}
    named = sash.Query(aggregates, windows, time="t", algorithm=algorithm).run(rows)
    assert named.to_pylist() == sash.Query(aggregates, windows, time="t").run(rows).to_pylist()


def test_parts_without_a_value_have_no_type_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse_what_is_made_up(text: str) -> str:
        if text == "1":
            raise ValueError(text)
        return text

    own = sash.aggregate("own", lift=refuse_what_is_made_up, combine=lambda older, _: older)
    rows = pa.table({"k": [0] * 4 + [1] * 4, "t": range(8), "x": pa.array([None] * 4 + ["a"] * 4)})
    monkeypatch.setattr(run_table, "SECTION_ROWS", 1)
    monkeypatch.setattr(stream, "MOST_ROWS", 2)
    for windows in (window.rows(2), window.rows(2, slide=1)):
        whole = sash.Query({"own": own("x")}, windows, by="k", time="t").run(rows, threads=2)
        assert whole["own"].to_pylist() == [None] * 4 + ["a"] * 4
    streamed = sash.Query({"own": own("x")}, window.time(1), time="t").run(rows.to_reader(2)).read_all()
    assert streamed["own"].to_pylist() == [None] * 4 + ["a"] * 4


def test_types_that_arrow_knows_little_of() -> None:
    views = pa.table({"k": pa.array(["b", "a", "b"], pa.string_view())})
    result = sash.Query({"top": agg.max("k")}, window.rows(2, slide=1), by="k").run(views)
    assert result.to_pydict() == {"k": ["b", "b", "a"], "top": ["b", "b", "a"]}
    runs = pa.table({"k": pa.chunked_array([pa.RunEndEncodedArray.from_arrays([2, 3], pa.array(["a", "b"]))] * 2)})
    counted = sash.Query({"n": agg.count()}, window.rows(9), by="k").run(runs)
    assert counted["n"].to_pylist() == [1, 2, 1, 3, 4, 2]
    small = pa.table({"x": pa.array([Decimal(1), Decimal(2)], pa.decimal32(5, 1))})
    assert sash.Query({"sum": agg.sum("x")}, window.rows(2)).run(small)["sum"].to_pylist() == [1, 3]
    halves = pa.table({"k": pa.array(np.array([1, 1.5, 1], np.float16))})
    counts = sash.Query({"n": agg.count()}, window.rows(2), by="k").run(halves)
    assert counts["n"].to_pylist() == [1, 1, 2]
    ties = pd.DataFrame({"c": pd.Categorical(["b", "a", "c"]), "x": [1, 2, 3]})
    ordered = sash.Query({"first": agg.first("x")}, window.rows(2), order_by="c").run(ties)
    assert ordered["first"].tolist() == [2, 2, 1]


def test_durations_of_pandas_and_numpy() -> None:
    assert repr(window.time(pd.Timedelta(1500, "ns"))) == 'time("1us500ns")'
    five_minutes: Any = np.timedelta64(5, "m")
    five_rows: Any = np.int64(5)
    assert repr(window.time(five_minutes)) == 'time("5m")'
    assert repr(window.rows(five_rows)) == "rows(5)"


class Frame(pd.DataFrame):  # type: ignore[misc]  # pandas ships no types
    """Somebody's own."""


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"x": [1, 2, 3]}, index=[7, 7, 7]),
        Frame({"x": [1, 2, 3]}),
        pl.DataFrame({"x": [1, 2, 3]}).lazy(),
        pa.record_batch({"x": [1, 2, 3]}),
    ],
)
def test_results_are_of_the_kind_that_was_given(frame: Any) -> None:
    result = sash.Query({"sum": agg.sum("x")}, window.rows(2)).run(frame)
    if isinstance(result, pl.LazyFrame):
        result = result.collect()
    assert list(result["sum"].to_list() if hasattr(result["sum"], "to_list") else result["sum"].to_pylist()) == [
        1,
        3,
        5,
    ]
    if isinstance(frame, pd.DataFrame):
        assert result.index.equals(frame.index)
    else:
        assert isinstance(result, (pl.DataFrame, type(frame)))


def test_pandas_columns_need_not_be_named_by_text() -> None:
    result = sash.Query({"sum": agg.sum("1")}, window.rows(2)).run(pd.DataFrame({1: [1, 2, 3]}))
    assert result["sum"].tolist() == [1, 3, 5]


@pytest.mark.parametrize(("name", "called"), [(None, "has no name"), ("day", "is named 'day'")])
def test_an_index_of_times_with_another_name_gives_a_hint(name: str | None, called: str) -> None:
    index = pd.to_datetime(["2026-01-01", "2026-01-02"]).rename(name)
    frame = pd.DataFrame({"x": [1, 2]}, index=index)
    query = sash.Query({"s": agg.sum("x")}, window.time("1d"), time="ts")
    hint = rf"no column 'ts'.*The index holds times, but {called}\. .* data\.rename_axis\('ts'\)"
    with pytest.raises(ValueError, match=hint):
        query.run(frame)
    assert query.run(frame.rename_axis("ts"))["s"].tolist() == [1, 2]


def test_a_datetime_index_is_a_time() -> None:
    index = pd.to_datetime(["2026-01-01", "2026-01-02", "2026-01-05"]).rename("day")
    result = sash.Query({"sum": agg.sum("x")}, window.time("2d"), time="day").run(
        pd.DataFrame({"x": [1, 2, 3]}, index=index), compiled=False
    )
    assert result["sum"].tolist() == [1, 3, 3]
    assert result.index.equals(index)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda query, rows: query.run(rows, foo=1), r"There is no option 'foo'\. A table in this process has the options"),
        (lambda query, rows: query.run(rows, thread=1), "There is no option 'thread'. Did you mean 'threads'?"),
        (lambda query, rows: query.run(rows, n_jobs=1), "There is no option 'n_jobs'. Use threads="),
        (lambda query, rows: query.run(rows, outputMode="update"), "There is no option 'outputMode'. A table in this process"),
        (lambda query, rows: query.run(rows, lateness="1m"), "no option 'lateness'. Pass it to the query: Query.lateness=…."),
        (lambda query, rows: query.explain(rows, compield=True), "There is no option 'compield'. Did you mean 'compiled'?"),
        (lambda query, rows: query.explain(rows, buckets=3), "buckets= is for a PySpark DataFrame and a streaming DataFrame, but"),
        (lambda query, rows: query.schema(rows, mode="update"), "mode= is for a streaming DataFrame and a RecordBatchReader"),
        (lambda query, rows: query.run(rows, ahead=None), "ahead= is for a streaming DataFrame, but the data is a table in this"),
        (lambda query, rows: query.run(rows, compiled=1), "compiled=1 is not valid. Use True, False or None"),
        (lambda query, rows: query.run(rows, mode="update"), "mode= is for a stream"),
        (lambda query, rows: query.run(rows, threads="2"), "threads='2' is not valid. Use an integer of at least 1"),
        (lambda query, rows: query.run(rows, threads=-1), "threads=-1 is not valid. Use an integer of at least 1"),
        (lambda query, _: query.run([1, 2]), r"A query runs on a PySpark DataFrame.*, not on list\. .*pa\.Table\.from_pylist"),
        (lambda query, _: query.run({"x": [1]}), r"not on dict\. Use pa\.table\(data\)\."),
        (lambda query, _: query.schema(None), "A query runs on a PySpark DataFrame"),
    ],
)  # fmt: skip
def test_options_that_are_refused(call: Callable[[Any, Any], Any], sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        call(sash.Query({"sum": agg.sum("x")}, window.rows(2)), pa.table({"x": [1]}))


def test_an_error_names_the_row_at_work() -> None:
    inverse = sash.aggregate("inverse", lift=lambda x: 1 / x, combine=lambda older, newer: older + newer)
    rows = pa.table({"x": [1.0] * 5 + [0.0] + [1.0] * 2})
    with pytest.raises(ZeroDivisionError, match=r"inverse\(x\), row 5: division by zero"):
        sash.Query({"sum": inverse("x")}, window.rows(3)).run(rows)


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(TypeError):
        sash.Query({"n": agg.count()}, window.rows(3)).run(datetime(2024, 1, 1))  # noqa: DTZ001 — no data of any kind


def test_a_category_without_values_stays_one() -> None:
    frame = pd.DataFrame({"t": [1, 2], "c": pd.Categorical([None, None])})
    windows = {"short": window.tumbling(1), "long": window.tumbling(9)}
    found = sash.Query({"first": agg.first("c"), "n": agg.count("c")}, windows, time="t").run(frame)
    assert found["first"].isna().all()
    assert found["n"].tolist() == [0, 0, 0]
    by_key = sash.Query({"n": agg.count()}, windows, by="c", time="t").run(frame)
    assert by_key["c"].dtype == frame["c"].dtype
    assert by_key["n"].tolist() == [1, 1, 2]
