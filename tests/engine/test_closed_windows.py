"""Windows with a slide as of labels: the last one that has ended ≡ naive loops ≡ a join with the windows of all events."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.pairwise import in_turn
from helpers.queries import assert_equal
from helpers.windows import CALENDAR, WINDOWS, examples, one_or_two
from hypothesis import assume, given
from hypothesis import strategies as st

import sash
from sash import agg, window
from sash.windows import Window

KEYS = ["a", "b", None, "without events"]
longest = sash.aggregate("longest", lift=len, combine=max, lower=lambda length: -length)
AGGREGATES = {
    "n": agg.count(),
    "sum": agg.sum("v"),
    "held": agg.concat("name", sep=" "),
    "median": agg.median("x"),
    "faded": agg.ewm_sum("x", half_life=5),
    "own": longest("name"),
}
CLOSED = {
    name: one for name, one in examples().items() if not one.per_row and not name.startswith("custom")
}  # labels do not bring the columns of custom windows
EVENTS = pa.schema(
    {
        "key": pa.string(),
        "t": pa.int64(),
        "v": pa.int64(),
        "x": pa.float64(),
        "name": pa.string(),
        "mark": pa.bool_(),
        "row": pa.int64(),
    }
)
START = datetime(2024, 1, 20, tzinfo=UTC)


def events_of(seed: int, rows: int = 120, until: int = 60) -> pa.Table:
    """Events in no order, with ties and nulls."""
    chooser = random.Random(seed)
    columns = {
        "key": chooser.choices(KEYS[:3], k=rows),
        "t": [chooser.randrange(until) for _ in range(rows)],
        "v": [chooser.randint(-9, 9) for _ in range(rows)],
        "x": [chooser.choice([None, chooser.randint(-40, 40) / 4]) for _ in range(rows)],
        "name": [chooser.choice([None, "ant", "bee", f"c{row}"]) for row in range(rows)],
        "mark": [chooser.choice([None, False, True]) for _ in range(rows)],
        "row": range(rows),
    }
    return pa.table(columns, EVENTS)


def labels_of(seed: int, rows: int = 70, until: int = 60) -> pa.Table:
    """Labels before, between, after and at the times of events, in no order, some of them twice."""
    chooser = random.Random(seed)
    places = [(chooser.choice(KEYS), chooser.randrange(-15, until + 25)) for _ in range(rows)]
    places += chooser.choices(places, k=5)
    return pa.table({"id": range(len(places)), "key": [key for key, _ in places], "t": [at for _, at in places]})


def as_times(table: pa.Table, hours: int) -> pa.Table:
    """Return a table whose times are instants, some hours apart."""
    times = [START + timedelta(hours=hours * tick) for tick in table["t"].to_pylist()]
    place = table.schema.get_field_index("t")
    return table.set_column(place, "t", pa.array(times, pa.timestamp("us", "UTC")))


def assert_naive(one: Any, events: pa.Table, labels: pa.Table, aggregates: Any = None, **options: Any) -> None:
    """Compare results with those that loops compute."""
    chosen = aggregates or AGGREGATES
    query = sash.Query(chosen, one, by="key", time="t", order_by="row")
    found = query.run(events, at=labels, **options)
    rows = events.to_pylist(), labels.to_pylist()
    assert_equal(found, sash.testing.recompute_labels(*rows, chosen, one, by=["key"], time="t", order_by=["row"]))


@pytest.mark.parametrize(("name", "compiled"), in_turn(CLOSED, [None, False]))
def test_every_window_with_a_slide(name: str, compiled: bool | None) -> None:
    assert_naive(CLOSED[name], events_of(1), labels_of(2), compiled=compiled)


LABELLED = [kind for kind in WINDOWS if kind not in ("custom", "delta frame")]


@given(st.sampled_from(LABELLED).flatmap(lambda kind: WINDOWS[kind].drawn), st.integers(0, 10**6), st.integers(1, 40))
def test_random_windows(one: Window, seed: int, rows: int) -> None:
    assume(one.frame is None or not one.frame.in_runs)  # labels do not count as rows, so they exclude none
    aggregates = {name: AGGREGATES[name] for name in ("n", "held", "faded")}
    assert_naive(one, events_of(seed, rows), labels_of(seed + 1, 20), aggregates, future=True)


def test_compiled_windows() -> None:
    windows = {"hop": window.time(9, slide=4, closed="right"), "gap": window.session(2), "sum": window.cumulative(6, 2)}
    assert_naive(windows, events_of(3), labels_of(4), {"n": agg.count(), "sum": agg.sum("v")}, compiled=True)


@pytest.mark.parametrize("name", [name for name, one in CALENDAR.items() if not one.per_row])
def test_windows_of_the_calendar(name: str) -> None:
    events, labels = as_times(events_of(5), 31), as_times(labels_of(6), 31)
    aggregates = {name: one for name, one in AGGREGATES.items() if name != "faded"}
    assert_naive(CALENDAR[name], events, labels, aggregates)


def test_frames_of_labels_are_those_of_the_oracle() -> None:
    windows = {"time": window.time(7), "tail": window.time(9, tail=4, closed="left"), "rows": window.rows(3)}
    windows |= {"gap": window.rows(before=4, after=-2), "all": window.expanding()}
    assert_naive(windows, events_of(7), labels_of(8), {"n": agg.count(), "held": AGGREGATES["held"]})
    months = {"month": window.time("1mo", closed="both"), "days": window.time("2d", tz="Europe/Berlin")}
    assert_naive(months, as_times(events_of(7), 31), as_times(labels_of(8), 31), {"n": agg.count()})


@pytest.mark.parametrize("closed", ["left", "right"])
def test_a_join_with_the_windows_of_all_events_gives_the_same(closed: str) -> None:
    query = sash.Query(
        {"n": agg.count(), "sum": agg.sum("v")}, window.time(9, slide=4, closed=closed), by="key", time="t"
    )
    events, labels = events_of(9).to_pandas(), labels_of(10).to_pandas()
    found = query.run(events, at=labels)
    assert (found["window_end"] <= found["t"]).all()
    assert (found["window_end"] > found["t"] - 4).all()
    windows = query.run(events)
    joined = labels.assign(window_end=found["window_end"]).merge(windows, on=["key", "window_end"], how="left")
    assert found["n"].tolist() == joined["n"].fillna(0).astype(int).tolist()
    pd.testing.assert_series_equal(found["sum"], joined["sum"], check_dtype=False)


def test_a_session_is_joined_as_of_the_label() -> None:
    query = sash.Query({"n": agg.count()}, window.session(3), by="key", time="t")
    events, labels = events_of(11, 40).to_pandas(), labels_of(12).to_pandas().fillna({"key": "none"})
    events = events.fillna({"key": "none"})
    found = query.run(events, at=labels).sort_values(["t", "id"])
    sessions = query.run(events).rename(columns={"n": "count"}).sort_values("window_end")
    joined = pd.merge_asof(
        found,
        sessions.assign(end=sessions["window_end"]),
        left_on="t",
        right_on="end",
        by="key",
        suffixes=("", "_by_hand"),
    )
    assert joined["n"].tolist() == joined["count"].fillna(0).astype(int).tolist()
    assert joined["window_start"].fillna(-1).tolist() == joined["window_start_by_hand"].fillna(-1).tolist()
    assert found["window_end"].isna().any()


def test_ties_and_empty_windows() -> None:
    events = pa.table({"t": [10, 20, 20, 35], "x": [1, 2, 3, 4]})
    labels = pa.table({"t": [9, 10, 19, 20, 25, 30, 40, 80]})

    def run(one: Window) -> list[tuple[Any, ...]]:
        query = sash.Query({"sum": agg.sum("x"), "n": agg.count()}, one, time="t")
        return [tuple(row.values())[1:] for row in query.run(events, at=labels).to_pylist()]

    left = [(-10, 0, None, 0), (0, 10, None, 0), (0, 10, None, 0), (10, 20, 1, 1), (10, 20, 1, 1)]
    assert run(window.tumbling(10)) == [*left, (20, 30, 5, 2), (30, 40, 4, 1), (70, 80, None, 0)]
    right = [(-10, 0, None, 0), (0, 10, 1, 1), (0, 10, 1, 1), (10, 20, 5, 2), (10, 20, 5, 2)]
    assert run(window.tumbling(10, closed="right")) == [*right, (20, 30, None, 0), (30, 40, 4, 1), (70, 80, None, 0)]
    none = (None, None, None, 0)
    sessions = [
        none,
        none,
        (10, 15, 1, 1),
        (10, 15, 1, 1),
        (20, 25, 5, 2),
        (20, 25, 5, 2),
        (35, 40, 4, 1),
        (35, 40, 4, 1),
    ]
    assert run(window.session(5)) == sessions
    assert run(window.rows(2, slide=2)) == [none, none, none, *3 * [(10, 20, 3, 2)], *2 * [(20, 35, 7, 2)]]


def test_no_events_and_no_labels() -> None:
    events, labels = as_times(events_of(1), 5), as_times(labels_of(2, 5), 5)
    for one in (window.tumbling("1h"), window.tumbling("1mo"), window.session("5m"), window.rows(3, slide=2)):
        query = sash.Query({"n": agg.count(), "held": agg.concat("name")}, {"a": one, "b": one}, by="key", time="t")
        empty = query.run(events.slice(0, 0), at=labels)
        assert empty["n_a"].to_pylist() == [0] * len(labels)
        assert empty.schema.equals(query.schema(events, at=labels))
        assert query.run(events, at=labels.slice(0, 0)).schema.equals(empty.schema)


def test_other_frames() -> None:
    query = sash.Query({"n": agg.count()}, {"hour": window.tumbling(9), "visit": window.session(3)}, by="key", time="t")
    events, labels = events_of(1), labels_of(2)
    expected = query.run(events, at=labels).to_pylist()
    in_polars = [pl.DataFrame(table) for table in (events, labels)]
    assert query.run(in_polars[0], at=in_polars[1]).to_dicts() == expected
    lazy = query.run(in_polars[0].lazy(), at=in_polars[1].lazy())
    assert lazy.collect().to_dicts() == expected
    in_pandas = query.run(events.to_pandas(), at=labels.to_pandas())
    assert in_pandas["n_visit"].tolist() == [row["n_visit"] for row in expected]
    assert in_pandas["window_start_visit"].isna().tolist() == [row["window_start_visit"] is None for row in expected]


def test_dates_and_the_zone_of_the_column() -> None:
    days = pa.table({"day": pa.array([19_000, 19_001, 19_009], pa.date32()), "x": [1, 2, 3]})
    labels = pa.table({"day": pa.array([19_003, 19_010], pa.date32())})
    query = sash.Query(
        {"sum": agg.sum("x")}, {"week": window.tumbling("7d"), "visit": window.session("1d")}, time="day"
    )
    schema = query.run(days, at=labels).schema
    assert {str(schema.field(name).type) for name in schema.names if "window" in name} == {"date32[day]"}
    events = as_times(events_of(1), 5).set_column(
        1, "t", as_times(events_of(1), 5)["t"].cast(pa.timestamp("us", "Asia/Tokyo"))
    )
    daily = sash.Query({"n": agg.count()}, window.tumbling("1d", tz="Asia/Tokyo"), by="key", time="t")
    found = daily.run(events, at=as_times(labels_of(2), 5))
    assert {str(moment)[11:16] for moment in found["window_end"].to_pylist()} == {"00:00"}


def test_names_that_labels_have() -> None:
    query = sash.Query({"n": agg.count()}, window.tumbling(9), by="key", time="t")
    with pytest.raises(ValueError, match="The labels have a column 'window_end', which is also the name of a result"):
        query.run(events_of(1), at=labels_of(2).append_column("window_end", labels_of(2)["t"]))
    several = sash.Query({"n": agg.count()}, {"a": window.tumbling(9), "b": window.session(2)}, by="key", time="t")
    names = several.run(events_of(1), at=labels_of(2).append_column("window_end", labels_of(2)["t"])).column_names
    assert names[-6:] == ["window_start_a", "window_end_a", "window_start_b", "window_end_b", "n_a", "n_b"]


def test_what_labels_cannot_have() -> None:
    events, labels = events_of(1), labels_of(2)
    query = sash.Query({"n": agg.count()}, window.custom(one_or_two), by="key", time="t")
    with pytest.raises(ValueError, match="it reads whole rows, and labels bring only"):
        query.run(events, at=labels)
    with pytest.raises(OverflowError, match="reach beyond times of 64 bits"):
        sash.Query({"n": agg.count()}, window.tumbling(2**60), time="t").run(
            events, at=pa.table({"t": [2**62 + 2**61]})
        )


def test_explain_says_which_window() -> None:
    query = sash.Query({"n": agg.count()}, {"hop": window.time(9, slide=3)}, by="key", time="t")
    text = " ".join(str(query.explain(events_of(1), at=labels_of(2))).replace("│", " ").split())
    assert "time(9, slide=3): the last window that has ended by then" in text
    assert "future" not in text
