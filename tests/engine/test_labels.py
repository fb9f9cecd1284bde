"""Point-in-time features ≡ a run over the events up to each label ≡ an inequality join in DuckDB."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from helpers.cases import SOAK
from helpers.pairwise import some
from helpers.queries import assert_equal

import sash
from sash import agg, window
from sash.engine.executors.bind import bind
from sash.engine.labels import read_labels
from sash.engine.prepare import prepare
from sash.windows import Window

KEYS = ["a", "b", None, "without events"]
EVENTS = pa.schema({"key": pa.string(), "t": pa.int64(), "x": pa.int64(), "v": pa.float64(), "name": pa.string()})
LABELS = pa.schema({"id": pa.int64(), "key": pa.string(), "t": pa.int64(), "note": pa.string()})

longest = sash.aggregate("longest", lift=len, combine=max, lower=lambda length: -length)
TIME_WINDOWS = {
    "right": window.time(7), "left": window.time(7, closed="left"), "both": window.time(7, closed="both"),
    "neither": window.time(7, closed="neither"), "gap": window.time(before=9, after=-4), "all": window.expanding(),
    "before": window.time(before=None, after=-3), "few": window.time(20, min_rows=3),
}  # fmt: skip
ROW_WINDOWS = {"newest": 3, "one": 1}
SAME = {
    "sum": agg.sum("x"), "mean": agg.mean("v"), "max": agg.max("x"), "median": agg.median("v"), "last": agg.last("name"),
    "first": agg.first("x"), "held": agg.concat("name", sep=" "), "own": longest("name"), "deviation": agg.stddev("v"),
    "different": agg.count_distinct("name"), "n": agg.count("x"), "weighted": agg.ewm_sum("v", half_life=5),
    "smooth": agg.ewm_mean("v", alpha=0.3), "large": agg.sum("v", where="x > 0"), "twice": agg.max(sash.expr("x * 2")),
    "some": agg.count(where="x < 3"),
}  # fmt: skip
"""Aggregates for which a row without values changes nothing."""
FEW = {name: SAME[name] for name in ("sum", "last", "own", "weighted", "large")}
"""All of them take a minute to compile."""


def events_of(seed: int, rows: int = 120, until: int = 60) -> pa.Table:
    """Events in no order, with ties and nulls."""
    chooser = random.Random(seed)
    return pa.table(
        {
            "key": chooser.choices(KEYS[:3], k=rows),
            "t": [chooser.randrange(until) for _ in range(rows)],
            "x": [chooser.choice([None, chooser.randint(-9, 9)]) for _ in range(rows)],
            "v": [chooser.choice([None, chooser.randint(-40, 40) / 4]) for _ in range(rows)],
            "name": [chooser.choice([None, "ant", "bee", f"c{row}"]) for row in range(rows)],
        },
        EVENTS,
    )


def labels_of(seed: int, rows: int = 70, until: int = 60) -> pa.Table:
    """Labels before, between, after and at the times of events, in no order, some of them twice."""
    chooser = random.Random(seed)
    places = [(chooser.choice(KEYS), chooser.randrange(-15, until + 25)) for _ in range(rows)]
    places += chooser.choices(places, k=5)
    columns = {"id": range(len(places)), "note": [chooser.choice([None, "yes"]) for _ in places]}
    return pa.table({**columns, "key": [key for key, _ in places], "t": [time for _, time in places]}).select(LABELS.names)  # fmt: skip


def expected_at(query: sash.Query, events: pa.Table, labels: pa.Table, *, keyed: bool = True) -> pa.Table:
    """Run a query over the events up to each label and one row more, without values, at the time of the label."""
    rows = []
    for number, label in enumerate(labels.to_pylist()):
        own = [row for row in events.to_pylist() if not keyed or row["key"] == label["key"]]
        rows += [row | {"label": number, "is_label": False} for row in own if row["t"] <= label["t"]]
        rows.append(dict.fromkeys(events.column_names) | {"t": label["t"], "label": number, "is_label": True})
    schema = pa.schema([*events.schema, ("label", pa.int64()), ("is_label", pa.bool_())])
    made = query.run(pa.Table.from_pylist(rows, schema))
    return made.filter(pc.field("is_label")).sort_by("label").drop_columns(schema.names)


def shifted(windows: dict[str, int]) -> tuple[dict[str, Window], dict[str, Window]]:
    """Windows of rows for labels, and those that hold the same rows of a row after them."""
    of_labels = {name: window.rows(count) for name, count in windows.items()} | {
        "gap": window.rows(before=4, after=-2), "all": window.rows(before=None, after=0), "few": window.rows(5, min_rows=2),
    }  # fmt: skip
    of_rows = {name: window.rows(before=count, after=-1) for name, count in windows.items()} | {
        "gap": window.rows(before=5, after=-3), "all": window.rows(before=None, after=-1), "few": window.rows(before=5, after=-1, min_rows=2),
    }  # fmt: skip
    return of_labels, of_rows


def assert_as_expected(found: pa.Table, labels: pa.Table, expected: pa.Table) -> None:
    assert found.select(labels.column_names).equals(labels)
    assert_equal(found.drop_columns(labels.column_names), expected.to_pylist(maps_as_pydicts="strict"))


# -- recomputation -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("compiled", "keyed"),
    some([(True, True), (None, True), (False, True), (None, False), (True, False), (False, False)], 3),
)
def test_windows_of_time_hold_the_events_up_to_each_label(compiled: bool | None, keyed: bool) -> None:
    events, labels = events_of(1, 90), labels_of(2, 30)
    aggregates = FEW if compiled and not SOAK else SAME
    query = sash.Query(aggregates, TIME_WINDOWS, by="key" if keyed else (), time="t")
    per_label = sash.Query(aggregates, TIME_WINDOWS, by="label", time="t")
    found = query.run(events, at=labels, compiled=compiled)
    assert_as_expected(found, labels, expected_at(per_label, events, labels, keyed=keyed))


@pytest.mark.parametrize("compiled", [True, False])
def test_windows_of_rows_count_from_the_last_event_before_a_label(compiled: bool) -> None:
    events, labels = events_of(3), labels_of(4)
    of_labels, of_rows = shifted(ROW_WINDOWS)
    aggregates = {name: one for name, one in (FEW if compiled and not SOAK else SAME).items() if name != "weighted"}
    query = sash.Query(aggregates, of_labels, by="key", time="t")
    per_label = sash.Query(aggregates, of_rows, by="label", time="t")
    found = query.run(events, at=labels, compiled=compiled)
    assert_as_expected(found, labels, expected_at(per_label, events, labels))


def run_cold(query: sash.Query, events: pa.Table, labels: pa.Table, threads: int = 1) -> pa.Table:
    """Run without compiling, as the first run of a small table does."""
    cold = bind(prepare(query._declared, events.schema), compiles=False)
    return read_labels(cold, events, labels, None).run(cold, threads)


@pytest.mark.parametrize("seed", range(1, 6))
def test_numpy_and_the_interpreter_agree(seed: int) -> None:
    plain = {
        name: SAME[name] for name in ("sum", "mean", "max", "median", "last", "deviation", "different", "n", "own")
    }
    windows = TIME_WINDOWS | shifted(ROW_WINDOWS)[0]
    query = sash.Query(plain, windows, by="key", time="t", order_by="name")
    events, labels = events_of(seed, 40 * seed), labels_of(seed + 100, 3 * seed)
    expected = query.run(events, at=labels).drop_columns(labels.column_names)
    assert_equal(run_cold(query, events, labels), expected.to_pylist())


def test_ties_follow_order_by() -> None:
    events = pa.table({"t": [1, 1, 1], "n": [3, 1, 2], "x": ["third", "first", "second"]})
    query = sash.Query({"last": agg.last("x"), "two": agg.concat("x", sep=" ")}, window.rows(2), time="t", order_by="n")
    found = query.run(events, at=pa.table({"t": [1]}))
    assert found.to_pylist() == [{"t": 1, "last": "third", "two": "second third"}]


# -- DuckDB ------------------------------------------------------------------------------------------------------------

JOIN = """
    SELECT l.id, count(e.t) AS n, sum(e.x) AS total, max(e.x) AS peak, avg(e.v) AS mean, median(e.v) AS middle,
           stddev_samp(e.v) AS deviation, count(DISTINCT e.name) AS different, count(e.t) FILTER (e.x > 0) AS large
    FROM labels AS l LEFT JOIN events AS e ON l.key IS NOT DISTINCT FROM e.key AND {condition} GROUP BY l.id ORDER BY l.id"""
JOINED = {
    "n": agg.count(), "total": agg.sum("x"), "peak": agg.max("x"), "mean": agg.mean("v"), "middle": agg.median("v"),
    "deviation": agg.stddev("v"), "different": agg.count_distinct("name"), "large": agg.count(where="x > 0"),
}  # fmt: skip


def join_in_duckdb(events: pa.Table, labels: pa.Table, condition: str) -> list[dict[str, Any]]:
    with duckdb.connect() as connection:
        connection.register("events", events)
        connection.register("labels", labels)
        found = connection.sql(JOIN.format(condition=condition)).to_arrow_table()
    total = found.schema.get_field_index("total")
    rows: list[dict[str, Any]] = found.set_column(total, "total", found["total"].cast(pa.int64())).to_pylist()
    return rows


@pytest.mark.parametrize(
    ("one", "condition"),
    [
        (window.time(7), "e.t > l.t - 7 AND e.t <= l.t"),
        (window.time(7, closed="left"), "e.t >= l.t - 7 AND e.t < l.t"),
        (window.time(7, closed="both"), "e.t >= l.t - 7 AND e.t <= l.t"),
        (window.time(7, closed="neither"), "e.t > l.t - 7 AND e.t < l.t"),
        (window.time(before=9, after=-4), "e.t >= l.t - 9 AND e.t <= l.t - 4"),
        (window.time(before=9, after=-4, closed="right"), "e.t > l.t - 9 AND e.t <= l.t - 4"),
        (window.expanding(), "e.t <= l.t"),
    ],
    ids=str,
)
def test_windows_of_time_are_an_inequality_join(one: Window, condition: str) -> None:
    events, labels = events_of(5, 200), labels_of(6)
    query = sash.Query(JOINED, one, by="key", time="t")
    found = query.run(events, at=labels).drop_columns(["key", "t", "note"])
    assert_equal(found, join_in_duckdb(events, labels, condition))


def calendar_rows(seed: int, rows: int, schema: pa.Schema) -> pa.Table:
    """Rows around month ends, some on the same local time of several days."""
    chooser = random.Random(seed)
    first = datetime(2023, 1, 25, tzinfo=UTC)
    days = [day for day in range(500) if (first + timedelta(days=day)).day > 26 or chooser.random() < 0.2]
    moments = [first + timedelta(days=chooser.choice(days), hours=chooser.choice([0, 5, 10, 22])) for _ in range(rows)]
    columns = {
        "id": range(rows), "key": chooser.choices(KEYS, k=rows), "note": [None] * rows, "name": [str(row) for row in range(rows)],
        "x": [chooser.randint(-9, 9) for _ in range(rows)], "v": [chooser.randint(0, 99) / 4 for _ in range(rows)],
    }  # fmt: skip
    return pa.table({name: columns[name] if name in columns else pa.array(moments, pa.timestamp("us")) for name in schema.names})  # fmt: skip


@pytest.mark.parametrize(("text", "closed"), [("1mo", "right"), ("1mo", "both"), ("2mo", "left"), ("1y", "neither")])
def test_a_month_before_a_label_is_the_month_of_sql(text: str, closed: str) -> None:
    """Windows of labels may go back: a month before 30 March 5:00 begins earlier than a month before 29 March 10:00."""
    events, labels = calendar_rows(1, 600, EVENTS), calendar_rows(2, 300, LABELS)
    length = {"1mo": "1 MONTH", "2mo": "2 MONTHS", "1y": "1 YEAR"}[text]
    begin, end = {"right": (">", "<="), "both": (">=", "<="), "left": (">=", "<"), "neither": (">", "<")}[closed]
    condition = f"e.t {begin} l.t - INTERVAL {length} AND e.t {end} l.t"
    query = sash.Query(JOINED, window.time(text, closed=closed), by="key", time="t")
    found = query.run(events, at=labels).drop_columns(["key", "t", "note"])
    assert_equal(found, join_in_duckdb(events, labels, condition))


def test_a_window_of_the_calendar_beside_others() -> None:
    events, labels = calendar_rows(3, 300, EVENTS), calendar_rows(4, 200, LABELS)
    windows = {
        "month": window.time("1mo"),
        "quarter": window.time("1q"),
        "day": window.time("1d"),
        "newest": window.rows(4),
    }
    aggregates = {
        "n": agg.count(),
        "total": agg.sum("x"),
        "middle": agg.median("v"),
        "held": agg.concat("name", sep=" "),
    }
    found = sash.Query(aggregates, windows, by="key", time="t").run(events, at=labels)
    for name, one in windows.items():
        alone = sash.Query(aggregates, one, by="key", time="t").run(events, at=labels)
        for aggregate in aggregates:
            assert found[f"{aggregate}_{name}"].equals(alone[aggregate]), (name, aggregate)


def test_days_of_a_zone_with_clocks_that_change() -> None:
    zone = pa.timestamp("us", "Europe/Berlin")
    hours = pa.array(
        [datetime(2024, 3, 29, hour % 24, 30, tzinfo=UTC) + timedelta(days=hour // 24) for hour in range(96)], zone
    )
    events = pa.table({"t": hours, "x": range(96)})
    query = sash.Query({"n": agg.count(), "first": agg.first("x")}, window.time("1d", tz="Europe/Berlin"), time="t")
    alone = [query.run(events, at=pa.table({"t": hours.slice(row, 1)})).to_pylist()[0] for row in range(96)]
    assert query.run(events, at=pa.table({"t": hours})).to_pylist() == alone
    assert {row["n"] for row in alone[24:]} == {23, 24}  # and 2:30, which does not exist, is 3:30


# -- kinds of data -----------------------------------------------------------------------------------------------------

QUERY = sash.Query(
    {"n": agg.count(), "newest": agg.last("name"), "least": agg.min("x")}, window.time(9), by="key", time="t"
)


def test_pandas_labels_keep_their_index_and_columns() -> None:
    events, labels = events_of(7), labels_of(8)
    frame = labels.to_pandas().set_index(pd.Index(np.arange(len(labels))[::-1] * 2, name="row"))
    found = QUERY.run(events.to_pandas(), at=frame)
    assert found.index.equals(frame.index)
    pd.testing.assert_frame_equal(found[frame.columns], frame)
    assert found["n"].tolist() == QUERY.run(events, at=labels)["n"].to_pylist()
    assert QUERY.schema(events.to_pandas(), at=frame).names == [*frame.columns, "n", "newest", "least"]
    by_index = QUERY.run(events.to_pandas(), at=labels.to_pandas().set_index("t"))
    assert by_index["n"].tolist() == found["n"].tolist()


@pytest.mark.parametrize("lazy", [True, False])
def test_polars_labels(lazy: bool) -> None:
    events, labels = pl.DataFrame(events_of(7)), pl.DataFrame(labels_of(8))
    events = events.with_columns(name=pl.col("name").cast(pl.Enum(sorted(events["name"].drop_nulls().unique()))))
    given = (events.lazy(), labels.lazy()) if lazy else (events, labels)
    found = QUERY.run(given[0], at=given[1])
    assert isinstance(found, pl.LazyFrame if lazy else pl.DataFrame)
    made = found.lazy().collect()
    assert made.select(labels.columns).equals(labels)
    assert made.schema["newest"] == events.schema["name"]  # a column that the labels do not have
    expected = QUERY.run(events_of(7), at=labels_of(8))
    assert made["newest"].cast(pl.String).to_list() == expected["newest"].to_pylist()
    assert QUERY.schema(given[0], at=given[1]).names == [*labels.columns, "n", "newest", "least"]


def test_record_batches_and_time_columns_of_another_name() -> None:
    events, labels = events_of(7), labels_of(8).rename_columns(["id", "key", "when", "note"])
    [batch], [own] = events.combine_chunks().to_batches(), labels.combine_chunks().to_batches()
    found = QUERY.run(batch, at=own, at_time="when")
    assert isinstance(found, pa.RecordBatch)
    assert pa.Table.from_batches([found]).equals(QUERY.run(events, at=labels, at_time="when").combine_chunks())
    assert found["n"].to_pylist() == QUERY.run(events, at=labels_of(8))["n"].to_pylist()


def test_labels_may_have_the_columns_of_events_too() -> None:
    labels = pa.table({"key": ["a"], "x": ["their own"], "t": [-100], "at": [59]})
    found = QUERY.run(events_of(7), at=labels, at_time="at")
    assert found.select(labels.column_names).equals(labels)
    assert found["n"].to_pylist()[0] > 0


def test_keys_of_other_types_and_computed_keys() -> None:
    events = pa.table(
        {"key": pa.array(["a", "b"]).dictionary_encode(), "n": pa.array([1, 2], pa.int16()), "t": [1, 1], "x": [5, 6]}
    )
    labels = pa.table({"key": pa.array(["b", "a"], pa.large_string()), "n": [2, 1], "t": pa.array([4, 4], pa.int32())})
    query = sash.Query({"sum": agg.sum("x")}, window.expanding(), by=["key", "n"], time="t")
    assert query.run(events, at=labels)["sum"].to_pylist() == [6, 5]
    computed = sash.Query({"sum": agg.sum("x")}, window.expanding(), by=sash.expr("upper(key)"), time="t")
    assert computed.run(events, at=pa.table({"key": ["A", "x"], "t": [4, 4]}))["sum"].to_pylist() == [5, None]


def test_times_of_another_unit_or_zone() -> None:
    moments = pa.array([datetime(2024, 5, 1, 12, tzinfo=UTC)], pa.timestamp("ms", "UTC"))
    labels = pa.array([datetime(2024, 5, 1, 12, 0, 30, tzinfo=UTC)], pa.timestamp("ns", "Europe/Berlin"))
    query = sash.Query({"n": agg.count()}, window.time("1m"), time="t")
    found = query.run(pa.table({"t": moments}), at=pa.table({"t": labels}))
    assert found["n"].to_pylist() == [1]
    assert found["t"].type == labels.type


def test_integers_are_exact() -> None:
    large = 2**62 + 1
    events = pa.table({"t": [1, 2, 3], "x": pa.array([large, 1, -large])})
    query = sash.Query({"sum": agg.sum("x"), "last": agg.last("x"), "max": agg.max("x")}, window.expanding(), time="t")
    assert query.run(events, at=pa.table({"t": [1, 2, 9]})).to_pydict() == {
        "t": [1, 2, 9], "sum": [large, large + 1, 1], "last": [large, 1, -large], "max": [large] * 3,
    }  # fmt: skip


def test_no_labels_and_no_events() -> None:
    events, labels = events_of(7), labels_of(8)
    none = QUERY.run(events, at=labels.slice(0, 0))
    assert none.schema == QUERY.run(events, at=labels).schema == QUERY.schema(events, at=labels)
    assert none.schema == QUERY.schema(events.schema, at=labels.schema)
    assert not len(none)
    empty = QUERY.run(events.slice(0, 0), at=labels)
    assert empty["n"].to_pylist() == [0] * len(labels)
    assert empty["newest"].null_count == len(labels)
    assert len(QUERY.run(events.slice(0, 0), at=labels.slice(0, 0))) == 0


@pytest.mark.parametrize("windows", [window.time(500), window.rows(7)], ids=str)
def test_threads_change_nothing(windows: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sash.engine.run_table.SECTION_ROWS", 100)
    events, labels = events_of(9, 3000, 2000), labels_of(10, 2000, 2000)
    query = sash.Query(FEW, windows, by="key", time="t")
    parted, alone = (query.run(events, at=labels, threads=threads) for threads in (4, 1))
    monkeypatch.undo()
    whole = query.run(events, at=labels, threads=1)
    assert parted.equals(alone)
    assert parted.equals(whole)


def test_an_explanation_names_the_labels() -> None:
    text = str(QUERY.explain(events_of(7), at=labels_of(8)))
    assert "one result per label, from the events of the same key up to its t" in text
    assert "one result per label" in str(QUERY.explain(EVENTS, at=LABELS))


# -- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (window.delta("x", 5), "follows the values of its rows"),
        (window.time(before=5, after=2), "looks ahead"),
        (window.time(before=5, after=None), "looks ahead"),
        (window.rows(before=5, after=1), "looks ahead"),
        (window.rows(before=5, after=None), "looks ahead"),
        (window.rows(before=5, exclude="row"), "excludes rows"),
        (window.time(before=5, after=0, exclude="group"), "excludes rows"),
    ],
    ids=str,
)
def test_windows_that_do_not_end_with_their_row_are_refused(one: Window, reason: str) -> None:
    query = sash.Query({"n": agg.count()}, one, by="key", time="t")
    with pytest.raises(ValueError, match=rf"at= does not apply to .*: it {reason}"):
        query.run(events_of(1), at=labels_of(1))
    with pytest.raises(ValueError, match=reason):
        query.schema(events_of(1), at=labels_of(1))


def test_labels_that_do_not_fit_are_refused() -> None:
    events, labels = events_of(1), labels_of(1)
    with pytest.raises(ValueError, match="The labels have a column 'n', which is also the name of a result"):
        QUERY.run(events, at=labels.append_column("n", labels["t"]))
    with pytest.raises(ValueError, match="The labels have no column 'key'"):
        QUERY.run(events, at=labels.drop_columns("key"))
    with pytest.raises(ValueError, match="The labels have no column 'when'"):
        QUERY.run(events, at=labels, at_time="when")
    with pytest.raises(TypeError, match=r"same kind as the events, a pyarrow\.Table, but it is a pandas\.DataFrame"):
        QUERY.run(events, at=labels.to_pandas())
    with pytest.raises(TypeError, match="same kind"):
        QUERY.run(pl.DataFrame(events).lazy(), at=pl.DataFrame(labels))
    with pytest.raises(ValueError, match=r"The time 't' is null in 1 label"):
        QUERY.run(events, at=pa.table({"key": ["a", "a"], "t": [1, None]}))
    with pytest.raises(TypeError, match="at_time= names the time column of labels, but there are none"):
        QUERY.run(events, at_time="t")
    with pytest.raises(TypeError, match="at_time=3 is not the name of a column"):
        QUERY.run(events, at=labels, at_time=3)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="at= needs a time column"):
        sash.Query({"n": agg.count()}, window.rows(3)).run(events, at=labels)


@pytest.mark.parametrize(
    "column",
    [pa.array(["1"]), pa.array([1.5]), pa.array([datetime(2024, 1, 1)], pa.timestamp("us")), pa.array([True])],  # noqa: DTZ001
    ids=lambda column: str(column.type),
)
def test_types_that_do_not_fit_are_refused(column: pa.Array) -> None:
    events = pa.table({"key": [1], "t": [1]})
    query = sash.Query({"n": agg.count()}, window.time(9), by="key", time="t")
    with pytest.raises(TypeError, match=r"Column 'key' of the labels is .* and does not fit that of the events, int64"):
        query.run(events, at=pa.table({"key": column, "t": [1]}))
    with pytest.raises(TypeError, match=r"Column 't' of the labels is .* and does not fit that of the events, int64"):
        query.run(events, at=pa.table({"key": [1], "t": column}))


def test_only_one_time_with_a_zone_is_refused() -> None:
    moments = pa.array([datetime(2024, 5, 1, 12, tzinfo=UTC)], pa.timestamp("ms", "UTC"))
    events, labels = pa.table({"t": moments}), pa.table({"t": moments.cast(pa.timestamp("ms"))})
    with pytest.raises(TypeError, match="only one has a time zone"):
        sash.Query({"n": agg.count()}, window.time("1m"), time="t").run(events, at=labels)


def test_a_stream_takes_no_labels() -> None:
    with pytest.raises(TypeError, match="needs all events up to its time, and more may arrive"):
        QUERY.run(events_of(1).to_reader(), at=labels_of(1))


def test_labels_without_rows_may_have_a_dictionary_as_key() -> None:
    keys = pa.array(["a"]).dictionary_encode()
    events, labels = pa.table({"key": keys, "t": [1]}), pa.table({"key": keys, "t": [2]})
    query = sash.Query({"n": agg.count()}, window.time(9), by="key", time="t")
    assert query.schema(events, at=labels).names == ["key", "t", "n"]
    assert query.run(events.slice(0, 0), at=labels.slice(0, 0)).num_rows == 0
    assert query.run(events, at=labels)["n"].to_pylist() == [1]


# -- windows that look ahead -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "condition"),
    [
        (window.time(before=0, after=7, closed="right"), "e.t > l.t AND e.t <= l.t + 7"),
        (window.time(before=0, after=7), "e.t >= l.t AND e.t <= l.t + 7"),
        (window.time(before=-2, after=9, closed="left"), "e.t >= l.t + 2 AND e.t < l.t + 9"),
        (window.time(before=5, after=5), "e.t >= l.t - 5 AND e.t <= l.t + 5"),
        (window.time(before=0, after=None, closed="right"), "e.t > l.t"),
        (window.time(before=None, after=None), "true"),
    ],
    ids=str,
)
@pytest.mark.parametrize("compiled", [None, True, False])
def test_targets_are_an_inequality_join(one: Window, condition: str, compiled: bool | None) -> None:
    if compiled and one != window.time(before=0, after=7, closed="right"):
        compiled = None  # the kernels are the same
    events, labels = events_of(5, 200), labels_of(6)
    query = sash.Query(JOINED, one, by="key", time="t")
    found = query.run(events, at=labels, future=True, compiled=compiled).drop_columns(["key", "t", "note"])
    assert_equal(found, join_in_duckdb(events, labels, condition))


def test_the_next_rows_after_a_label() -> None:
    events = pa.table({"t": [1, 2, 2, 5, 9], "x": ["a", "b", "c", "d", "e"]})
    query = sash.Query({"next": agg.concat("x", sep=" ")}, window.rows(before=-1, after=2), time="t")
    found = query.run(events, at=pa.table({"t": [0, 2, 5, 9]}), future=True)
    assert found["next"].to_pylist() == ["a b", "d e", "e", None]


def test_the_future_is_refused_unless_it_is_asked_for() -> None:
    events, labels = events_of(5).to_pandas(), labels_of(6).to_pandas()
    query = sash.Query({"spent": agg.sum("x")}, window.time(before=0, after=7, closed="right"), by="key", time="t")
    with pytest.raises(ValueError, match=r"it looks ahead, to events after the label.*leakage.*pass future=True"):
        query.run(events, at=labels)
    assert query.run(events, at=labels, future=True)["spent"].notna().any()
    with pytest.raises(TypeError, match="future=True is for labels, but there are none"):
        query.run(events, future=True)
    with pytest.raises(TypeError, match="must be True or False"):
        query.run(events, at=labels, future="yes")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="does not apply to a RecordBatchReader"):
        query.run(events_of(5).to_reader(), future=True)


def test_columns_that_see_the_future_are_marked() -> None:
    windows = {"past": window.time(7), "next": window.time(before=0, after=7, closed="right")}
    query = sash.Query({"n": agg.count(), "sum": agg.sum("x")}, windows, by="key", time="t")
    schema = query.schema(events_of(5), at=labels_of(6), future=True)
    marked = [field.name for field in schema if (field.metadata or {}).get(b"sash.sees_future") == b"true"]
    assert marked == ["n_next", "sum_next"]
    explained = str(query.explain(events_of(5), at=labels_of(6), future=True))
    assert "n_next and sum_next read rows after the row or label of the result" in explained
    assert "up to its t, or after it where a window looks ahead" in " ".join(explained.replace("│", " ").split())
    assert "future" not in str(sash.Query({"n": agg.count()}, window.time(7), time="t").explain())


@pytest.mark.parametrize("kind", [pa.table, pd.DataFrame, pl.DataFrame])
def test_a_result_may_have_the_name_of_a_column_of_the_events_but_not_of_the_labels(kind: Any) -> None:
    events, labels = {"k": [1, 1, 2], "t": [1, 3, 2], "x": [5.0, 7.0, 9.0]}, {"k": [1, 2, 1], "t": [3, 2, 1]}
    query = sash.Query({"x": agg.max("x")}, window.time(5), by="k", time="t")
    assert np.asarray(query.run(kind(events), at=kind(labels))["x"]).tolist() == [7.0, 9.0, 5.0]
    with pytest.raises(ValueError, match="The labels have a column 'x'"):
        query.run(kind(events), at=kind({**labels, "x": [0, 0, 0]}))
    with pytest.raises(ValueError, match="The data already has a column 'x'"):
        query.run(kind(events))
