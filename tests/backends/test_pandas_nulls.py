"""NaN and NA of pandas: one null in NumPy columns, two things in nullable and Arrow types."""

from __future__ import annotations

from math import isnan, nan
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sash
from sash import agg, window

VALUES = pa.array([1.0, nan, None, 3.0])
NUMPY = {
    "float64": pd.Series([1.0, nan, None, 3.0], dtype="float64"),
    "float32": pd.Series([1.0, nan, None, 3.0], dtype="float32"),
    "object": pd.Series([1.0, nan, None, 3.0], dtype="object"),
}
APART = {
    "Float64": pd.Series(pd.arrays.FloatingArray(np.array([1.0, nan, 0.0, 3.0]), np.array([0, 0, 1, 0], bool))),
    "Float32": pd.Series(pd.arrays.FloatingArray(np.array([1.0, nan, 0, 3], np.float32), np.array([0, 0, 1, 0], bool))),
    "double[pyarrow]": pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([VALUES]))),
}
COMPILED = pytest.mark.parametrize("compiled", [None, False])


def shown(column: pd.Series[Any]) -> list[Any]:
    """Return the values; None for NA, "nan" for NaN."""
    return [None if one is pd.NA else "nan" if isnan(one) else one for one in column]


def frame_of(values: pd.Series[Any]) -> pd.DataFrame:
    return pd.DataFrame({"t": [1, 2, 3, 4], "x": values, "y": [1.0, 2.0, nan, 4.0]})


@COMPILED
@pytest.mark.parametrize("kind", NUMPY)
def test_nan_is_null_in_numpy_columns(kind: str, compiled: bool | None) -> None:
    query = sash.Query({"n": agg.count("x"), "m": agg.max("x")}, window.rows(2), time="t")
    found = query.run(frame_of(NUMPY[kind]), compiled=compiled)
    assert found["n"].tolist() == [1, 1, 0, 1]
    assert shown(found["m"]) == [1.0, 1.0, "nan", 3.0]
    assert found["m"].dtype.kind == "f"
    assert isinstance(found["m"].dtype, np.dtype)
    assert found["x"].dtype == kind


@COMPILED
@pytest.mark.parametrize("kind", APART)
def test_nan_is_a_value_where_na_is_null(kind: str, compiled: bool | None) -> None:
    query = sash.Query({"n": agg.count("x"), "m": agg.max("x"), "s": agg.sum("x")}, window.rows(1), time="t")
    found = query.run(frame_of(APART[kind]), compiled=compiled)
    assert found["n"].tolist() == [1, 1, 0, 1]
    assert shown(found["m"]) == [1.0, "nan", None, 3.0]
    assert shown(found["s"]) == [1.0, "nan", None, 3.0]
    assert found["x"].dtype == kind
    assert shown(found["x"]) == [1.0, "nan", None, 3.0]


@pytest.mark.parametrize("kind", APART)
def test_nan_and_na_are_two_keys(kind: str) -> None:
    twice = pd.concat([frame_of(APART[kind])] * 2, ignore_index=True)
    found = sash.Query({"n": agg.count()}, window.tumbling(10), by="x", time="t").run(twice)
    assert found["x"].dtype == kind
    assert shown(found["x"]) == [1.0, "nan", None, 3.0]
    assert found["n"].tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize("kind", NUMPY)
def test_nan_and_none_are_one_key_in_numpy_columns(kind: str) -> None:
    found = sash.Query({"n": agg.count()}, window.tumbling(10), by="x", time="t").run(frame_of(NUMPY[kind]))
    assert found["x"].dtype == kind
    assert found["n"].tolist() == [1, 2, 1]


@pytest.mark.parametrize("kind", APART)
def test_labels_find_the_events_of_nan_and_of_na(kind: str) -> None:
    labels = pd.DataFrame({"t": [9, 9, 9, 9], "x": APART[kind]})
    found = sash.Query({"l": agg.last("t")}, window.rows(2), by="x", time="t").run(frame_of(APART[kind]), at=labels)
    assert found["l"].tolist() == [1, 2, 3, 4]
    assert found["x"].dtype == kind


@pytest.mark.parametrize("kind", APART)
def test_results_of_labels_tell_nan_and_na_apart(kind: str) -> None:
    labels = pd.DataFrame({"t": [0, 1, 2, 3]})
    found = sash.Query({"m": agg.last("x")}, window.rows(1), time="t").run(frame_of(APART[kind]), at=labels)
    assert shown(found["m"]) == [None, 1.0, "nan", None]


@pytest.mark.parametrize("kind", APART)
def test_expressions_and_filters_see_nan_as_a_value(kind: str) -> None:
    aggregates = {"s": agg.sum(sash.expr("x + 1")), "n": agg.count("x", where="y > 0")}
    found = sash.Query(aggregates, window.rows(1), time="t").run(frame_of(APART[kind]))
    assert shown(found["s"]) == [2.0, "nan", None, 4.0]
    assert found["n"].tolist() == [1, 1, 0, 1]


def test_results_of_other_columns_stay_numpy_floats() -> None:
    found = sash.Query({"m": agg.max("y")}, window.rows(1), by="x", time="t").run(frame_of(APART["Float64"]))
    assert found["m"].dtype == "float64"


