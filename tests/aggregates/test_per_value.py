"""Maps of aggregates per value: each item is what the aggregate gives for the rows of its key alone."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.cases import SOAK
from hypothesis import given
from hypothesis import strategies as st

import sash
from sash import agg, window
from sash.aggregates.base import Aggregate
from sash.aggregates.naming import result_name
from sash.algorithms.base import alike
from sash.state.fingerprint import fingerprint_query
from sash.windows import Window

INNER: list[Aggregate[Any]] = [
    agg.sum("x"),
    agg.mean("x"),
    agg.stddev("x"),
    agg.count(),
    agg.count("x"),
    agg.collect("x"),
    agg.quantile("x", [0.5, 0.9]),
    agg.histogram("x", [0, 1, 2]),
    agg.arg_max("x", "t"),
    agg.mode("x"),
    sash.aggregate("reach", lift=lambda x: (x, x), combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])), lower=lambda c: c[1] - c[0])("x"),
]  # fmt: skip
row = st.tuples(st.sampled_from(["a", "b", "c", None]), st.none() | st.integers(-3, 3).map(lambda x: x / 2))


def alone(inner: Aggregate[Any], rows: list[dict[str, Any]]) -> dict[Any, Any]:
    """What a query over the rows of each key gives, one key at a time, in the order of first occurrence."""
    used = [one for one in rows if one["k"] is not None and all(one[name] is not None for name in inner.columns)]
    found = {}
    for key in dict.fromkeys(one["k"] for one in used):
        own = pa.Table.from_pylist([one for one in used if one["k"] == key], pa.schema({"t": pa.int64(), "k": pa.string(), "x": pa.float64()}))  # fmt: skip
        found[key] = sash.Query({"r": inner}, window.rows(99)).run(own)["r"].to_pylist()[-1]
    return found


@pytest.mark.parametrize("inner", INNER, ids=repr)
@given(drawn=st.lists(row, min_size=1, max_size=8))
def test_each_item_is_that_of_its_key_alone(inner: Aggregate[Any], drawn: list[Any]) -> None:
    rows = [{"t": number, "k": key, "x": x} for number, (key, x) in enumerate(drawn)]
    table = pa.Table.from_pylist(rows, pa.schema({"t": pa.int64(), "k": pa.string(), "x": pa.float64()}))
    found = sash.Query({"m": agg.per_value("k", inner)}, window.rows(4)).run(table)["m"].to_pylist()
    for number, result in enumerate(found):
        expected = alone(inner, rows[max(0, number - 3) : number + 1])
        assert (result is None) == (not expected)
        assert alike([*map(list, result or [])], [[key, item] for key, item in expected.items()])


ROWS = pa.table({
    "t": range(6), "k": ["b", "a", None, "b", "c", "a"], "x": [1.0, 2.0, 4.0, None, 8.0, 16.0], "i": [1, 2, 3, 4, 5, 6],
})  # fmt: skip


@pytest.mark.parametrize(
    ("inner", "kind"),
    [
        (agg.sum("x"), pa.float64()),
        (agg.sum("i"), pa.int64()),
        (agg.count(), pa.int64()),
        (agg.first("k"), pa.string()),
        (agg.quantile("i", [0.1]), pa.list_(pa.float64())),
        (agg.per_value("i", agg.count()), pa.map_(pa.int64(), pa.int64())),
    ],
    ids=repr,
)
def test_the_type_is_a_map_before_and_after_running(inner: Aggregate[Any], kind: pa.DataType) -> None:
    query = sash.Query({"m": agg.per_value("k", inner)}, window.rows(2))
    expected = pa.map_(pa.string(), kind)
    assert query.schema(ROWS).field("m").type == query.run(ROWS).schema.field("m").type == expected
    assert query.run(ROWS.slice(2, 1)).schema.field("m").type == expected  # no value at all


@pytest.mark.parametrize("windows", [window.rows(3), window.time(4, slide=2), window.tumbling(4)], ids=repr)
@pytest.mark.parametrize("slicing", ["auto", "cutty"])
def test_streams_and_slices_give_the_same(windows: Any, slicing: Any) -> None:
    if windows.per_row and slicing != "auto":
        return
    query = sash.Query({"m": agg.per_value("k", agg.sum("i"))}, windows, time="t", slicing=slicing)
    expected = query.run(ROWS)
    assert query.run(ROWS).equals(expected)
    assert query.run(ROWS.to_reader(max_chunksize=2)).read_all().equals(expected)


def test_pandas_gives_dictionaries_and_polars_its_own_type() -> None:
    query = sash.Query({"m": agg.per_value("k", agg.sum("i"))}, window.rows(6))
    assert query.run(ROWS.to_pandas())["m"].tolist()[-1] == {"b": 5, "a": 8, "c": 5}
    frame = query.run(pl.DataFrame(ROWS))
    assert frame["m"].to_arrow().to_pylist()[-1] is not None


def test_nan_is_one_key_and_dictionaries_give_their_values() -> None:
    rows = pa.table({"k": [math.nan, 1.0, float("nan")]})
    [last] = sash.Query(agg.per_value("k"), window.rows(3)).run(rows)["per_value"].to_pylist()[-1:]
    assert alike([list(pair) for pair in last], [[math.nan, 2], [1.0, 1]])
    coded = pa.table({"k": pa.array(["b", "a", "b"]).dictionary_encode()})
    assert sash.Query(agg.per_value("k"), window.rows(3)).run(coded)["per_value"].to_pylist()[-1] == [
        ("b", 2),
        ("a", 1),
    ]


def test_a_key_with_too_few_rows_has_a_null_item() -> None:
    found = sash.Query({"m": agg.per_value("k", agg.stddev("i"))}, window.rows(6)).run(ROWS)["m"].to_pylist()[-1]
    assert dict(found) == {"b": pytest.approx(math.sqrt(4.5)), "a": pytest.approx(math.sqrt(8)), "c": None}


def test_items_are_as_exact_as_alone() -> None:
    """The variant for floats is compensated."""
    rows = pa.table({"k": ["a"] * 3, "x": [1e16, 1.0, -1e16]})
    query = sash.Query({"m": agg.per_value("k", agg.sum("x")), "s": agg.sum("x")}, window.rows(3))
    assert query.run(rows)["m"].to_pylist()[-1] == [("a", 1.0)]


def test_it_can_be_pickled_and_changes_the_fingerprint() -> None:
    one = agg.per_value("k", agg.quantile("x", 0.25))
    query = pickle.loads(pickle.dumps(sash.Query({"m": one}, window.rows(3))))  # noqa: S301 — its own bytes
    assert query.run(ROWS).equals(sash.Query({"m": one}, window.rows(3)).run(ROWS))
    other = sash.Query({"m": agg.per_value("k", agg.quantile("x", 0.75))}, window.rows(3))
    first, second = (fingerprint_query(each._declared, {})["aggregates"] for each in (query, other))
    assert first == {"m": "per_value(k, quantile(x)) of 1, 0.25"}
    assert first != second


@pytest.mark.parametrize(
    ("mistake", "sentence"),
    [
        (lambda: agg.per_value("k", agg.sum), r"per_value got aggregate=.*which is not an aggregate\. Use agg\.sum"),  # type: ignore[arg-type]
        (lambda: agg.per_value("k", "sum"), r"per_value got aggregate='sum', which is not an aggregate"),  # type: ignore[arg-type]
        (lambda: agg.per_value("k", agg.sum()), r'per_value got sum\(\), which has no columns\. Name them, as in agg\.per_value\("k", agg\.sum\("load"\)\)'),
        (lambda: agg.per_value(3, agg.sum("x")), r'per_value got column=3, .* as in agg\.per_value\("plug", sum\("x"\)\)'),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_arguments_of_a_wrong_type_are_errors(mistake: Any, sentence: str) -> None:
    with pytest.raises(TypeError, match=sentence):
        mistake()


def test_columns_that_cannot_be_read_are_errors() -> None:
    nested = pa.table({"k": [[1]], "x": [1]})
    with pytest.raises(TypeError, match="per_value cannot compare values of column 'k'"):
        sash.Query(agg.per_value("k"), window.rows(1)).run(nested)
    with pytest.raises(TypeError, match="sum needs numbers, but column 'k' is of type string"):
        sash.Query(agg.per_value("k", agg.sum("k")), window.rows(1)).run(ROWS)


def test_it_shows_the_call_that_makes_it() -> None:
    one = agg.per_value("k", agg.sum("x"))
    assert repr(one) == 'per_value("k", sum("x"))'
    assert repr(agg.per_value(None, agg.sum())("k", "x")) == repr(one)
    assert one.columns == ("k", "x")
    assert one.label == "per_value(k, sum(x))"


ROWS_IN_TIME = pa.table(
    {
        "ts": pa.array([0, 10, 20, 30, 30], pa.timestamp("s")),
        "k": ["a", "b", "a", "b", "a"],
        "x": [4.0, 1.0, 2.0, None, 6.0],
    }
)


AROUND = window.rows(before=1, after=2, exclude="row")


@pytest.mark.parametrize(
    ("frame", "compiled"),
    [(frame, False) for frame in (AROUND, window.rows(4), window.tumbling("1m"))]
    + [(window.tumbling("1m"), None), pytest.param(AROUND, True, marks=pytest.mark.full)]
    + [(window.rows(4), None)] * SOAK,  # it takes 16 s to compile
)
def test_an_aggregate_that_reads_the_time_is_computed_per_value(frame: Window, compiled: bool | None) -> None:
    aggregates = {
        "mean": agg.per_value("k", agg.ewm_mean("x", half_life="10s")),
        "nested": agg.per_value("k", agg.per_value("x", agg.ewm_variance("x", half_life="10s"))),
        "sum": agg.ewm_sum("x", half_life="10s"),  # has a second number and a last step
        "bins": agg.histogram("x", [0, 3, 9]),
        "fractions": agg.quantile("x", [0.5, 1]),
        "place": agg.rank("x"),
    }
    found = sash.Query(aggregates, frame, time="ts").run(ROWS_IN_TIME, compiled=compiled).to_pylist()
    expected = sash.testing.recompute_query(ROWS_IN_TIME.to_pylist(), aggregates, frame, time="ts")
    for one, wanted in zip(found, expected, strict=True):
        for name in ("mean", "nested"):
            assert list_of(one[name]) == list_of(wanted[name])
        assert one["sum"] == pytest.approx(wanted["sum"])
        for name in ("bins", "fractions", "place"):
            assert one[name] == wanted[name]


def list_of(items: Any) -> Any:
    """Maps as lists of pairs, as Arrow returns them."""
    pairs = list(items.items()) if isinstance(items, dict) else items
    return [(key, list_of(value)) for key, value in pairs] if isinstance(pairs, list) else pairs


def test_it_names_itself_without_the_time() -> None:
    made = agg.per_value("k", agg.ewm_mean("x", half_life="10s"))
    assert (result_name(made), made.label) == ("ewm_mean_x_10s_per_k", "per_value(k, ewm_mean(x))")
    assert repr(made) == 'per_value("k", ewm_mean("x", half_life="10s"))'
    with pytest.raises(ValueError, match="needs a time column"):
        sash.Query(made, window.rows(2))


@pytest.mark.parametrize(
    "inner", [agg.ewm_sum("x", half_life="10s"), agg.slope("x"), agg.r_squared("x", "y")], ids=repr
)
def test_an_aggregate_with_a_last_step_is_refused(inner: Aggregate[Any]) -> None:
    with pytest.raises(ValueError, match="which has a last step for whole columns"):
        agg.per_value("k", inner)


def test_keys_in_nanoseconds_are_times_in_pandas() -> None:
    rows = pd.DataFrame({"t": [1, 2], "d": pd.to_timedelta([5, 5], unit="ns"), "at": pd.to_datetime([7, 8], unit="ns")})
    query = sash.Query({"each": agg.per_value("d"), "times": agg.per_value("at")}, window.rows(2), time="t")
    last = query.run(rows).iloc[-1]
    assert last["each"] == {pd.Timedelta(5, unit="ns"): 2}
    assert last["times"] == {pd.Timestamp(7): 1, pd.Timestamp(8): 1}
