"""Errors of an Aggregator name the aggregate and the row; wrong arguments are errors of Sash, not of Arrow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import sash
from sash import Aggregator, agg, window


def add(older: Any, newer: Any) -> Any:
    return older + newer


def refuse_large(older: Any, newer: Any) -> Any:
    if len(older + newer) > 2:
        raise ValueError("too long")
    return older + newer


length = sash.aggregate("length", lift=len, combine=add)("x")
short = sash.aggregate("short", lift=str, combine=refuse_large)("x")
number = sash.aggregate("number", lift=str, combine=add, lower=int)("x")


@pytest.mark.parametrize(
    ("run", "error", "note"),
    [
        (lambda: Aggregator(length).slide(["a", 3], range=2), TypeError, "length(x) failed while lifting row 1."),
        (lambda: Aggregator(length).insert(3), TypeError, "length(x) failed while lifting row 0."),
        (
            lambda: Aggregator(length).slide(["a", 3], bounds=([0, 0], [1, 2])),
            TypeError,
            "length(x) failed while lifting row 1.",
        ),
        (
            lambda: Aggregator(short).slide(["a", "b", "c"], range=3),
            ValueError,
            "short(x) failed while combining up to row 2.",
        ),
        (
            lambda: Aggregator(short).slide(["a", "b", "c"], bounds=([0], [3])),
            ValueError,
            "short(x) failed while combining up to row 2.",
        ),
        (
            lambda: Aggregator(number).slide(["1", "b"], range=2),
            ValueError,
            "number(x) failed while lowering the window that ends with row 1.",
        ),
        (
            lambda: Aggregator(number).slide(["1", "b"], bounds=([0], [2])),
            ValueError,
            "number(x) failed while lowering the window that ends with row 1.",
        ),
        (
            lambda: Aggregator(length, "fiba").insert(3, time=7),
            TypeError,
            "length(x) failed while lifting the row of time 7.",
        ),
    ],
)
def test_interpreted_errors_name_aggregate_and_row(run: Callable[[], Any], error: type[Exception], note: str) -> None:
    with pytest.raises(error) as caught:
        run()
    assert caught.value.__notes__ == [note]


def test_rows_are_counted_from_the_start_of_a_column() -> None:
    aggregator = Aggregator(length)
    aggregator.insert_many(["a", "b"])
    with pytest.raises(TypeError) as caught:
        aggregator.slide(["a", 3], range=3)
    assert caught.value.__notes__ == ["length(x) failed while lifting row 1."]


def test_lengths_may_be_integers_of_numpy() -> None:
    assert Aggregator(agg.sum("x")).slide([1, 2, 3], range=np.int64(2)).to_pylist() == [1, 3, 5]
    aggregator = Aggregator(agg.sum("x"), ranges=[np.int32(2), 3])
    assert aggregator.ranges == (2, 3)
    for value in (1, 2, 3):
        aggregator.insert(value)
    assert aggregator.query(last=np.int64(2)) == 5
    with pytest.raises(ValueError, match=r"2\.0 is not a number of rows"):
        Aggregator(agg.sum("x")).slide([1], range=2.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"lift": 1, "combine": add}, "aggregate 'own' got lift=1, which is not a function"),
        ({"lift": len, "combine": "add"}, "aggregate 'own' got combine='add', which is not a function"),
        (
            {"lift": len, "combine": lambda x: x},
            r"aggregate 'own': combine must take 2 arguments: combine\(older, newer\)",
        ),
        ({"lift": len, "combine": add, "lower": add}, r"aggregate 'own': lower must take 1 argument: lower\(partial\)"),
        ({"lift": len, "combine": add, "lower": None}, "aggregate 'own' got lower=None"),
        ({"lift": len, "combine": add, "inverse": 0}, "aggregate 'own' got inverse=0"),
    ],
)
def test_aggregates_consist_of_functions(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(TypeError, match=sentence):
        sash.aggregate("own", **arguments)
    with pytest.raises(TypeError, match="aggregate got name="):
        sash.aggregate(len, len, add)  # type: ignore[arg-type]


def test_integers_of_128_bits_are_refused_by_name() -> None:
    wide = pl.Series("x", [1, 2], dtype=pl.Int128)
    with pytest.raises(TypeError, match=r"Arrow has no type for a column of Int128\. Cast it"):
        Aggregator(agg.sum("x")).slide(wide, range=2)
    query = sash.Query({"r": agg.sum("x")}, window.rows(2))
    with pytest.raises(TypeError, match=r"Column 'x' is of type Int128, which Arrow does not have\. Cast it"):
        query.run(pl.DataFrame({"x": wide}))
    unread = pl.DataFrame({"x": [1, 2], "wide": wide})
    assert query.run(unread)["r"].to_list() == [1, 3]


@pytest.mark.parametrize("column", [pl.Series("x", [1, 2]), pa.chunked_array([[1, 2]]), pa.array([1, 2])], ids=type)
def test_a_query_needs_a_table(column: Any) -> None:
    with pytest.raises(TypeError, match=r"A query runs on a table, but a .* is one column"):
        sash.Query({"r": agg.sum("x")}, window.rows(2)).run(column)
