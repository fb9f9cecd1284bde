"""Order statistics: values of every type, interpolation, and sorted values as partials."""

from __future__ import annotations

import math
import sys
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from helpers.cases import SOAK
from helpers.pairwise import FULL
from helpers.references import INF, NAN, REFERENCES, agrees, any_float, build, from_left, quarters, rank_of, small
from hypothesis import given
from hypothesis import strategies as st

import sash
import sash.aggregates as agg
from sash.aggregates.median_like import SortedValues, integer_between
from sash.algorithms.base import alike


@pytest.mark.parametrize(
    "values",
    [
        ["bee", "ant", "cat", "ant"],
        [date(2026, 1, day) for day in (3, 1, 9, 1)],
        [Decimal(text) for text in ("3.5", "-1", "9", "-1")],
        [Decimal("3.5"), Decimal("NaN"), Decimal(9), Decimal("NaN")],
    ],
    ids=["strings", "dates", "decimals", "decimal NaN"],
)
@pytest.mark.parametrize(
    "name", ["max", "min", "max_count", "min_count", "arg_max", "arg_min", "top_k", "bottom_k", "nth_smallest"]
)
def test_orders_whatever_can_be_compared(name: str, values: list[Any]) -> None:
    rows = list(zip(values, "wxyz", strict=True)) if name.startswith("arg") else values
    assert agrees(from_left(build(name), rows), REFERENCES[name].expected(rows))


def test_quantiles_of_other_types() -> None:
    assert from_left(agg.median(), [Decimal(1), Decimal(2)]) == Decimal("1.5")
    assert from_left(agg.median(), [date(2026, 1, 3), date(2026, 1, 1), date(2026, 1, 2)]) == date(2026, 1, 2)
    noon = datetime(2026, 1, 1, 12)  # noqa: DTZ001
    assert from_left(agg.median(), [noon, noon + timedelta(hours=2)]) == noon + timedelta(hours=1)
    assert from_left(agg.median(), ["b", "a", "c"]) == "b"


def test_quantiles_of_extremes() -> None:
    largest = sys.float_info.max
    assert from_left(agg.median(), [-largest, largest]) == 0.0
    assert from_left(agg.median(), [INF, INF]) == INF
    assert from_left(agg.median(), [-INF, 1.0]) == -INF
    assert math.isnan(from_left(agg.median(), [1.0, NAN]))
    assert from_left(agg.median(), [1.0, 2.0, NAN]) == 2.0


@given(values=st.lists(quarters, min_size=1), q=st.floats(0, 1))
def test_quantile_interpolates_as_numpy_does(values: list[float], q: float) -> None:
    assert from_left(agg.quantile(q=q), values) == pytest.approx(float(np.quantile(values, q)), rel=1e-9, abs=1e-9)


def test_lower_of_order_statistics_reads_only_len_and_select() -> None:
    class Tree:
        def __len__(self) -> int:
            return 4

        def select(self, rank: int) -> int:
            return [10, 20, 30, 40][rank]

    for aggregate, expected in ((agg.median(), 25.0), (agg.quantile(q=1), 40.0), (agg.nth_smallest(i=3), 30)):
        assert aggregate.lower(Tree()) == expected  # type: ignore[arg-type]


def test_sorted_values_are_equal_by_value() -> None:
    assert SortedValues([NAN, 1, -0.0]) == SortedValues([0.0, 1.0, float("nan")])
    assert SortedValues([1]) != SortedValues([1, 1])
    assert SortedValues([1, NAN]) != SortedValues([1, 2])
    assert SortedValues([1]) != (1,)


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.full)])
def test_the_median_of_extreme_integers_is_exact(compiled: bool) -> None:
    rows = pa.table({"x": [2**63 - 1, -(2**63), -(2**63), 2**63 - 2, -3, -4]})
    query = sash.Query({"r": sash.agg.median("x")}, sash.window.rows(2))
    found = query.run(rows, compiled=compiled)["r"].to_pylist()
    assert found == [float(2**63), -0.5, -float(2**63), -1.0, 2.0**62, -3.5]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=2).map(sorted))
def test_the_mean_of_two_integers_is_rounded_once_or_twice(values: list[int]) -> None:
    exact = Fraction(sum(values), 2)
    found = integer_between(values[0], values[1], 0.5)
    assert abs(Fraction(found) - exact) <= Fraction(math.ulp(float(exact)))
    if abs(exact) < 2**52:
        assert found == exact


def test_the_median_of_python_integers_is_exact() -> None:
    window = sash.Aggregator(sash.agg.median("x"))
    window.insert(2**63 - 1)
    window.insert(-(2**63))
    assert window.query() == -0.5


