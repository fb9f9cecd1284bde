"""An error in a function of the user's own reaches them as it is, with a note of the aggregate, the key and the row."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from helpers.pairwise import FULL, some

import sash
from sash import agg, window
from sash.aggregates.base import Aggregate
from sash.engine import run_table
from sash.state import reader as stream

both = pytest.mark.parametrize("compiled", [False, True])


def add(older: Any, newer: Any) -> Any:
    return older + newer


def invert(x: float) -> float:
    return 1 / x


def add_unless_large(older: float, newer: float) -> float:
    if older + newer > 100:
        raise ValueError("too much")
    return older + newer


def lower_unless_seven(x: float) -> float:
    if x == 7:
        raise KeyError("seven")
    return x


INVERSE = sash.aggregate("inverse", lift=invert, combine=add, commutative=True)("x")
BOUNDED = sash.aggregate("bounded", lift=float, combine=add_unless_large, commutative=True)("x")
LUCKY = sash.aggregate("lucky", lift=float, combine=add, lower=lower_unless_seven, commutative=True)("x")
FAILS: dict[str, tuple[Aggregate[Any], float, type[Exception], str]] = {
    "lift": (INVERSE, 0.0, ZeroDivisionError, "lifting"),
    "combine": (BOUNDED, 99.0, ValueError, "combining up to"),
    "lower": (LUCKY, 5.0, KeyError, "lowering the window that ends with"),
}
"""By the function that raises: the aggregate, the value at which it does after two ones, and the error."""
WINDOWS = {
    "per row": window.rows(3),
    "over rows": window.delta("t", 3, slide=1),
    "over slices": window.time(10, slide=5),
}


FAILING = [
    *product(FAILS, WINDOWS, [False]),
    *((*chosen, True) for chosen in (product(FAILS, WINDOWS) if FULL else zip(FAILS, WINDOWS, strict=True))),
]
"""The functions, the windows, and whether they are compiled."""


def rows_with(value: float) -> pa.Table:
    """Rows of two keys; the value is in that of b at 7, after two ones."""
    return pa.table({"k": list("aabbb"), "t": [5, 6, 5, 6, 7], "x": [1.0, 1.0, 1.0, 1.0, value]})


def read_all(query: sash.Query, rows: pa.Table, compiled: bool = True) -> pa.Table:
    return query.run(rows.to_reader(2), compiled=compiled).read_all()


def note_of(run: Callable[[], Any], error: type[Exception]) -> str:
    with pytest.raises(error) as caught:
        run()
    assert type(caught.value) is error
    [note] = caught.value.__notes__
    assert note.endswith(".")
    return note


@pytest.mark.parametrize(("function", "windows", "compiled"), FAILING)
def test_errors_name_result_aggregate_key_and_time(function: str, windows: str, compiled: bool) -> None:
    aggregate, value, error, doing = FAILS[function]
    query = sash.Query({"share": aggregate, "n": agg.count()}, WINDOWS[windows], by="k", time="t")
    note = note_of(lambda: query.run(rows_with(value), compiled=compiled), error)
    assert note == f"'share': {aggregate.name}(x) failed while {doing} the row of k=b, t=7."


@pytest.mark.parametrize("function", some(FAILS, 3))
def test_errors_of_one_structure_for_several_windows_name_the_row(function: str) -> None:
    aggregate, value, error, doing = FAILS[function]
    windows = {"short": window.rows(3), "long": window.rows(4)}
    query = sash.Query({"share": aggregate}, windows, by="k", time="t", algorithm="flatfit")
    note = note_of(lambda: query.run(rows_with(value)), error)
    assert note == f"'share': {aggregate.name}(x) failed while {doing} the row of k=b, t=7."


@both
def test_errors_in_streams_name_key_and_time(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MOST_ROWS", 2)
    rows = rows_with(0.0).sort_by("t")
    for windows in WINDOWS.values():
        query = sash.Query({"share": INVERSE}, windows, by="k", time="t")
        note = note_of(partial(read_all, query, rows, compiled), ZeroDivisionError)
        assert note == "'share': inverse(x) failed while lifting the row of k=b, t=7."


def test_errors_over_slices_that_are_kept_name_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MOST_ROWS", 2)
    lucky = sash.Query({"share": LUCKY}, window.time(10, slide=5), by="k", time="t")
    rows = pa.table({"k": ["a", "b", "a", "b"], "t": [1, 2, 7, 8], "x": [1.0, 3.0, 1.0, 4.0]})
    note = note_of(lambda: read_all(lucky, rows), KeyError)
    assert note == "'share': lucky(x) failed while evaluating the window that ends with the slice of k=b from t=5 on."
    bounded = sash.Query({"share": BOUNDED}, window.time(10, slide=5), by="k", time="t")
    same = pa.table({"k": ["a"] * 4, "t": [1, 1, 2, 2], "x": [60.0, 1.0, 60.0, 1.0]})
    assert note_of(lambda: read_all(bounded, same), ValueError) == "'share': bounded(x) failed."


def test_errors_over_rows_in_chunks_name_key_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_table, "CHUNK_ROWS", 2)
    monkeypatch.setattr(run_table, "SECTION_ROWS", 2)
    query = sash.Query({"share": INVERSE}, window.time(10, slide=5), by="k", time="t")
    rows = pa.table({"k": list("ab") * 4, "t": range(0, 24, 3), "x": [1.0] * 5 + [0.0, 1.0, 1.0]})
    note = note_of(lambda: query.run(rows, threads=2), ZeroDivisionError)
    assert note == "'share': inverse(x) failed while lifting the row of k=b, t=15."


@both
def test_errors_without_key_and_time_name_the_row(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MOST_ROWS", 2)
    rows = pa.table({"x": [1.0] * 7 + [0.0, 1.0]})
    query = sash.Query({"share": INVERSE}, window.rows(3))
    runs: list[Callable[[], Any]] = [
        lambda: query.run(rows, compiled=compiled),
        lambda: read_all(query, rows, compiled),
    ]
    for run in runs:
        assert note_of(run, ZeroDivisionError) == "'share': inverse(x) failed while lifting row 7."


def test_errors_show_the_line_that_raised() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        sash.Query({"share": INVERSE}, window.rows(3)).run(pa.table({"x": [1.0, 0.0]}))
    cause = caught.value.__cause__
    assert cause is not None
    frame = cause.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    assert frame is not None
    assert frame.tb_frame.f_code.co_name == "invert"


def test_sums_that_overflow_name_their_window_at_once() -> None:
    rows = pa.table({"k": list("ab"), "t": [1, 2], "x": [1, 2**63 - 1]})
    query = sash.Query({"total": agg.sum_of_squares("x")}, window.rows(3), by="k", time="t")
    note = note_of(lambda: query.run(rows), OverflowError)
    assert note == "'total': sum_of_squares(x) failed while evaluating the window that ends with the row of k=b, t=2."


def test_values_that_are_made_up_may_fail() -> None:
    """The types of results are found out with them, and nothing is said of their errors."""

    def only_long(text: str) -> int:
        if len(text) < 3:
            raise ValueError(text)
        return len(text)

    own = sash.aggregate("own", lift=only_long, combine=add)("x")
    assert sash.Query({"n": own}, window.rows(2)).run(pa.table({"x": ["abc", "abcd"]}))["n"].to_pylist() == [3, 7]
    note = note_of(lambda: sash.Query({"n": own}, window.rows(2)).run(pa.table({"x": ["abc", "a"]})), ValueError)
    assert note == "'n': own(x) failed while lifting row 1."
