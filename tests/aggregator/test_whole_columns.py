"""Whole columns: `slide` and `insert_many`, against the oracle and against rows one by one."""

from __future__ import annotations

import datetime as dt
import random
import subprocess
import sys
import tracemalloc
from collections.abc import Iterable
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.cases import AGGREGATES, SOAK, affine
from helpers.pairwise import FULL, some
from hypothesis import given
from hypothesis import strategies as st

import sash
from sash import Aggregator, agg
from sash.aggregates.base import Aggregate
from sash.algorithms import ALGORITHMS, Algorithm, SharedAlgorithm
from sash.algorithms.base import alike, fits
from sash.testing import recompute

IN_ORDER = [algorithm for algorithm in ALGORITHMS if algorithm.about.name != "fiba"]
CANDIDATES = ("affine", "sum", "max", "median", "count_distinct", "mode", "stddev")

VALUES = [4, None, 7, 7, -3, None, None, 0, 12, 5, 5, -8, 1, None, 2, 9, -1, 6, 6, 3, 11, -2, 8, None, 10]


def fitting(form: type[Algorithm[Any]]) -> list[Aggregate[Any]]:
    """The aggregates to compile a form of an algorithm for: one, as what differs is the algorithm."""
    kinds = [AGGREGATES[candidate] for candidate in CANDIDATES]
    fit = [
        kind
        for kind in kinds
        if fits(form.about, kind.of_kind("int"))
        if not kind.coding.interpreted_only or form.keeps_values
    ]
    return fit if SOAK else fit[:1]


def pairs(forms: Iterable[type[Algorithm[Any]]]) -> list[Any]:
    """The names of algorithms, each with an aggregate that leads to one of these forms, as pytest parameters."""
    named = {f"{form.about.name}-{chosen.name}": (form, chosen) for form in forms for chosen in fitting(form)}
    return [pytest.param(form.about.name, chosen, id=name) for name, (form, chosen) in named.items()]


PAIRS = pairs(IN_ORDER)


def expected_of(chosen: Aggregate[Any], values: list[Any], lengths: int | list[tuple[int, int]]) -> list[Any]:
    if isinstance(lengths, int):
        lengths = [(max(0, row + 1 - lengths), row + 1) for row in range(len(values))]
    return [recompute(chosen, values[begin:end]) for begin, end in lengths]


def expect(result: pa.Array, expected: list[Any]) -> None:
    assert isinstance(result, pa.Array)
    result.validate(full=True)
    for got, wanted in zip(result.to_pylist(), expected, strict=True):
        assert (got is None) == (wanted is None), (result, expected)
        assert got is None or alike(got, type(got)(wanted)), (result.to_pylist(), expected)


@pytest.mark.parametrize(("name", "chosen"), some(PAIRS, 11))
def test_every_algorithm_slides_over_columns_with_and_without_nulls(name: str, chosen: Aggregate[Any]) -> None:
    for values in (VALUES, [value for value in VALUES if value is not None]):
        for length in (1, 4, 9, 40):
            window = Aggregator(chosen, name)
            expect(window.slide(values, length), expected_of(chosen, values, length))
            assert window.explain().endswith("compiled"), window.explain()
            assert len(window) == min(length, len(values))


@pytest.mark.parametrize(("name", "chosen"), some(PAIRS, 11))
def test_a_column_may_come_in_pieces(name: str, chosen: Aggregate[Any]) -> None:
    window = Aggregator(chosen, name)
    pieces = [
        window.slide(pa.array(VALUES[a:b], pa.int64()), 6) for a, b in ((0, 3), (3, 4), (4, 4), (4, 19), (19, 25))
    ]
    expect(pa.concat_arrays(pieces), expected_of(chosen, VALUES, 6))
    expect(pa.array([window.query()]), expected_of(chosen, VALUES, 6)[-1:])


