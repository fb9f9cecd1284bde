"""Frames of rows as users write them: what the arguments mean, which are rejected, and what rows are peers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.pairwise import FULL, some

import sash
from sash import agg, window
from sash.state.fingerprint import fingerprint_query

ROWS = pa.table({"t": [1, 2, 2, 2, 5], "o": [0, 0, 1, 1, 0], "x": [1, 2, 4, 8, 16]})
"""Each row is a bit, so that a sum shows which rows a window holds."""


def held(frame: window.Window, **given: Any) -> list[list[int]]:
    """Return the rows in the window of each row; none if the sum is null."""
    options = {"time": "t", **given}
    totals = sash.Query({"total": agg.sum("x")}, frame, **options).run(ROWS)["total"].to_pylist()
    return [[row for row in range(5) if (total or 0) >> row & 1] for total in totals]


@pytest.mark.parametrize(
    ("frame", "other"),
    [
        (window.rows(3), window.rows(before=2)),
        (window.rows(3), window.rows(before=2, after=0)),
        (window.rows(1), window.rows(before=0)),
        (window.rows(3, closed="right"), window.rows(3)),
        (window.rows(3, closed="left"), window.rows(before=3, after=-1)),
        (window.rows(3, closed="both"), window.rows(before=3)),
        (window.rows(3, closed="neither"), window.rows(before=2, after=-1)),
        (window.rows(3, exclude="row", min_rows=2), window.rows(before=2, exclude="row", min_rows=2)),
    ],
    ids=repr,
)
def test_two_ways_to_write_a_frame_are_the_same_query(frame: window.Window, other: window.Window) -> None:
    assert (frame, repr(frame)) == (other, repr(other))
    prints = [fingerprint_query(sash.Query(agg.sum("x"), one, time="t")._declared, {}) for one in (frame, other)]
    assert prints[0] == prints[1]


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (window.rows(before=1, after=1), [[0, 1], [0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4]]),
        (window.rows(before=0, after=2), [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4], [4]]),
        (window.rows(before=2, after=-1), [[], [0], [0, 1], [1, 2], [2, 3]]),
        (window.rows(before=-1, after=2), [[1, 2], [2, 3], [3, 4], [4], []]),
        (window.rows(before=None), [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3, 4]]),
        (window.rows(before=None, after=None, exclude="row"), [[1, 2, 3, 4], [0, 2, 3, 4], [0, 1, 3, 4], [0, 1, 2, 4], [0, 1, 2, 3]]),
        (window.rows(before=0, after=None), [[0, 1, 2, 3, 4], [1, 2, 3, 4], [2, 3, 4], [3, 4], [4]]),
        (window.time(before=1, after=0), [[0], [0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3], [4]]),
        (window.time(before=3, after=-1), [[], [0], [0], [0], [1, 2, 3]]),
        (window.time(before=3, after=-1, closed="left"), [[], [], [], [], [1, 2, 3]]),
        (window.time(before=0, after=3, closed="right"), [[1, 2, 3], [4], [4], [4], []]),
        (window.time(before=None, after=-1), [[], [0], [0], [0], [0, 1, 2, 3]]),
        (window.expanding(), [[0], [0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3, 4]]),
    ],
    ids=repr,
)  # fmt: skip
def test_rows_of_a_frame(frame: window.Window, expected: list[list[int]]) -> None:
    assert held(frame, order_by="o") == expected


def test_both_ends_belong_to_a_frame_of_time_unless_it_is_a_range() -> None:
    assert window.time(before=3, after=2) == window.time(before=3, after=2, closed="both")
    assert window.time(before=3).after == window.time(before=3, after=0).after  # type: ignore[attr-defined]
    assert held(window.time(before=1)) != held(window.time(1))
    assert held(window.time(before=1, closed="right")) == held(window.time(1))


def test_peers_have_equal_times_and_in_frames_of_rows_also_equal_order_by() -> None:
    assert held(window.time(before=0, exclude="ties"), order_by="o")[1:4] == [[1], [2], [3]]
    assert held(window.time(before=0, exclude="group"), order_by="o")[1:4] == [[], [], []]
    around: dict[str, Any] = {"before": 1, "after": 1}
    assert held(window.rows(**around, exclude="ties"), order_by="o")[1:4] == [[0, 1, 2], [1, 2], [3, 4]]
    assert held(window.rows(**around, exclude="group"), order_by="o")[1:4] == [[0, 2], [1], [4]]
    assert held(window.rows(**around, exclude="group"))[1:4] == [
        [0],
        [],
        [4],
    ]  # without order_by, rows of a time are peers


def test_rows_without_a_time_have_no_peers() -> None:
    assert held(window.rows(before=1, exclude="ties"), time=None) == held(window.rows(before=1), time=None)
    assert held(window.rows(before=1, exclude="group"), time=None) == held(window.rows(before=1, after=-1), time=None)
    assert held(window.expanding(), time=None) == held(window.rows(before=None), time=None)


def test_an_empty_frame_gives_null_and_a_count_of_zero() -> None:
    query = sash.Query({"n": agg.count(), "top": agg.max("x")}, window.rows(before=1, after=-1))
    assert query.run(ROWS).slice(0, 1).select(["n", "top"]).to_pylist() == [{"n": 0, "top": None}]


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "nothing": (window.rows, r"window\.rows needs a number of rows, as in window\.rows\(100\), or before="),
    "after alone": (lambda: window.rows(after=3), r"after=3 needs before=.*before=0 to begin with the row"),
    "negative": (lambda: window.rows(before=2, after=-3), r"before \+ after must be at least 0"),
    "both ways": (lambda: window.rows(3, before=2), r"range=3 cannot be combined with before= or after="),
    "slide": (lambda: window.rows(before=2, slide=2), r"slide=2 cannot be combined"),
    "closed": (lambda: window.rows(before=2, closed="left"), r"closed='left' cannot be combined"),
    "closed, slide": (lambda: window.rows(3, slide=2, closed="right"), r"closed= applies to the window of a row"),
    "exclude, slide": (lambda: window.rows(3, slide=2, exclude="row"), r"exclude= applies to the window of a row"),
    "no such end": (lambda: window.rows(3, closed="lft"), r"closed='lft' does not exist\. Did you mean .*left"),  # type: ignore[arg-type]
    "no rows": (lambda: window.rows(1, closed="neither"), r'range=1 with closed="neither" leaves no rows'),
    "text": (lambda: window.rows(before="1h"), r"before='1h' is not a whole number of rows"),  # type: ignore[arg-type]
    "flag": (lambda: window.rows(before=True), r"before=True is not a whole number of rows"),
    "exclude": (lambda: window.rows(3, exclude="tie"), r"exclude='tie' does not exist\. Did you mean .*ties"),  # type: ignore[arg-type]
    "time, after alone": (lambda: window.time(after=3), r"after=3 needs before=, how far the window reaches back"),
    "time, negative": (lambda: window.time(before=2, after=-3), r"leave no time between them"),
    "rows, before alone": (lambda: window.rows(before=-1), r"before=-1 and after=0 leave no rows"),
    "time, before alone": (lambda: window.time(before="-1h"), r"before='-1h' and after=0 leave no time between them"),
    "time, both ways": (
        lambda: window.time("1h", before="1h"),
        r"range='1h' cannot be combined with before= or after=",
    ),
    "time, units": (lambda: window.time(before="1h", after=3), r"3"),
    "expanding": (lambda: window.expanding(exclude="peers"), r"window\.expanding: exclude='peers' does not exist"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_rejected(name: str) -> None:
    make, message = WRONG[name]
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_a_stream_emits_a_result_when_the_rows_after_it_are_final() -> None:
    def batches(frame: window.Window) -> list[list[int]]:
        reader = pa.RecordBatchReader.from_batches(ROWS.schema, ROWS.to_batches(max_chunksize=1))
        found = sash.Query({"total": agg.sum("x")}, frame, time="t").run(reader)
        return [batch["x"].to_pylist() for batch in found]

    assert batches(window.rows(before=0)) == [[1], [2, 4, 8], [16]]
    # The last row is final at the end only: until then, a row of the same time may arrive.
    assert batches(window.rows(before=0, after=1)) == [[1, 2, 4], [8, 16]]
    assert batches(window.time(before=0, after=2)) == [[1, 2, 4, 8], [16]]
    assert batches(window.time(before=0, after=3)) == [[1], [2, 4, 8, 16]]
    assert batches(window.rows(before=0, after=None)) == [[1, 2, 4, 8, 16]]  # only the end of the stream ends these


AGGREGATES = {"top": agg.max("x"), **({"sd": agg.stddev("x")} if FULL else {})}


@pytest.mark.parametrize(
    ("around", "exclude"), some(product([(3, 2), (0, 5), (6, -1), (-1, 6)], [None, "row", "ties", "group"]), 5)
)
def test_large_keys_are_evaluated_in_sections(
    monkeypatch: pytest.MonkeyPatch, around: tuple[int, int], exclude: Any
) -> None:
    """Key by key if that pays, and windows of several runs some at a time."""
    before, after = around
    chooser = np.random.default_rng(abs(before) + 10 * abs(after))
    keys, times = np.repeat([0, 1, 2, 3], [400, 3, 1, 300]), np.arange(704)
    values = pa.array([None if x == 0 else float(x) for x in chooser.integers(0, 9, 704)], pa.float64())
    for column in (values, values.fill_null(0)):
        for distinct in (True, False):
            rows = pa.table({"k": keys, "t": times if distinct else times // 3, "x": column})
            frame = window.rows(before=before, after=after, exclude=exclude)
            query = sash.Query(AGGREGATES, frame, by="k", time="t")
            monkeypatch.setattr("sash.engine.executors.compiled_executor.ROWS_PER_CALL", 1)
            monkeypatch.setattr("sash.engine.executors.kernel_executor.WINDOWS_PER_CALL", 64)
            found = query.run(rows, compiled=True)
            expected = query.run(rows)
            for name in AGGREGATES:
                assert found[name].is_null().equals(expected[name].is_null())
                np.testing.assert_allclose(found[name].drop_null(), expected[name].drop_null(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("compiled", [None, False])
@pytest.mark.parametrize("order", [{}, {"order_by": "o"}])
def test_without_a_time_column_no_row_has_peers(order: dict[str, Any], compiled: bool | None) -> None:
    rows = pa.table({"o": [1, 1, 2, 2], "x": [1, 2, 4, 8]})
    found = {
        exclude: sash.Query(agg.sum("x"), window.rows(before=3, after=3, exclude=exclude), **order)
        .run(rows, compiled=compiled)["sum"]
        .to_pylist()
        for exclude in ("row", "ties", "group")
    }
    assert found == {"row": [14, 13, 11, 7], "ties": [15, 15, 15, 15], "group": [14, 13, 11, 7]}
