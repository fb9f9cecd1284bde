"""Aggregates of decimals: kernels read their digits, or floats, and give what the interpreter gives."""

from __future__ import annotations

import random
from collections.abc import Mapping
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from helpers.pairwise import FULL

import sash
from sash import agg, window
from sash.aggregates.decimals import as_floats, is_short, unscaled
from sash.engine.check_columns import why_interpreted

EXACT = Context(prec=80)
DECIMALS: Mapping[str, Any] = {
    "total": agg.sum("x"),
    "mean": agg.mean("x"),
    "spread": agg.spread("x"),
    "median": agg.median("x"),
    "low": agg.quantile("x", 0.1),
    "high": agg.quantile("x", 0.77),
    "filtered": agg.sum("x", where="n > 2"),
}
FLOATS: Mapping[str, Any] = {
    "sd": agg.stddev("x"),
    "product": agg.product("small"),
    "slope": agg.slope("x", "f"),
    "corr": agg.correlation("x", "n"),
    "skew": agg.skewness("x"),
    "weighted": agg.weighted_mean("x", "n"),
    "ewm": agg.ewm_mean("x", alpha=0.2),
    "decay": agg.ewm_sum("x", half_life="5s"),
    "approx": agg.approx_quantile("x", 0.4),
}
WINDOWS = {
    "rows": window.rows(7),
    "range": window.time("9s"),
    "hop": window.time("20s", slide="5s"),
    "tumbling": window.tumbling("10s"),
    "session": window.session("3s"),
    "around": window.rows(before=3, after=2, exclude="row"),
    "few": window.rows(5, min_rows=3),
}
TYPES = [
    pa.decimal128(12, 2),
    pa.decimal128(18, 0),
    pa.decimal128(18, 18),
    pa.decimal128(5, -2),
    pa.decimal32(9, 3),
    pa.decimal64(18, 4),
    pa.decimal128(30, 4),
    pa.decimal256(18, 2),
]


def table_of(dtype: pa.DataType, seed: int, rows: int = 120, largest: int | None = None) -> pa.Table:
    """Return rows of three keys. Some have no decimal; some decimals have as many digits as they can."""
    chooser = random.Random(f"{dtype} {seed}")
    most = 10 ** min(dtype.precision, 30) - 1 if largest is None else largest

    def number() -> Decimal | None:
        digits = chooser.choice([chooser.randint(-most, most), chooser.randint(-50, 50), most, -most, 0, None])
        return None if digits is None else Decimal(digits).scaleb(-dtype.scale, EXACT)

    times = sorted(chooser.randrange(100_000) for _ in range(rows))
    columns = {
        "k": pa.array([chooser.choice("abc") for _ in range(rows)]),
        "ts": pa.array(times, pa.timestamp("ms")),
        "x": pa.array([number() for _ in range(rows)], dtype),
        "small": pa.array([Decimal(chooser.randint(90, 110)) / 100 for _ in range(rows)], pa.decimal128(9, 2)),
        "n": pa.array([chooser.choice([1, 2, 3, 4, None]) for _ in range(rows)], pa.int32()),
        "f": pa.array([chooser.random() for _ in range(rows)]),
    }
    return pa.table(columns)


def query(aggregates: Mapping[str, Any], name: str) -> sash.Query:
    return sash.Query(aggregates, WINDOWS[name], by="k", time="ts")


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", WINDOWS)
def test_kernels_give_the_decimals_of_the_interpreter(name: str, dtype: pa.DataType) -> None:
    rows = table_of(dtype, 1)
    asked = query(DECIMALS, name)
    right = asked.run(rows, compiled=False)
    assert asked.run(rows).equals(right)
    assert asked.run(rows.slice(0, 60)).equals(asked.run(rows.slice(0, 60), compiled=False))


@pytest.mark.parametrize("name", ["rows", "hop", "around"] if FULL else ["rows"])
def test_compiled_code_gives_the_decimals_of_the_interpreter(name: str) -> None:
    chosen = DECIMALS if FULL else {one: DECIMALS[one] for one in ("total", "mean", "high")}
    for dtype in TYPES[: 2 if FULL else 1]:
        rows = table_of(dtype, 2)
        asked = query(chosen, name)
        assert asked.run(rows, compiled=True).equals(asked.run(rows, compiled=False))


@pytest.mark.parametrize("dtype", [TYPES[0], TYPES[4], TYPES[6]], ids=str)
@pytest.mark.parametrize("name", ["rows", "hop", "session"])
def test_kernels_give_the_floats_of_the_interpreter(name: str, dtype: pa.DataType) -> None:
    rows = table_of(dtype, 3, largest=10**6)
    asked = query(FLOATS, name)
    found, right = asked.run(rows), asked.run(rows, compiled=False)
    assert found.schema == right.schema
    for column in FLOATS:
        numbers, expected = (np.array(one[column].to_pylist(), float) for one in (found, right))
        np.testing.assert_allclose(numbers, expected, rtol=1e-9, atol=1e-9, err_msg=column)