@pytest.mark.parametrize(("name", "chosen"), some(PAIRS, 11))
def test_a_thawed_window_goes_on_as_if_it_had_never_been_frozen(name: str, chosen: Aggregate[Any]) -> None:
    window = Aggregator(chosen, name)
    column = pa.array(VALUES, pa.int64())
    window.slide(column[:17], 6)
    thawed = Aggregator.thaw(chosen, window.freeze())
    assert len(thawed) == 6
    expect(thawed.slide(column[17:], 6), expected_of(chosen, VALUES, 6)[17:])


@pytest.mark.parametrize(("name", "chosen"), some(PAIRS, 11))
def test_a_window_grows_with_insert_many_and_goes_on_row_by_row(name: str, chosen: Aggregate[Any]) -> None:
    window = Aggregator(chosen, name)
    held: list[Any] = []
    for count in (2, 5, 40, 1):
        rows = [(row * row) % 11 if row % 3 else None for row in range(count)]
        window.insert_many(pa.array(rows, pa.int64()))
        held += rows
        for _ in range(2):
            window.evict()
            held.pop(0)
            window.insert(7)
            held.append(7)
        expect(pa.array([window.query()]), [recompute(chosen, held)])
        assert len(window) == len(held)
    while held:
        window.evict()
        held.pop(0)
        assert alike(window.query(), recompute(chosen, held))


@pytest.mark.parametrize(
    ("name", "chosen"),
    some(pairs(algorithm for algorithm in IN_ORDER if issubclass(algorithm, SharedAlgorithm)), 3),
)
def test_several_ranges_in_one_pass(name: str, chosen: Aggregate[Any]) -> None:
    for values in (VALUES, [value for value in VALUES if value is not None]):
        window = Aggregator(chosen, name)
        if name == "slickdeque" and chosen.inverse is not None and None in values:
            answers = window.slide(values, [2, 5, 30])
            assert "interpreted" in window.explain()
        else:
            first, second = window.slide(values[:9], [2, 5, 30]), window.slide(values[9:], [2, 5, 30])
            answers = {length: pa.concat_arrays([first[length], second[length]]) for length in first}
        assert list(answers) == [2, 5, 30]
        for length, answer in answers.items():
            expect(answer, expected_of(chosen, values, length))


BEGINS, ENDS = [0, 0, 1, 1, 5, 5, 9, 20, 25], [0, 3, 3, 7, 7, 7, 12, 25, 25]
BETWEEN_NULLS = ("subtract_on_evict", "daba", "order_statistics_tree", "occurrence_table")
"""Whose moving bounds are compiled for columns with nulls: all fixed ranges are, and test_kernel.py shares the rest."""


@pytest.mark.parametrize(("name", "chosen"), some(PAIRS, 11))
def test_moving_bounds(name: str, chosen: Aggregate[Any]) -> None:
    without_nulls = [1 if value is None else value for value in VALUES]
    for values in (without_nulls, VALUES) if SOAK or name in BETWEEN_NULLS else (without_nulls,):
        window = Aggregator(chosen, name)
        expected = expected_of(chosen, values, list(zip(BEGINS, ENDS, strict=True)))
        assert window.slide(values, bounds=(BEGINS, ENDS)).to_pylist() == pytest.approx(expected)
        assert len(window) == 0


def test_moving_bounds_over_objects() -> None:
    words = [None if value is None else str(value) for value in VALUES]
    window = Aggregator(agg.max(), "two_stacks")
    expected = expected_of(agg.max(), words, list(zip(BEGINS, ENDS, strict=True)))
    assert window.slide(words, bounds=(BEGINS, ENDS)).to_pylist() == expected
    assert "interpreted" in window.explain()
    assert len(window) == 0


@given(
    st.lists(st.one_of(st.none(), st.integers(-50, 50)), max_size=60),
    st.integers(1, 20),
    st.integers(0, 60),
    st.sampled_from(
        ["flatfit", "recalculate", *(["two_stacks", "daba", "flatfat", "b_int", "slideside"] if FULL else [])]
    ),
)
def test_any_column_in_two_pieces(values: list[int | None], length: int, cut: int, name: str) -> None:
    window = Aggregator(affine, name)
    pieces = [window.slide(pa.array(piece, pa.int64()), length) for piece in (values[:cut], values[cut:])]
    expect(pa.concat_arrays(pieces), expected_of(affine, values, length))