# -- lists of quantiles ---------------------------------------------------------------------------------------------------

FRACTIONS = [0.5, 0, 0.9, 1]
MIXED = [3, None, 1, 4, 1, 5, None, 9, 2, 6, 5, 3, 5]


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.float32(), pa.decimal128(25, 2), pa.timestamp("us")])
@pytest.mark.parametrize("windows", [sash.window.rows(5), sash.window.time(6, slide=3), sash.window.rows(3, min_rows=3)], ids=repr)  # fmt: skip
def test_each_entry_of_a_list_is_its_quantile(kind: pa.DataType, windows: Any) -> None:
    rows = pa.table({"t": range(len(MIXED)), "x": pa.array(MIXED, pa.int64()).cast(kind)})
    compiles = SOAK or (kind == pa.int64() and windows.per_row) or (kind == pa.float64() and not windows.per_row)
    for compiled in (True, False) if compiles and FULL else (False,):
        named = {"all": agg.quantile("x", FRACTIONS)} | {str(q): agg.quantile("x", q) for q in FRACTIONS}
        found = sash.Query(named, windows, time="t").run(rows, compiled=compiled)
        one = found.schema.field("0.5").type
        assert found.schema.field("all").type == pa.list_(one)
        single = zip(*(found[str(q)].to_pylist() for q in FRACTIONS), strict=True)
        expected = [None if None in entries else list(entries) for entries in single]
        assert found["all"].to_pylist() == expected


def test_several_fractions_are_one_pass_and_one_state() -> None:
    query = sash.Query({"q": agg.quantile("x", FRACTIONS)}, sash.window.rows(5), time="t")
    rows = pa.table({"t": range(len(MIXED)), "x": MIXED})
    assert str(query.explain(rows)).count("sorted_block") == 1
    assert query.run(rows.to_reader(max_chunksize=4)).read_all().equals(query.run(rows))


