"""Partials that are arrays of a fixed length: functions over NumPy arrays, interpreted and compiled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.pairwise import FULL, matrix

import sash
from sash import window
from sash.aggregates.array_partials import from_array
from sash.engine.check_columns import why_interpreted
from sash.testing import check_laws, recompute_query

WORDS = 8


def counted(x: int) -> Any:
    """One of the place of the value, in an array of small integers."""
    counts = np.zeros(WORDS, np.uint8)
    counts[x % WORDS] = 1
    return counts


def add_in_place(older: Any, newer: Any) -> Any:
    older += newer  # it is a copy
    return older


def powers(x: int, w: float) -> Any:
    return np.array([w, w * x, w * x * x])


AGGREGATES: Mapping[str, Any] = {
    "most": sash.aggregate("most", counted, add_in_place, lambda counts: counts.max(), commutative=True, length=WORDS)("x"),
    "kinds": sash.aggregate(  # booleans, which are added
        "kinds", lambda x: np.arange(5) == x % 5, lambda older, newer: older + newer, lambda counts: (counts > 1).sum(), length=5
    )("x"),
    "moment": sash.aggregate(
        "moment", powers, lambda older, newer: older + newer, lambda sums: sums[2] / sums[0] - (sums[1] / sums[0]) ** 2, length=3
    )("x", "w"),
    "wide": sash.aggregate("wide", lambda w: np.array([w, -w]), np.maximum, lambda ends: ends[0] + ends[1], commutative=True, length=2)("w"),
    "total": sash.aggregate(
        "total", lambda x: np.array([x]), lambda older, newer: older + newer, lambda sums: sums[0],
        inverse=lambda combined, older: combined - older, inverse_is_exact=True, identity=np.array([0]), length=1,
    )("x"),
    "path": sash.aggregate(  # not commutative: how often the value rose
        "path",
        lambda x: np.array([x, x, 0]),
        lambda older, newer: np.array([older[0], newer[1], older[2] + newer[2] + (newer[0] > older[1])]),
        lambda path: path[2],
        length=3,
    )("x"),
}  # fmt: skip
WINDOWS = {
    "rows": window.rows(9),
    "range": window.time(12),
    "hop": window.time(20, slide=5),
    "session": window.session(3),
    "around": window.rows(before=3, after=2, exclude="row"),
}


def table_of(rows: int = 150) -> pa.Table:
    """Rows of two keys, with nulls."""
    chooser = np.random.default_rng(1)
    x = [None if one == 13 else int(one) for one in chooser.integers(-40, 40, rows)]
    columns = {
        "k": chooser.integers(0, 2, rows),
        "t": np.sort(chooser.integers(0, 300, rows)),
        "w": chooser.random(rows) + 0.5,
    }
    return pa.table({**columns, "x": pa.array(x, pa.int64())})


def assert_alike(found: pa.Table, right: pa.Table | list[dict[str, Any]]) -> None:
    right_rows = right.to_pylist() if isinstance(right, pa.Table) else right
    assert len(found) == len(right_rows)
    for name in AGGREGATES.keys() & set(found.column_names):
        expected = [row[name] for row in right_rows]
        values, numbers = (np.array(one, float) for one in (found[name].to_pylist(), expected))  # None becomes NaN
        np.testing.assert_allclose(values, numbers, rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("name", WINDOWS)
def test_compiled_interpreted_and_recomputed_are_equal(name: str) -> None:
    rows = table_of()
    query = sash.Query(AGGREGATES, WINDOWS[name], by="k", time="t")
    assert why_interpreted(query._declared, rows.schema, compiled=True) == {}
    interpreted = query.run(rows, compiled=False)
    assert_alike(interpreted, recompute_query(rows.to_pylist(), AGGREGATES, WINDOWS[name], by="k", time="t"))
    if FULL or name == "rows":
        chosen = AGGREGATES if FULL else {one: AGGREGATES[one] for one in ("most", "moment", "path")}
        compiled = sash.Query(chosen, WINDOWS[name], by="k", time="t").run(rows, compiled=True)
        assert compiled.schema == interpreted.select(compiled.column_names).schema
        assert_alike(compiled, interpreted)


@pytest.mark.full
@pytest.mark.parametrize("algorithm", ["daba", "recalculate", "flatfat"])
def test_algorithms_hold_arrays(algorithm: Any) -> None:
    rows = table_of()
    query = sash.Query(AGGREGATES, window.rows(9), by="k", time="t", algorithm=algorithm)
    assert_alike(
        query.run(rows, compiled=True),
        sash.Query(AGGREGATES, window.rows(9), by="k", time="t").run(rows, compiled=False),
    )


@pytest.mark.parametrize(
    ("name", "compiled"), matrix(["rows", "hop", "session"], [True, False], valid=lambda name, _: FULL or name != "hop")
)
def test_streams_hold_arrays(name: str, compiled: bool) -> None:
    rows = table_of()
    chosen = AGGREGATES if FULL else {name: AGGREGATES[name] for name in ("most", "path")}
    query = sash.Query(chosen, WINDOWS[name], by="k", time="t", lateness=0)
    order = [("k", "ascending"), ("t" if name == "rows" else "window_end", "ascending")]
    streamed = query.run(rows.to_reader(20), compiled=compiled).read_all().sort_by(order)
    assert_alike(streamed, query.run(rows, compiled=False).sort_by(order))


@pytest.mark.parametrize("compiled", [True, False])
def test_an_array_of_another_length_is_an_error(*, compiled: bool) -> None:
    wrong = sash.aggregate(
        "wrong", lambda x: np.zeros(3 + (x > 1)), lambda older, newer: older + newer, lambda sums: sums[0], length=3
    )
    query = sash.Query(wrong("x"), window.rows(2))
    with pytest.raises(ValueError, match="length="):
        query.run(pa.table({"x": [1, 2]}), compiled=compiled)


def test_what_is_not_an_array_of_numbers_is_an_error() -> None:
    assert from_array(np.array([1, 2], np.uint64), 2) == (1, 2)
    with pytest.raises(OverflowError, match="9223372036854775808, which needs more than 63 bits"):
        from_array(np.array([2**63], np.uint64), 1)
    with pytest.raises(TypeError, match="one of <U1"):
        from_array(["a", "b"], 2)


def test_long_arrays_are_interpreted() -> None:
    names = sash.aggregate("names", lambda x: np.arange(64) == x % 64, np.maximum, lambda seen: seen.sum(), length=64)
    query = sash.Query(names("x"), window.rows(2))
    rows = pa.table({"x": [3, 67, 2]})
    assert query.run(rows)["names"].to_pylist() == [1, 1, 2]
    assert "interpreted: only arrays of up to 30 numbers are compiled" in str(query.explain(rows))


def test_numbers_of_64_bits_without_a_sign_are_interpreted() -> None:
    unsigned = sash.aggregate(
        "unsigned", lambda x: np.array([x], np.uint64), np.maximum, lambda ends: ends[0], length=1
    )
    query = sash.Query(unsigned("x"), window.rows(2))
    assert query.run(pa.table({"x": [3, 1, 2]}), compiled=True)["unsigned"].to_pylist() == [3, 3, 2]


def test_arithmetic_that_machine_code_computes_differently_is_interpreted() -> None:
    power = sash.aggregate("power", lambda x: np.array([2**x]), np.maximum, lambda ends: ends[0], length=1)
    query = sash.Query(power("x"), window.rows(2))
    rows = pa.table({"x": [-1, 3, 1]})
    assert query.run(rows, compiled=True)["power"].to_pylist() == [0.5, 8.0, 8.0]
    assert "a power of integers" in str(query.explain(rows))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"length": 0}, "length must be at least 1"),
        ({"length": 2.5}, "length must be an integer"),
        ({"length": 3, "lower": None}, "it needs lower="),
    ],
)
def test_wrong_lengths_are_errors_when_the_aggregate_is_defined(arguments: dict[str, Any], message: str) -> None:
    functions = {"lift": powers, "combine": np.add, "lower": lambda sums: sums[0], **arguments}
    given = {name: value for name, value in functions.items() if value is not None}
    with pytest.raises((TypeError, ValueError), match=message):
        sash.aggregate("wrong", **given)


def test_laws_are_checked_over_arrays() -> None:
    check_laws(AGGREGATES["most"], [1, 2, 9, 15])
    newest = sash.aggregate(
        "newest", lambda x: np.array([x]), lambda _, newer: newer, lambda one: one[0], commutative=True, length=1
    )
    with pytest.raises(sash.testing.LawError, match="not commutative"):
        check_laws(newest, [1, 2])


def test_an_aggregator_moves_arrays_row_by_row() -> None:
    most = sash.Aggregator(AGGREGATES["most"])
    for x in (1, 2, 10, 3):
        most.insert(x)
    assert most.query() == 2
    most.evict()
    most.evict()
    assert most.query() == 1
    assert most.slide(np.arange(20), range=9).to_pylist()[-1] == 2


def test_an_index_outside_an_array_is_an_error_in_machine_code_too() -> None:
    table = np.arange(3)

    def own_place(x: int) -> Any:
        ones = np.zeros(3, np.int64)
        ones[x] = 1
        return ones

    rows = pa.table({"x": [0, 2, 3]})
    counts = sash.aggregate("counts", own_place, np.add, lambda ones: ones.max(), length=3)
    beyond = sash.aggregate("beyond", lambda x: np.array([x]), np.add, lambda sums: sums[1], length=1)
    looked_up = sash.aggregate("looked_up", lambda x: table[x], lambda older, newer: older + newer)
    for aggregate in (counts, beyond, looked_up) if FULL else (counts, looked_up):
        for compiled in (True, False):
            with pytest.raises(IndexError, match="out of bounds"):
                sash.Query(aggregate("x"), window.rows(2)).run(rows, compiled=compiled)


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.parametrize("compiled", [True, False])
def test_what_gets_arrays_divides_by_zero_as_numpy_does(*, compiled: bool) -> None:
    def ratio(lower: Any) -> Any:
        return sash.aggregate("ratio", lambda x: np.array([x, 1]), np.add, lower, length=2)("x")

    rows = pa.table({"x": [0, 0, 2]})
    query = sash.Query({"exact": ratio(lambda s: s[1] / s[0]), "whole": ratio(lambda s: s[1] // s[0])}, window.rows(1))
    found = query.run(rows, compiled=compiled)
    assert found["exact"].to_pylist() == [float("inf"), float("inf"), 0.5]
    assert found["whole"].to_pylist() == [0, 0, 0]


def test_results_and_the_identity_are_numbers_of_python() -> None:
    most = sash.Aggregator(AGGREGATES["most"])
    most.insert(3)
    assert type(most.query()) is int
    with pytest.raises(ValueError, match=r"aggregate 'short', identity: An array of 3 numbers was expected"):
        sash.aggregate("short", powers, np.add, lambda sums: sums[0], identity=[0.0, 0.0], length=3)