BIG = 2**53 + 1
DAY = dt.datetime(2024, 2, 29, 12, 30, 15, 123457)  # noqa: DTZ001 — a column without a zone


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.int64(), [BIG, None, BIG + 1, -BIG]),
        (pa.int32(), [5, 2**31 - 1, None, -(2**31)]),
        (pa.uint8(), [255, None, 3]),
        (pa.uint64(), [2**62, 1, None]),
        (pa.int8(), [-128, None, 127]),
        (pa.float64(), [1.5, None, nan, 2.0]),
        (pa.float32(), [1.5, None, 2.5]),
        (pa.float16(), [np.float16(1.5), None]),
        (pa.bool_(), [True, None, False]),
        (pa.timestamp("us"), [DAY, None, DAY + dt.timedelta(microseconds=1)]),
        (pa.timestamp("us", "Europe/Paris"), [DAY, None]),
        (pa.date32(), [dt.date(2024, 2, 29), None, dt.date(1969, 1, 1)]),
        (pa.duration("ms"), [dt.timedelta(milliseconds=5), None]),
        (pa.time64("us"), [dt.time(1, 2, 3), None]),
    ],
    ids=str,
)
def test_values_keep_the_type_of_their_column(kind: pa.DataType, values: list[Any]) -> None:
    column = pa.array(values, kind)
    for chosen in (agg.max("x"), agg.first("x")) if FULL or kind == pa.int64() else (agg.max("x"),):
        result = Aggregator(chosen).slide(column, 2)
        assert result.type == kind
        listed = column.to_pylist()
        assert str(result.to_pylist()) == str(expected_of(chosen, listed, 2))
    assert Aggregator(agg.count("x")).slide(column, 2).to_pylist() == expected_of(agg.count("x"), column.to_pylist(), 2)


def test_a_difference_of_times_is_a_duration_and_other_arithmetic_is_refused() -> None:
    column = pa.array([DAY, DAY + dt.timedelta(seconds=3)], pa.timestamp("us"))
    assert Aggregator(agg.spread("ts")).slide(column, 2).to_pylist() == [dt.timedelta(0), dt.timedelta(seconds=3)]
    with pytest.raises(TypeError, match=r"^mean needs numbers, but the column is of type timestamp\[us\]\. Cast it"):
        Aggregator(agg.mean("ts")).slide(column, 2)


def test_ticks_of_nanoseconds_pass_through_no_float() -> None:
    ticks = [1_700_000_000_000_000_001, 1_700_000_000_000_000_003]
    result = Aggregator(agg.max("ts")).slide(pa.array(ticks, pa.timestamp("ns")), 2)
    assert result.cast(pa.int64()).to_pylist() == ticks


@pytest.mark.parametrize(
    "column",
    [
        [3, None, 5, 4],
        pa.array([9, 3, None, 5, 4])[1:],
        pa.chunked_array([[3], [None, 5], [4]]),
        pd.Series([3, None, 5, 4]),
        pd.Series([3, None, 5, 4], dtype="Int64"),
        pl.Series([3, None, 5, 4]),
        pa.array([3, None, 5, 4]).dictionary_encode(),
    ],
    ids=lambda column: type(column).__module__ + "." + type(column).__name__,
)
def test_columns_of_every_kind(column: Any) -> None:
    assert Aggregator(agg.sum("x")).slide(column, 2).to_pylist() == [3, 3, 5, 9]


def test_numpy_columns_that_are_not_laid_out_simply() -> None:
    column = np.arange(10.0)
    assert Aggregator(agg.max("x")).slide(column[::-3], 2).to_pylist() == [9, 9, 6, 3]
    assert Aggregator(agg.max("x")).slide(column.astype(">f8")[:3], 2).to_pylist() == [0, 1, 2]
    assert Aggregator(agg.max("x")).slide(np.array([1.0, nan, 2.0]), 1).to_pylist()[::2] == [1, 2]