@pytest.mark.parametrize(("kind", "counts"), [("float64", [1, 1, 0, 1]), ("Float64", [1, 2, 1, 1])])
def test_a_series_of_an_aggregator_follows_the_same_rule(kind: str, counts: list[int]) -> None:
    window_of_two = sash.Aggregator(agg.collect("x"))
    lists = window_of_two.slide((NUMPY | APART)[kind], 2).to_pylist()
    assert [len(one or ()) for one in lists] == counts


@pytest.mark.parametrize("chosen", [window.rows(2), window.tumbling(3), window.rows(2, min_rows=2)], ids=str)
@pytest.mark.parametrize("nulls", [False, True])
def test_results_stay_in_the_family_of_their_columns(chosen: window.Window, nulls: bool) -> None:
    last = None if nulls else 4
    frame = pd.DataFrame(
        {
            "t": [1, 2, 3, 4],
            "i": pd.array([1, 2, 3, last], "Int64"),
            "i8": pd.array([1, 2, 3, last], "Int8"),
            "n": [1, 2, 3, 4],
        }
    )
    frame = frame.assign(b=pd.array([True, False, True, None], "boolean"), s=pd.array(list("abcd"), "string"))
    aggregates = {
        "total": agg.sum("i"), "top": agg.max("i8"), "mean": agg.mean("i"), "count": agg.count("i"), "some": agg.any("b"),
        "text": agg.max("s"), "where": agg.count(where="i8 > 1"),
    }  # fmt: skip
    expected = {
        "total": "Int64", "top": "Int8", "mean": "Float64", "count": "Int64", "some": "boolean", "text": "string", "where": "Int64",
    }  # fmt: skip
    query = sash.Query(aggregates, chosen, time="t")
    found = query.run(frame)
    assert {name: str(found[name].dtype) for name in aggregates} == expected
    in_arrow = query.run(frame.convert_dtypes(dtype_backend="pyarrow"))
    added = [name for name in in_arrow.columns if name not in frame.columns or name == "window_start"]
    assert all(isinstance(in_arrow[name].dtype, pd.ArrowDtype) for name in added)
    values = found[list(aggregates)].astype(object).where(found[list(aggregates)].notna(), None).to_dict("list")
    others = in_arrow[list(aggregates)].astype(object).where(in_arrow[list(aggregates)].notna(), None).to_dict("list")
    assert values == others
    if not chosen.min_rows > 1:
        assert str(sash.Query({"total": agg.sum("n")}, chosen, time="t").run(frame)["total"].dtype) == "int64"


AROUND = (
    "SELECT house, i, flag, f, text, plain, max(i) AS top FROM df [RANGE 1 DAY ON t]",
    "WITH c AS (SELECT * FROM df) SELECT house, i, flag, f, text, plain, max(i) AS top FROM c [RANGE 1 DAY ON t]",
    "SELECT house, i, flag, f, text, plain, top + 0 AS top FROM (SELECT *, max(i) AS top FROM df [RANGE 1 DAY ON t])",
    "SELECT house, i, flag, f, text, plain, first_value(i) OVER (PARTITION BY house ORDER BY t) AS top FROM df",
)


@pytest.mark.parametrize("text", AROUND)
@pytest.mark.parametrize("last", [4, None], ids=["no nulls", "nulls"])
def test_sql_around_windows_keeps_nullable_types(text: str, last: int | None) -> None:
    times = pd.date_range("2025-01-01", periods=4, freq="h")
    df = pd.DataFrame(
        {
            "house": pd.array([1, 1, 2, 2], "Int32"),
            "t": times,
            "i": pd.array([1, 2, 3, last], "Int64"),
            "flag": pd.array([True, False, True, None], "boolean"),
            "f": pd.array([1.5, float("nan"), 2.5, None], "Float64"),
            "text": pd.array(["a", "b", "c", None], "string"),
            "plain": [1, 2, 3, 4],
        }
    )
    result = sash.sql(text).run(df)
    names = {"house": "Int32", "i": "Int64", "flag": "boolean", "f": "Float64", "text": "string", "plain": "int64"}
    assert {name: str(dtype) for name, dtype in result.dtypes.items()} == {**names, "top": "Int64"}
    arrow = df.convert_dtypes(dtype_backend="pyarrow")
    assert all(isinstance(dtype, pd.ArrowDtype) for dtype in sash.sql(text).run(arrow).dtypes)


def test_text_in_a_filter_does_not_make_numbers_text() -> None:
    df = pd.DataFrame({"x": [1.5, 2.5], "s": pd.array(["a", "b"], "string[pyarrow]")})
    result = sash.Query({"m": agg.min("x", where="s = 'a'")}, window.rows(2)).run(df)
    assert result["m"].tolist() == [1.5, 1.5]


def test_maps_of_arrow_columns_are_dictionaries() -> None:
    df = pd.DataFrame({"x": pd.array([1, 1, 2], "int64[pyarrow]"), "v": [1.0, 2.0, 3.0]})
    result = sash.Query({"sums": agg.per_value("x", agg.sum("v"))}, window.rows(3)).run(df)
    assert result["sums"].tolist()[-1] == {1: 3.0, 2: 3.0}