def test_no_aggregate_of_short_decimals_is_interpreted() -> None:
    schema = table_of(TYPES[0], 4).schema
    for aggregates in (DECIMALS, FLOATS):
        asked = query({name: one for name, one in aggregates.items() if name != "filtered"}, "rows")
        assert why_interpreted(asked._declared, schema, compiled=True) == {}
        assert "interpreted" not in str(asked.explain(schema))


def test_a_sum_may_need_more_than_64_bits() -> None:
    rows = pa.table({"x": pa.array([Decimal(10**18 - 1)] * 40, pa.decimal128(18, 0))})
    found = sash.Query({"s": agg.sum("x"), "m": agg.mean("x")}, window.rows(40)).run(rows)
    assert found["s"].to_pylist()[-1] == 40 * (10**18 - 1)
    assert found["m"].to_pylist()[-1] == 10**18 - 1


@pytest.mark.parametrize("name", ["rows", "hop", "session", "tumbling"])
def test_a_stream_gives_what_a_table_gives(name: str) -> None:
    rows = table_of(TYPES[0], 5)
    asked = query(DECIMALS, name)
    batches = [batch for begin in range(0, 120, 17) for batch in rows.slice(begin, 17).to_batches()]
    results = pa.Table.from_batches(asked.run(pa.RecordBatchReader.from_batches(rows.schema, batches)))
    order = [(column, "ascending") for column in ("k", *(("ts",) if name == "rows" else ("window_start",)))]
    right = asked.run(rows)
    assert sorted(map(repr, results.to_pylist())) == sorted(map(repr, right.to_pylist())), order


def test_digits_and_floats_of_slices() -> None:
    column = pa.array([Decimal("1.25"), None, Decimal("-9.99"), Decimal("0.10")], pa.decimal128(9, 2))
    assert unscaled(column).to_pylist() == [125, None, -999, 10]
    assert unscaled(column[2:]).to_pylist() == [-999, 10]
    assert as_floats(column[1:]).to_pylist() == [None, -9.99, 0.1]
    assert as_floats(pa.array([True, None])).to_pylist() == [1.0, None]
    assert not is_short(pa.decimal256(9, 2))
    assert not is_short(pa.int64())


@pytest.mark.parametrize("compiled", [True, None, False])
def test_ranks_of_quantiles_are_exact(*, compiled: bool | None) -> None:
    values = [Decimal(number) * 10**14 for number in range(101)]
    rows = pa.table({"ts": range(101), "x": pa.array(values, pa.decimal128(18, 0))})
    asked = sash.Query(
        {"one": agg.quantile("x", 0.57), "two": agg.quantile("x", [0.29, 0.999])}, window.expanding(), time="ts"
    )
    found = asked.run(rows, compiled=compiled)
    assert found["one"][-1].as_py() == values[57]
    assert found["two"][-1].as_py() == [values[29], Decimal(999 * 10**13)]


def test_squares_have_all_their_digits() -> None:
    small = pa.array([Decimal("0.000001"), Decimal("1.234567")], pa.decimal128(10, 6))
    large = pa.array([Decimal(10**18 - 1)] * 2, pa.decimal128(18, 0))
    squares = sash.Query({"s": agg.sum_of_squares("small"), "l": agg.sum_of_squares("large")}, window.rows(2))
    found = squares.run(pa.table({"small": small, "large": large}))
    assert found["s"].to_pylist() == [Decimal("1E-12"), Decimal("1.524155677490")]
    assert found["l"][1].as_py() == 2 * (10**18 - 1) ** 2


@pytest.mark.parametrize("dtype", [pa.decimal128(18, 3), pa.decimal64(18, 2), pa.decimal128(18, 18)], ids=str)
def test_floats_of_long_decimals_are_rounded_once(dtype: pa.DataType) -> None:
    chooser = random.Random(5)
    digits = [chooser.randint(-(10**18) + 1, 10**18 - 1) for _ in range(500)]
    values = [Decimal(number).scaleb(-dtype.scale, EXACT) for number in digits]
    assert as_floats(pa.array(values, dtype)).to_pylist() == [float(value) for value in values]


def test_types_that_change_on_a_stream_are_named() -> None:
    own = sash.aggregate("own", lift=lambda x: x, combine=lambda older, newer: older + newer)
    values = pa.array([Decimal(1), Decimal(2), Decimal(30)], pa.decimal128(12, 2))
    rows = pa.table({"ts": range(3), "x": values})
    asked = sash.Query({"r": own("x")}, window.rows(1), time="ts", lateness=0)
    with pytest.raises(TypeError, match=r"'r' is decimal128\(4, 2\) now, and was decimal128\(3, 2\). Let lower return"):
        asked.run(rows.to_reader(2)).read_all()
    thirds = sash.aggregate("thirds", lift=lambda x: x / 3, combine=lambda older, newer: older + newer)
    with pytest.raises(TypeError, match="more digits than the 76 of Arrow"):
        sash.Query(thirds("x"), window.rows(1)).run(pa.table({"x": [Decimal(1), Decimal(10)]}))


def test_an_infinite_decimal_is_an_error_that_names_the_column() -> None:
    frame = pd.DataFrame({"x": [Decimal("Infinity"), Decimal(1)]})
    with pytest.raises(TypeError, match="the column 'x' holds one"):
        sash.Query(agg.sum("x"), window.rows(2)).run(frame)