def test_two_columns() -> None:
    who = Aggregator(agg.arg_max("load", "plug"))
    loads, plugs = pa.array([5, None, 7, 7, 1]), pa.array([10, 11, None, 13, 14], pa.int32())
    result = who.slide((loads, plugs), 2)
    assert (result.type, result.to_pylist()) == (pa.int32(), [10, 10, None, 13, 13])
    with pytest.raises(ValueError, match=r"The columns have different lengths: 5, 2 rows\."):
        Aggregator(agg.arg_max("load", "plug")).slide((loads, plugs[:2]), 2)
    with pytest.raises(TypeError, match=r"arg_max needs 2 columns, but got 1\. Pass a tuple of columns\."):
        Aggregator(agg.arg_max("load", "plug")).slide(loads, 2)


def test_rows_are_counted_whatever_is_in_them() -> None:
    assert Aggregator(agg.count()).slide(["a", None, "c"], 2).to_pylist() == [1, 2, 2]
    window = Aggregator(agg.count())
    window.insert_many([None, "b"])
    window.insert()
    assert (window.query(), len(window)) == (3, 3)


def test_no_rows() -> None:
    assert Aggregator(agg.sum("x")).slide([], 3).to_pylist() == []
    assert Aggregator(agg.sum("x")).slide(pa.array([None, None]), 3).to_pylist() == [None, None]
    assert len(Aggregator(agg.sum("x")).slide(np.empty(0), [1, 2])[2]) == 0


def test_what_cannot_be_compiled_is_interpreted_and_says_why() -> None:
    words = Aggregator(agg.concat("word"))
    assert words.slide(["a", None, "b"], 2).to_pylist() == ["a", "a", "b"]
    assert (
        words.explain()
        == "concat(word) by subtract_on_evict, interpreted: columns of string are not compiled: only numbers, "
        "booleans and times are."
    )
    lists = sash.aggregate("lists", lift=lambda x: [x], combine=lambda a, b: a + b)
    window = Aggregator(lists("x"))
    assert window.slide([1, 2, 3], 2).to_pylist() == [[1], [1, 2], [2, 3]]
    assert "interpreted: lists holds " in window.explain()
    with pytest.raises(
        TypeError, match="Only a compiled window can be frozen, and this one is interpreted: lists holds"
    ):
        window.freeze()