@pytest.mark.parametrize(
    ("q", "error", "sentence"),
    [
        ([], ValueError, r"quantile got q=\[\], but q must have at least 1 number"),
        ([0.5, 1.5], ValueError, r"quantile got q=1\.5, but q must be between 0"),
        ([0.5, "1"], TypeError, r"quantile got q with '1', but q must be a list of numbers"),
        ({0.5: 1}, TypeError, r"quantile got q=\{0\.5: 1\}, but q must be a list of numbers"),
    ],
)
def test_impossible_lists_of_fractions_are_errors(q: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        agg.quantile("x", q)


# -- rank -----------------------------------------------------------------------------------------------------------------

METHODS: list[tuple[Any, bool]] = [(method, pct) for method in ("average", "min", "max") for pct in (False, True)]


@pytest.mark.parametrize(("method", "pct"), METHODS)
@given(rows=st.lists(any_float | small, min_size=1, max_size=9))
def test_every_method_of_rank_equals_its_reference(method: Any, pct: bool, rows: list[Any]) -> None:
    assert from_left(agg.rank(method=method, pct=pct), rows) == rank_of(rows, method, pct=pct)


@given(
    values=st.lists(st.none() | st.integers(-3, 3), min_size=1, max_size=30),
    length=st.integers(1, 8),
    least=st.integers(1, 3),
)
def test_ranks_are_those_of_pandas(values: list[int | None], length: int, least: int) -> None:
    named: dict[str, Any] = {f"{method} {pct}": agg.rank("x", method=method, pct=pct) for method, pct in METHODS}
    table = pa.table({"x": pa.array(values, pa.float64())})
    series = table["x"].to_pandas().rolling(length, min_periods=min(least, length))
    found = sash.Query(named, sash.window.rows(length, min_rows=min(least, length))).run(table)
    for (method, pct), name in zip(METHODS, named, strict=True):
        expected = series.rank(method=method, pct=pct).tolist()
        assert alike(found[name].fill_null(NAN).to_pylist(), expected)


@pytest.mark.full
def test_compiled_ranks_are_those_of_pandas() -> None:
    """Trees take long to compile: one method only, with nulls and many ties."""
    values = np.random.default_rng(5).integers(-20, 20, 3000)
    table = pa.table({"x": pa.array(np.where(values == 0, np.nan, values), from_pandas=True)})
    found = sash.Query(agg.rank("x", pct=True), sash.window.rows(100)).run(table, compiled=True)["rank"]
    expected = table["x"].to_pandas().rolling(100, min_periods=1).rank(pct=True).tolist()
    assert alike(found.fill_null(NAN).to_pylist(), expected)


def test_a_window_whose_newest_row_is_null_has_no_rank() -> None:
    rows = pa.table({"t": range(6), "x": [3, 1, None, None, 2, None]})
    for slicing in ("auto", "cutty"):
        query = sash.Query({"r": agg.rank("x")}, sash.window.tumbling(2), time="t", slicing=slicing)
        assert query.run(rows)["r"].to_pylist() == [1.0, None, None]
        stream = query.run(rows.to_reader(max_chunksize=1))
        assert stream.read_all()["r"].to_pylist() == [1.0, None, None]
    several = {"a": sash.window.rows(2), "b": sash.window.rows(3)}
    for algorithm in ("auto", "flatfit"):
        query = sash.Query({"r": agg.rank("x")}, several, time="t", algorithm=algorithm)
        assert query.run(rows)["r_b"].to_pylist() == [1.0, 1.0, None, None, 1.0, None]


@pytest.mark.parametrize("kind", [pa.string(), pa.decimal128(25, 1), pa.timestamp("s"), pa.uint64(), pa.bool_()])
def test_ranks_of_any_type_with_an_order(kind: pa.DataType) -> None:
    column = pa.array([0, 1, 1, 0, 1], pa.int64()).cast(kind)
    for compiled in (True, False) if kind == pa.string() and SOAK else (False,):  # trees take long to compile
        found = sash.Query(agg.rank("x"), sash.window.rows(3)).run(pa.table({"x": column}), compiled=compiled)
        assert found["rank"].to_pylist() == [1.0, 2.0, 2.5, 1.0, 2.5]
        assert found.schema.field("rank").type == pa.float64()


@pytest.mark.full  # it compiles for long; test_as_in_queries.py ranks rows one by one
def test_an_aggregator_ranks_the_newest_value() -> None:
    for values in ([1, 7, None, 3], pa.array([1, 7, None, 3])):
        ranks = sash.Aggregator(agg.rank("x")).slide(values, range=3)
        assert ranks.to_pylist() == [1.0, 2.0, None, 1.0]  # as a query: the newest row has no value


def test_impossible_ranks_are_errors() -> None:
    with pytest.raises(
        ValueError, match=r"rank got method='dense', but method must be \"average\", \"min\" or \"max\""
    ):
        agg.rank("x", method="dense")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="rank got pct=1, but pct must be True or False"):
        agg.rank("x", pct=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("compiled", [None, True, False])
@pytest.mark.parametrize("kind", [pa.timestamp("ns"), pa.timestamp("ns", "Europe/Berlin"), pa.duration("ns")], ids=str)
def test_the_middle_of_nanoseconds_is_exact(kind: pa.DataType, compiled: bool | None) -> None:
    late = 1_700_000_000_123_456_789
    rows = pa.table({"x": pa.array([late, None, late + 4, late + 1, -7], pa.int64()).cast(kind)})
    named = {"middle": agg.median("x"), "both": agg.quantile("x", [0.25, 1.0])}
    query = sash.Query(named, sash.window.rows(3))
    found = query.run(rows, compiled=compiled)
    assert found.schema.field("middle").type == query.schema(rows).field("middle").type == kind
    # Half a tick is rounded to even, from the value below on, as Python does with microseconds.
    assert found["middle"].cast(pa.int64()).to_pylist() == [late, late, late + 2, late + 3, late + 1]
    assert found["both"].type == pa.list_(kind)
    listed = found["both"].combine_chunks().flatten().cast(pa.int64()).to_pylist()
    assert listed[-4:] == [late + 2, late + 4, -7 + round(Fraction(late + 8, 2)), late + 4]


def test_the_middle_of_pandas_times_has_their_type() -> None:
    times = pd.to_datetime(["2024-01-01", "2024-01-03", None, "2024-01-07 00:00:00.000000003"], format="ISO8601")
    frame = pd.DataFrame({"x": times.astype("datetime64[ns]")})
    found = sash.Query({"m": agg.median("x")}, sash.window.rows(2)).run(frame)["m"]
    expected = ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-07 00:00:00.000000003"]
    assert found.dtype == "datetime64[ns]"
    assert found.tolist() == [pd.Timestamp(text) for text in expected]


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_the_middle_of_seconds_has_microseconds(unit: str) -> None:
    rows = pa.table({"x": pa.array([0, 1], pa.int64()).cast(pa.timestamp("s")).cast(pa.timestamp(unit))})
    found = sash.Query({"m": agg.median("x")}, sash.window.rows(2)).run(rows)["m"]
    assert found.type == pa.timestamp("us")
    assert found.cast(pa.int64()).to_pylist() == [0, 500_000]
