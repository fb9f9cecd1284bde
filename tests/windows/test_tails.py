"""Windows of rows that begin at multiples of a tail."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import agg, window
from sash.windows import Window

HOUR = 3_600


def payments(seed: int, count: int = 300, days: int = 90) -> pa.Table:
    """Return payments of three cards in some days, unsorted, many of them at whole hours."""
    random = np.random.default_rng(seed)
    seconds = random.integers(0, days * 24 * HOUR, count)
    seconds[::3] = seconds[::3] // HOUR * HOUR
    start = datetime.fromisoformat("1969-12-01")  # before and after the epoch
    columns = {
        "card": random.choice(["a", "b", "c"], count),
        "at": pa.array([start + timedelta(seconds=int(second)) for second in seconds], pa.timestamp("us")),
        "amount": random.integers(0, 100, count),
    }
    return pa.table(columns)


AGGREGATES = {"n": agg.count(), "spent": agg.sum("amount"), "last": agg.collect("amount")}


def spent(one: Window) -> sash.Query:
    return sash.Query(AGGREGATES, one, by="card", time="at")


def test_a_tail_adds_at_most_one_tail() -> None:
    rows = pa.table({"minute": [0, 59, 60, 61, 179, 180, 185], "x": [1, 2, 3, 4, 5, 6, 7]})

    def held(one: Window) -> Any:
        return sash.Query({"held": agg.collect("x")}, one, time="minute").run(rows)["held"].to_pylist()[-1]

    assert held(window.time(120)) == [5, 6, 7]  # since minute 65, which is left out
    assert held(window.time(120, tail=60)) == [3, 4, 5, 6, 7]  # since minute 60, which is held
    assert held(window.time(125, tail=60)) == [3, 4, 5, 6, 7]
    assert held(window.time(126, tail=60)) == [1, 2, 3, 4, 5, 6, 7]
    assert held(window.time(120, tail=60, closed="left")) == [3, 4, 5, 6]
    assert held(window.time(before=120, after=-5, tail=60)) == [3, 4, 5, 6]


@pytest.mark.parametrize(
    "one",
    [
        window.time("30d", tail="1h"),
        window.time("30d", tail="7d", closed="left"),
        window.time("10d", tail="1d", min_rows=3),
        window.time(before="10d", after="-1d", tail="1h"),
        window.time(before="3d", after="2d", tail="1d"),
        window.time(before="-1d", after="9d", tail="2h"),
        window.time(before="9d", after=None, tail="2d", closed="neither"),
        window.time("10d", tail="5d", exclude="ties"),
    ],
    ids=str,
)
def test_tables_streams_and_labels_agree_with_the_oracle(one: Window) -> None:
    events = payments(1)
    events = events.take(np.argsort(events["at"].to_numpy(), kind="stable"))
    query = spent(one)
    table = query.run(events)
    expected = sash.testing.recompute_query(events.to_pylist(), AGGREGATES, one, by=["card"], time="at")
    assert table.to_pylist() == expected
    order = [("at", "ascending"), ("card", "ascending"), ("amount", "ascending")]
    of_slices = {name: AGGREGATES[name] for name in ("n", "spent")}
    for declared in (query, sash.Query(of_slices, one, by="card", time="at")):
        in_batches = pa.RecordBatchReader.from_batches(events.schema, events.to_batches(max_chunksize=17))
        streamed = declared.run(in_batches).read_all().sort_by(order)
        assert streamed.equals(table.select(streamed.column_names).sort_by(order))
    if one.frame and not one.frame.no_labels:  # a label at each event holds what the event holds
        labels = query.run(events, at=events.select(["card", "at"]), future=True)
        assert labels.drop_columns(["card", "at"]).equals(table.drop_columns(["card", "at", "amount"]))


def test_a_tail_in_sql() -> None:
    query = sash.sql("SELECT SUM(amount) AS spent FROM payments [PARTITION BY card RANGE 30 DAYS TAIL 1 HOUR ON at]")
    assert 'windows=time("30d", tail="1h")' in repr(query)
    assert sash.sql(query.to_sql()).run(payments(2)).equals(query.run(payments(2)))
    one = window.time(before="2h", after="-1h", tail="30m", closed="left")
    text = sash.Query({"n": agg.count()}, one, time="at").to_sql()
    assert f"windows={one}" in repr(sash.sql(text))
    with pytest.raises(ValueError, match="TAIL does not apply to ROWS"):
        sash.sql("SELECT SUM(amount) AS spent FROM payments [ROWS 30 TAIL 1 HOUR ON at]")


def test_durations_that_are_written_differently_are_the_same_window() -> None:
    assert window.time("30d", tail="60m").standard_text == window.time("720h", tail="1h").standard_text


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: window.time("1h", tail="2h"), "tail='2h' is longer than the window"),
        (lambda: window.time(before="3h", after="-2h", tail="2h"), "longer than the window"),
        (lambda: window.time("1h", tail=3), "different units"),
        (lambda: window.time("1h", tail="0s"), "tail='0s' must be more than 0"),
        (lambda: window.time("30d", tail="1mo"), "months, quarters and years differ in length"),
        (lambda: window.time("3mo", tail="1d"), "does not apply to months"),
        (
            lambda: window.time("30d", tail="1d", tz="Europe/Berlin"),
            "does not apply to months, quarters, years and tz=",
        ),
        (lambda: window.time("30d", slide="1d", tail="1h"), "applies to the window of a row"),
        (lambda: window.time(before=None, tail="1h"), "before=None is without limit"),
    ],
)
def test_wrong_tails(make: Callable[[], Window], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        make()


def test_windows_of_rows_have_no_tail() -> None:
    with pytest.raises(TypeError, match=r"window.rows has no parameter tail="):
        window.rows(10, tail="1h")  # type: ignore[call-arg]


def test_a_tail_that_does_not_fit_the_time_column() -> None:
    query = sash.Query({"n": agg.count()}, window.time("30d", tail="500ms"), time="at")
    seconds = payments(3).set_column(1, "at", payments(3)["at"].cast(pa.timestamp("s")))
    with pytest.raises(ValueError, match="500ms is not a whole number of ticks"):
        query.run(seconds)


def test_explain_says_how_many_slices_a_window_touches() -> None:
    long = window.time("10d", tail="1h")
    events = payments(4, 20_000, days=40)

    def explained(query: sash.Query) -> str:
        return " ".join(str(query.explain(events)).replace("│", " ").split())

    text = explained(sash.Query({"n": agg.count(), "spent": agg.sum("amount")}, long, by="card", time="at"))
    assert 'time("10d", tail="1h") begins up to 1h earlier than without its tail' in text
    assert (
        "a stream stores up to 241 slices a key, 48 B each: 12 KB; and each row that waits for the watermark, 20 B and its texts."
        in text
    )
    assert "Without tails: each row of the last 10d, 20 B and its texts" in text
    with_list = explained(spent(long))
    assert "a stream stores each row of the last 10d, 20 B and its texts" in with_list
    assert "slices cannot stand for older rows, because last needs all values" in with_list
    assert "tail" not in explained(spent(window.time("10d")))

    hours = agg.count_distinct(sash.expr('floor(epoch("at") / 3600)'))
    touched = sash.Query({"hours": hours}, long, time="at").run(events)["hours"].to_numpy()
    assert touched.max() == 241


def test_the_picture_of_rows() -> None:
    rows = [{"time": minute} for minute in (0, 3, 11, 14, 25)]
    assert "<svg" in window.time(10, tail=5).draw(rows)