def test_rows_before_the_column_keep_the_window_interpreted() -> None:
    window = Aggregator(agg.sum("x"))
    window.insert(2**70)
    window.insert_many([1, 2])
    assert window.query() == 2**70 + 3
    assert "the window already held rows that were inserted one by one" in window.explain()


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda w: w.slide([1, 2]), ValueError, "slide needs a number of rows"),
        (lambda w: w.slide([1, 2], 0), ValueError, "ranges: 0 is not a number of rows"),
        (lambda w: w.slide(np.zeros((2, 2)), 1), ValueError, "A column has one dimension, but this array has 2"),
        (lambda w: w.slide("text", 1), TypeError, "'text' is not a column. Pass an Arrow"),
        (lambda w: w.slide([1.0], bounds=([0.5], [1])), TypeError, "bounds must be two columns of row numbers"),
        (lambda w: w.slide([1.0], bounds=([0, 0], [1])), ValueError, "bounds has 2 begins but 1 ends"),
        (
            lambda w: w.slide(pa.array([2**64 - 1], pa.uint64()), 1),
            OverflowError,
            r"uint64 has values above 2\^63 - 1, which compiled",
        ),
        (
            lambda w: (w.insert_many([1.5]), w.insert_many([1])),
            TypeError,
            "holds rows of double, but the new rows are int64",
        ),
        (lambda w: (w.insert_many([1]), w.insert(1.5)), TypeError, "1.5 does not fit into a window of int64"),
        (lambda w: (w.insert_many([1]), w.insert_many(["a"])), TypeError, "the new rows are objects"),
        (lambda w: (w.insert_many([1]), w.evict(before=3)), ValueError, "needs rows with times"),
        (lambda w: (w.insert_many([1]), w.query(start=1, end=3)), ValueError, "needs rows with times"),
        (lambda w: (w.insert_many([1]), w.insert(1, time=3)), ValueError, "takes rows in order"),
        (lambda w: (w.insert_many([1]), w.evict(), w.evict()), IndexError, "the window is empty"),
    ],
)
def test_mistakes_are_told_in_a_sentence(call: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        call(Aggregator(agg.sum("x")))


def test_fiba_takes_no_columns() -> None:
    with pytest.raises(ValueError, match="fiba takes rows with times"):
        Aggregator(agg.max("x"), "fiba").slide([1, 2], 2)


@pytest.mark.parametrize("algorithm", some(["auto", "two_stacks", "daba"], 3))
def test_an_overflow_names_column_and_row(algorithm: str) -> None:
    column = np.full(5000, 2**50)
    column[4000:4004] = 2**62
    sentence = r"^sum\(amount\), row 4001: The sum of a window needs more than 64 bits\. Cast"
    with pytest.raises(OverflowError, match=sentence):
        Aggregator(agg.sum("amount"), algorithm).slide(column, 3)


@pytest.mark.parametrize("rows", [30, 31, 32, 33])
def test_lanes_that_begin_in_the_middle_raise_nothing_that_no_window_has(rows: int) -> None:
    large = 2**62 + 1
    column = np.tile(np.array([large, -large, -large, large]), 50)[:rows]  # four in a row add up to 0, two may overflow
    result = Aggregator(agg.sum("x"), "two_stacks").slide(column, 4)
    assert result.to_pylist() == [large, 0, -large] + [0] * (rows - 3)


# -- frozen windows ----------------------------------------------------------------------------------------------------

THAW = """
import sys, sash
from sash import agg
window = sash.Aggregator.thaw(agg.stddev("x"), open(sys.argv[1], "rb").read())
print(window.slide([1.5, None, 8.0], 5).to_pylist(), len(window))
"""


def test_a_window_thaws_in_another_process(tmp_path: Path) -> None:
    window = Aggregator(agg.stddev("x"))
    window.slide([0.5, 1.0, None, 4.0, 2.0, 7.5], 5)
    path = tmp_path / "frozen"
    path.write_bytes(window.freeze())
    thawed = subprocess.run([sys.executable, "-c", THAW, path], capture_output=True, text=True, check=True)
    expected = window.slide([1.5, None, 8.0], 5).to_pylist()
    assert thawed.stdout.strip() == f"{expected} 5"


def test_times_thaw_with_their_zone() -> None:
    window = Aggregator(agg.max("ts"))
    window.insert_many(pa.array([DAY], pa.timestamp("us", "Europe/Paris")))
    assert Aggregator.thaw(agg.max("ts"), window.freeze()).query() == window.query()


def test_bytes_that_are_not_a_window_are_refused() -> None:
    window = Aggregator(agg.max("x"))
    window.insert_many([1.0, 2.0])
    frozen = window.freeze()
    for broken in (b"", frozen[:5], b"PK" + frozen[2:]):
        with pytest.raises(ValueError, match=r"^These bytes are not a frozen Sash window, or were cut short"):
            Aggregator.thaw(agg.max("x"), broken)
    for broken in (frozen[:-1], frozen[:-9] + b"x" + frozen[-8:], frozen + b"\0"):
        with pytest.raises(ValueError, match=r"were cut short or changed"):
            Aggregator.thaw(agg.max("x"), broken)
    with pytest.raises(ValueError, match=r"is of version 9 of the format, but this Sash reads version 4"):
        Aggregator.thaw(agg.max("x"), frozen[:4] + b"\x09\0" + frozen[6:])
    with pytest.raises(
        ValueError, match=r"The frozen window computes max\(x\), not min\(x\)\. Pass the same aggregate to thaw"
    ):
        Aggregator.thaw(agg.min("x"), frozen)
    pair = sash.aggregate("max", lift=lambda x: (x, x), combine=lambda a, _: a, lower=lambda p: p[0])
    with pytest.raises(ValueError, match=r"lift or combine of max has changed since this window was frozen"):
        Aggregator.thaw(pair("x"), frozen)


# -- memory ------------------------------------------------------------------------------------------------------------

SPACE = {"recalculate": 1, "subtract_on_evict": 1, "two_stacks": 2, "daba": 1, "flatfat": 2, "b_int": 2, "flatfit": 2}
"""The papers' numbers of partials for a window of n rows (a few more are allowed), n being a power of two here."""


@pytest.mark.parametrize("name", some(SPACE, 3))
def test_a_slide_takes_no_more_memory_than_the_papers_partials(name: str) -> None:
    chosen = agg.sum("x").of_kind("int") if name == "subtract_on_evict" else agg.max("x")
    rows, length = (17_000, 1 << 14) if name == "recalculate" else (300_000, 1 << 16)
    column = np.random.default_rng(1).normal(size=rows).astype("int64" if name == "subtract_on_evict" else "float64")
    Aggregator(chosen, name).slide(column[:100], length)  # compiles
    tracemalloc.start()
    try:
        result = Aggregator(chosen, name).slide(column, length)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    fields = 2 if name == "subtract_on_evict" else 1
    partials = peak / (8 * fields)  # the results are in Arrow's memory, which is not traced
    assert partials <= SPACE[name] * length * 1.02 + 4096, partials / length
    assert len(result) == rows


def test_forms_of_algorithms_are_known_by_their_class() -> None:
    window: Aggregator = Aggregator(agg.sum("x"), "slideside")
    window.slide([1, 2], 1)
    assert issubclass(window.algorithm, Algorithm)
    assert window.algorithm.__name__ == "SlideSideInvertible"


# -- what a window that holds rows must refuse, and what it must not -----------------------------------------------------


def test_a_window_made_for_one_range_refuses_several() -> None:
    window = Aggregator(agg.max("x"))
    window.slide([9, 1, 1], 3)
    with pytest.raises(
        ValueError, match=r"two_stacks stores the rows of this window for other ranges\. Pass ranges=\[1, 3\]"
    ):
        window.slide([0, 0, 0], [1, 3])
    assert window.slide([0], 3).to_pylist() == [1]
    by_rows = Aggregator(agg.max("x"))
    by_rows.insert(9)
    with pytest.raises(ValueError, match="stores the rows of this window for other ranges"):
        by_rows.slide([0, 0], [1, 3])


def test_slickdeque_answers_only_what_it_keeps() -> None:
    window = Aggregator(agg.sum("x"), "slickdeque", ranges=[2, 7])
    window.insert_many([1, 2, 3])
    assert (window.query(), window.query(last=7), window.query(last=2)) == (6, 6, 5)
    window.evict()
    assert (window.query(), window.query(last=7), window.query(last=2)) == (5, 5, 5)
    several = Aggregator(agg.sum("x"), "slickdeque")
    several.slide([1, 2, 3, 4], [2, 3])
    with pytest.raises(ValueError, match=r"for other ranges\. Pass ranges=\[4\]"):
        several.slide([10, 20], 4)
    assert several.slide([10, 20], [2, 3])[2].to_pylist() == [14, 30]
    with pytest.raises(ValueError, match="counts inserts, not nulls"):
        several.slide([None, 20], [2, 3])
    several.insert_many([5, 6])
    with pytest.raises(ValueError, match="stores the newest 3 rows at most, not 5"):
        several.query()


@pytest.mark.parametrize("algorithm", ["auto", "daba", "flatfit"] if SOAK else some(["auto", "daba"], 2))
def test_a_kept_window_is_lost_with_an_error(algorithm: str) -> None:
    window = Aggregator(agg.sum("x"), algorithm)
    window.slide([1, 2, 3, 4], 4)
    with pytest.raises(OverflowError, match=r"^sum\(x\), row 3: "):
        window.slide([1, 1, 1, 2**63 - 1, 5, 5], 4)
    for call in (window.query, window.evict, window.freeze, lambda: window.insert(1), lambda: window.slide([1], 4)):
        with pytest.raises(RuntimeError, match="An earlier error in sum left this window incomplete"):
            call()


def test_an_error_of_any_type_is_told_with_its_row_and_only_if_a_window_has_it() -> None:
    def refuse_zero(total: float) -> float:
        if total == 0.0:
            raise KeyError("zero")
        return 1.0

    odd = sash.aggregate("odd", lift=lambda x: x, combine=lambda a, b: a + b, lower=refuse_zero)
    column = np.ones(100)
    column[28:40] = 0
    assert set(Aggregator(odd("x")).slide(column, 40).to_pylist()) == {1.0}
    with pytest.raises(KeyError, match=r"odd\(x\), row 31: 'zero'"):
        Aggregator(odd("x")).slide(column, 4)


def test_pieces_without_a_type_take_that_of_the_others() -> None:
    window = Aggregator(agg.sum("x"))
    pieces = [window.slide(piece, 2).to_pylist() for piece in ([None], [None], [1, 2], [], [None], [4])]
    assert pieces == [[None], [None], [1, 3], [], [2], [4]]


def test_masks_categories_and_numbers_too_large_for_arrow() -> None:
    masked = np.ma.array([1, 2, 3], mask=[False, True, False])
    assert Aggregator(agg.sum("x")).slide(masked, 1).to_pylist() == [1, None, 3]
    window = Aggregator(agg.sum("x"))
    window.insert_many(pd.Series([1, 2, 1], dtype="category"))
    window.insert(7)
    assert window.query() == 11
    assert Aggregator(agg.sum("x")).slide(pd.Index([1.0, nan]), 1).to_pylist() == [1.0, None]
    with pytest.raises(OverflowError, match="Some results are integers of more than 64 bits"):
        Aggregator(agg.sum("x")).slide([2**70, 1], 2)


def test_a_lift_with_a_default_is_interpreted() -> None:
    scaled = sash.aggregate("scaled", lift=lambda x, factor=2.0: x * factor, combine=lambda a, b: a + b)
    window = Aggregator(scaled("x"))
    assert window.slide([1.0, 2.0], 2).to_pylist() == [2.0, 6.0]
    assert "interpreted: lift of scaled can't be compiled" in window.explain()


@pytest.mark.full  # test_as_in_queries.py has them row by row
def test_moments_of_integers_beyond_floats() -> None:
    column = [2**60, 2**60 + 2, 2**60 + 4]
    assert Aggregator(agg.stddev("x")).slide(column, 3).to_pylist() == pytest.approx([None, 2**0.5, 2.0])
    assert Aggregator(agg.stddev("x")).slide([-(2**63), 2**63 - 1], 2).to_pylist()[1] == pytest.approx(2**63.5)


def test_float32_is_added_as_float64_by_ones_own_aggregate_too() -> None:
    total = sash.aggregate("total", lift=lambda x: x, combine=lambda a, b: a + b)
    column = np.array([16777216, 1, 1], np.float32)
    assert Aggregator(total("x")).slide(column, 3).to_pylist() == [16777216, 16777217, 16777218]


def test_a_window_thaws_only_as_what_it_was() -> None:
    made = {
        name: sash.aggregate("u", lift=lift, combine=lambda a, b: a + b)
        for name, lift in (("plain", lambda x: x), ("square", lambda x: x * x))
    }
    window = Aggregator(made["plain"]("x"))
    window.insert_many([1.0, 2.0])
    assert Aggregator.thaw(made["plain"]("x"), window.freeze()).query() == 3.0
    with pytest.raises(ValueError, match="lift or combine of u has changed since this window was frozen"):
        Aggregator.thaw(made["square"]("x"), window.freeze())
    with pytest.raises(ValueError, match=r"The frozen window computes u\(x\), not u\(y\)"):
        Aggregator.thaw(made["plain"]("y"), window.freeze())


def test_differences_of_dates_are_durations() -> None:
    days = pa.array([dt.date(2024, 1, 1), dt.date(2024, 1, 9)])
    assert Aggregator(agg.spread("day")).slide(days, 2).to_pylist() == [dt.timedelta(0), dt.timedelta(days=8)]


@pytest.mark.parametrize("with_nulls", some([True, False], 2), ids=lambda nulls: "nulls" if nulls else "no nulls")
@pytest.mark.parametrize(
    "aggregate",
    some(
        [
            agg.max("x"), agg.stddev("x"), agg.sum("x"), agg.count("x"), agg.median("x"), agg.quantile("x", 0.9),
            agg.mode("x"), agg.nth_smallest("x", 2), agg.count_distinct("x"), agg.rank("x"),
        ],
        4,
    ),
    ids=lambda one: one.name,
)  # fmt: skip
def test_several_ranges_go_on_after_a_whole_column(aggregate: Aggregate[Any], with_nulls: bool) -> None:
    generator = random.Random(21)
    values = [None if with_nulls and generator.random() < 0.3 else generator.randrange(6) for _ in range(30)]
    ranges = [2, 7]
    rows = Aggregator(aggregate, algorithm="recalculate", ranges=ranges)  # row by row, interpreted
    expected: dict[int, list[Any]] = {length: [] for length in ranges}
    for value in values:
        rows.insert(value)
        for length in ranges:
            expected[length].append(rows.query(last=length))
    window = Aggregator(aggregate, ranges=ranges)
    first = window.slide(values[:20])
    assert window.explain().endswith("compiled")
    assert [window.query(), window.query(last=2)] == pytest.approx([expected[7][19], expected[2][19]])
    second = window.slide(values[20:])
    for length in ranges:
        found = first[length].to_pylist() + second[length].to_pylist()
        assert found == pytest.approx(expected[length])
    at_once = Aggregator(aggregate, ranges=ranges)
    assert {length: one.to_pylist() for length, one in at_once.slide(values).items()} == {
        length: pytest.approx(one) for length, one in expected.items()
    }
    at_once.insert(None)
    assert len(at_once) == 7


def test_a_column_without_rows_changes_nothing() -> None:
    window = Aggregator(agg.sum("x"), ranges=[2, 60])
    before = window.explain(), repr(window)
    assert window.slide(np.array([], np.int64))[2].to_pylist() == []
    assert (window.explain(), repr(window)) == before


@pytest.mark.full  # it compiles for long
def test_a_frozen_window_keeps_its_algorithm(monkeypatch: pytest.MonkeyPatch) -> None:
    window = Aggregator(agg.stddev("x"), ranges=[60, 120, 180])
    window.slide([1.0, 2.0, 4.0])
    frozen = window.freeze()
    assert window.explain() == "stddev(x) by slideside, compiled"
    monkeypatch.setattr("sash.plan.choose.cost_of", lambda name, *_: 0.5 if name == "flatfat" else 1.0)
    thawed = Aggregator.thaw(agg.stddev("x"), frozen)
    assert thawed.explain() == "stddev(x) by slideside, compiled"
    assert thawed.query() == window.query()
    nulls = Aggregator(agg.sum("x"), ranges=[2, 60])
    nulls.slide([None, None])
    nulls.slide([1, 2])
    assert Aggregator.thaw(agg.sum("x"), nulls.freeze()).query() == 3


def test_an_algorithm_for_one_range_is_refused_before_it_runs() -> None:
    with pytest.raises(ValueError, match="daba answers one range only"):
        Aggregator(agg.max("x"), algorithm="daba").slide([1, 2, 3], [1, 2])
