"""Options of windows with a slide: which end is closed, gaps between windows, and windows without rows."""

from __future__ import annotations

import random
import tracemalloc
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from helpers.queries import Named
from helpers.windows import CALENDAR, examples

import sash
from sash import agg, window
from sash.engine import run_table
from sash.engine.prepare import prepare
from sash.state.reader import Stream
from sash.state.stream_state import StreamState, first_in_time
from sash.testing import recompute_query
from sash.windows import Window
from sash.windows.by_function import Custom

AGGREGATES: Named = {"n": agg.count(), "top": agg.max("x"), "total": agg.sum("x")}
START = datetime(2024, 2, 28, 23, 40)  # noqa: DTZ001 — columns without a zone


def table_of(times: list[int], **columns: list[Any]) -> pa.Table:
    return pa.table({"t": pa.array(times, pa.int64()), "x": pa.array(range(len(times)), pa.int64()), **columns})


def counts(windows: Window, times: list[int]) -> list[tuple[int, int, int]]:
    """The start, the end and the number of rows of each window."""
    found = sash.Query({"n": agg.count()}, windows, time="t").run(table_of(times))
    return [tuple(row.values()) for row in found.to_pylist()]


# -- by hand ----------------------------------------------------------------------------------------------------------


def test_a_row_at_an_end_belongs_to_the_window_that_ends_there() -> None:
    times = [0, 1, 5, 10, 11]
    assert counts(window.tumbling(5, closed="right"), times) == [(-5, 0, 1), (0, 5, 2), (5, 10, 1), (10, 15, 1)]
    assert counts(window.cumulative(10, 5, closed="right"), times) == [
        (-10, 0, 1), (0, 5, 2), (0, 10, 3), (10, 15, 1), (10, 20, 1),
    ]  # fmt: skip


def test_rows_between_two_windows_belong_to_none() -> None:
    assert counts(window.time(2, slide=5), [0, 1, 2, 3, 4, 5, 9]) == [(0, 2, 2), (5, 7, 1)]
    assert counts(window.time(2, slide=5, closed="right"), [0, 1, 2, 3, 5, 9, 12]) == [(0, 2, 2), (10, 12, 1)]
    assert counts(window.time(2, slide=5), [2, 3, 4]) == []
    rows = sash.Query({"all": agg.collect("x")}, window.rows(2, slide=5)).run(table_of(list(range(12))))
    assert rows["all"].to_pylist() == [[3, 4], [8, 9]]


def test_windows_without_rows_lie_between_those_with_rows() -> None:
    assert counts(window.tumbling(5, empty=True), [3, 18]) == [(0, 5, 1), (5, 10, 0), (10, 15, 0), (15, 20, 1)]
    assert counts(window.time(1, slide=4, empty=True), [2, 4, 6, 16, 17]) == [
        (4, 5, 1), (8, 9, 0), (12, 13, 0), (16, 17, 1),
    ]  # fmt: skip
    assert counts(window.cumulative(4, 2, empty=True), [3, 10]) == [(0, 4, 1), (4, 6, 0), (4, 8, 0), (8, 10, 0), (8, 12, 1)]  # fmt: skip
    assert counts(window.tumbling(5, empty=True), []) == []
    query = sash.Query(AGGREGATES, window.tumbling(5, empty=True), by="k", time="t")
    found = query.run(table_of([1, 2, 11, 30], k=["a", "b", "a", "b"])).to_pylist()
    of_keys = {key: [row["n"] for row in found if row["k"] == key] for key in "ab"}
    assert of_keys == {"a": [1, 0, 1], "b": [1, 0, 0, 0, 0, 0, 1]}
    assert [(row["top"], row["total"]) for row in found if not row["n"]] == [(None, None)] * 6


def test_min_rows_counts_values_after_the_filter() -> None:
    rows = table_of([1, 2, 3, 11, 12], mark=[False, False, True, True, True])
    for windows, expected in {
        window.session(2, min_rows=2): [None, None],
        window.tumbling(10, min_rows=2): [None, None],
        window.cumulative(20, 10, min_rows=2): [None, 2],
        window.punctuated("mark", min_rows=2): [None, None, None],
        window.custom(lambda row: (row["t"] in (1, 3), row["t"] > 10), min_rows=2): [None, None],
        window.custom(lambda row: (row["t"] == 1, row["t"] == 12), min_rows=2): [2],
    }.items():
        found = sash.Query({"n": agg.count("x", where="x % 3 = 1")}, windows, time="t").run(rows)
        assert found["n"].to_pylist() == expected, windows


@pytest.mark.parametrize("one", [*examples().values(), *CALENDAR.values()], ids=str)
def test_the_text_of_a_window_makes_it_again(one: Window) -> None:
    if not isinstance(one, Custom):
        assert eval(repr(one), vars(window)) == one  # noqa: S307 — our own text
    assert ("min_rows=" in repr(one)) == (one.min_rows > 1)
    assert ("empty=True" in repr(one)) == one.emits_empty


def test_options_are_explained() -> None:
    windows = window.time("2m", slide="5m", closed="right", min_rows=3, empty=True)
    text = str(sash.Query({"n": agg.count()}, windows, time="t").explain())
    assert 'time("2m", slide="5m", closed="right", min_rows=3, empty=True)' in text
    assert "cut where windows begin (cutty), every 5m" in text
    assert "1 per window, read while open" in text


def test_pictures_show_rows_at_ends_inside() -> None:
    rows = [{"time": time} for time in (5, 7, 10)]
    inside = window.tumbling(5, closed="right").draw(rows)
    outside = window.tumbling(5).draw(rows)
    assert inside != outside
    assert "(0, 5]" not in inside  # windows are drawn where they start and end
    window.time(2, slide=5).draw()
    window.rows(2, slide=5).draw()
    window.tumbling("1mo", empty=True).draw([{"time": datetime(2024, month, 3, tzinfo=UTC)} for month in (1, 4)])


# -- every way to run a table --------------------------------------------------------------------------------------------


def drawn(chooser: random.Random) -> Window:
    length, slide, offset = chooser.randint(1, 9), chooser.randint(1, 9), chooser.randint(-9, 9)
    options: Any = {
        "offset": offset,
        "closed": chooser.choice(["left", "right"]),
        "min_rows": chooser.choice([1, 1, 2]),
        "empty": chooser.random() < 0.5,
    }
    kind = chooser.random()
    if kind < 0.6:
        return window.time(length, slide=slide, **options)
    if kind < 0.8:
        return window.tumbling(length, **options)
    return window.cumulative(length * chooser.randint(1, 4), length, **options)


@pytest.mark.parametrize("seed", range(6))
def test_tables_in_parts_and_chunks_agree_with_the_oracle(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_table, "CHUNK_ROWS", 8)
    monkeypatch.setattr(run_table, "SECTION_ROWS", 16)
    chooser = random.Random(seed)
    for _ in range(6):
        far, keys = chooser.choice([5, 40, 200]), chooser.choice([1, 2, 5])
        rows = [
            {"k": chooser.randrange(keys), "t": time, "x": chooser.choice([None, chooser.randint(-9, 9)])}
            for time in sorted(chooser.randint(-far, far) for _ in range(chooser.choice([1, 20, 50])))
        ]
        table = pa.Table.from_pylist(rows, pa.schema({"k": pa.int64(), "t": pa.int64(), "x": pa.int64()}))
        windows = {"a": drawn(chooser), "b": drawn(chooser)}
        slicing: Any = chooser.choice(["auto", "none", "panes", "pairs", "cutty"])
        query = sash.Query(AGGREGATES, windows, by="k", time="t", slicing=slicing)
        expected = recompute_query(rows, AGGREGATES, windows, by=["k"], time="t")
        for compiled, threads in ((None, 1), (None, 2), (False, 1)):
            found = query.run(table, compiled=compiled, threads=threads).to_pylist()
            assert sorted(map(repr, found)) == sorted(map(repr, expected)), (windows, slicing)


def days(count: int, zone: str | None = None) -> pa.Table:
    """Midnights of two years, many of them of the first day of a month, and times a microsecond beside."""
    chooser = random.Random(3)
    times = [datetime(2023, 1, 1) + timedelta(days=chooser.randint(0, 700)) for _ in range(count)]  # noqa: DTZ001
    times += [time.replace(day=1) for time in times[::3]]
    times += [time + timedelta(microseconds=chooser.choice([-1, 1])) for time in times[::4]]
    local = pa.array(times, pa.timestamp("us"))
    placed = local if zone is None else pc.assume_timezone(local, zone, ambiguous="earliest", nonexistent="latest")
    return pa.table({"t": placed, "x": [float(number % 13) for number in range(len(times))]}).sort_by("t")


@pytest.mark.parametrize("zone", [None, "Europe/Berlin", "Asia/Kolkata", "date"])
def test_windows_of_the_calendar_with_rows_at_their_borders(zone: str | None) -> None:
    table = days(60, None if zone == "date" else zone)
    if zone == "date":
        table, zone = table.set_column(0, "t", table["t"].cast(pa.date32(), safe=False)), None
    for windows in (
        window.tumbling("1mo", closed="right"),
        window.time("1mo", slide="1q", closed="right", empty=True),
        window.time("2mo", slide="5mo", offset="1mo", empty=True),
        window.cumulative("1q", "1mo", closed="right", empty=True),
        *([window.time("1d", slide="3d", closed="right", empty=True, tz=zone)] if zone else []),
    ):
        found = sash.Query(AGGREGATES, windows, time="t").run(table).to_pylist()
        assert found == recompute_query(table.to_pylist(), AGGREGATES, windows, time="t"), windows


def test_empty_windows_have_a_limit_that_is_checked_before_memory_is_allocated() -> None:
    far = pa.table({"t": pa.array([0, 10**15], pa.timestamp("us")), "x": [1.0, 2.0]})
    for windows in (window.tumbling("1ms", empty=True), window.time("1ms", slide="1s", empty=True, max_windows=10**6)):
        tracemalloc.start()
        try:
            with pytest.raises(ValueError, match=r"1,000,000,00\d(,\d\d\d)? windows lie between .* max_windows="):
                sash.Query({"n": agg.count()}, windows, time="t").run(far)
            assert tracemalloc.get_traced_memory()[1] < 2**26
        finally:
            tracemalloc.stop()
    assert len(counts(window.tumbling(1, empty=True, max_windows=100), [0, 99])) == 100
    with pytest.raises(ValueError, match="101 windows lie between"):
        counts(window.tumbling(1, empty=True, max_windows=100), [0, 100])
    assert counts(window.tumbling(1, max_windows=2), [0, 100]) == [(0, 1, 1), (100, 101, 1)]


# -- peers ---------------------------------------------------------------------------------------------------------------


def rows_at_borders(count: int = 400) -> pa.Table:
    """Rows in order of time, most of them exactly at a minute, with ties and gaps."""
    chooser = random.Random(5)
    second, times = 0, []
    for _ in range(count):
        second += chooser.choice([0, 0, 1, 30, 60, 60, 120, 59, 600 if chooser.random() < 0.2 else 60])
        times.append(START + timedelta(seconds=second))
    return pa.table({"t": pa.array(times, pa.timestamp("us")), "x": [float(number % 17) for number in range(count)]})


@pytest.mark.parametrize("closed", ["left", "right"])
@pytest.mark.parametrize(("length", "slide"), [("5m", "5m"), ("2m", "5m"), ("1m", "3m"), ("10m", "4m")])
def test_windows_equal_those_of_polars(length: str, slide: str, closed: Any) -> None:
    table = rows_at_borders()
    query = sash.Query(AGGREGATES, window.time(length, slide=slide, closed=closed), time="t")
    mine = {(row["window_start"], row["window_end"]): row for row in query.run(table).to_pylist()}
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    grouped = frame.group_by_dynamic("t", every=slide, period=length, closed=closed, include_boundaries=True)
    theirs = grouped.agg(pl.len().alias("n"), pl.max("x").alias("top"), pl.sum("x").alias("total")).to_dicts()
    # Polars leaves out windows that start before the one of the first row, although they hold it.
    first = theirs[0]["_lower_boundary"]
    assert sum(start >= first for start, _ in mine) == len(theirs) > 40
    for row in theirs:
        own = mine[row["_lower_boundary"], row["_upper_boundary"]]
        assert [own[name] for name in AGGREGATES] == [row[name] for name in AGGREGATES]


@pytest.mark.parametrize("closed", ["left", "right"])
@pytest.mark.parametrize("length", ["1min", "5min"])
def test_windows_with_empty_ones_equal_those_of_pandas(length: str, closed: Any) -> None:
    table = rows_at_borders()
    query = sash.Query(AGGREGATES, window.tumbling(length, closed=closed, empty=True), time="t")
    found = query.run(table).to_pandas()
    theirs = table.to_pandas().set_index("t")["x"].resample(length, closed=closed, label="left", origin="epoch")
    expected = theirs.agg(["count", "max"])
    assert (found["n"] == 0).any()
    assert found["window_start"].tolist() == expected.index.tolist()
    assert found["n"].tolist() == expected["count"].tolist()
    np.testing.assert_array_equal(found["top"].to_numpy(float), expected["max"].to_numpy(float))


@pytest.mark.parametrize("closed", ["left", "right"])
@pytest.mark.parametrize(("length", "slide"), [(5, 5), (2, 5), (9, 4)])
def test_windows_equal_those_of_a_join_in_duckdb(length: int, slide: int, closed: Any) -> None:
    table = rows_at_borders()
    holds = "t > s AND t <= e" if closed == "right" else "t >= s AND t < e"
    first = datetime(2024, 2, 28)  # noqa: DTZ001 — a column without a zone; a multiple of these slides only by chance
    first -= (first - datetime(1970, 1, 1)) % timedelta(minutes=slide)  # noqa: DTZ001
    sql = f"""
        WITH windows AS (
            SELECT s, s + INTERVAL {length} MINUTE AS e
            FROM range(TIMESTAMP '{first}', TIMESTAMP '2024-03-02', INTERVAL {slide} MINUTE) AS every(s)
        )
        SELECT s, e, count(*) AS n, max(x) AS top, sum(x) AS total FROM windows JOIN "table" ON {holds} GROUP BY s, e ORDER BY s
    """
    expected = duckdb.connect().register("table", table).execute(sql).fetchall()
    windows = window.time(f"{length}m", slide=f"{slide}m", closed=closed)
    found = sash.Query(AGGREGATES, windows, time="t").run(table).to_pylist()
    assert [tuple(row.values()) for row in found] == expected


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
@pytest.mark.parametrize(("length", "slide"), [("1mo", "1mo"), ("1mo", "1q"), ("1q", "1q")])
def test_windows_of_the_calendar_equal_those_of_polars(length: str, slide: str, zone: str | None) -> None:
    table = days(200, zone)
    query = sash.Query(AGGREGATES, window.time(length, slide=slide, closed="right"), time="t")
    mine = query.run(table).to_pylist()
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    grouped = frame.group_by_dynamic("t", every=slide, period=length, closed="right", include_boundaries=True)
    theirs = grouped.agg(pl.len().alias("n"), pl.max("x").alias("top"), pl.sum("x").alias("total"))
    columns = ["_lower_boundary", "_upper_boundary", *AGGREGATES]
    assert [tuple(row.values()) for row in mine] == theirs.select(columns).rows()


def test_empty_months_equal_those_of_pandas() -> None:
    table = days(9)
    query = sash.Query(AGGREGATES, window.tumbling("1mo", closed="right", empty=True), time="t")
    found = query.run(table).to_pandas()
    theirs = table.to_pandas().set_index("t")["x"].resample("MS", closed="right", label="left")
    assert (found["n"] == 0).any()
    assert found["window_start"].tolist() == theirs.count().index.tolist()
    assert found["n"].tolist() == theirs.count().tolist()


# -- streams -------------------------------------------------------------------------------------------------------------


def started(windows: Any, lateness: int | None = 0) -> Stream:
    query = sash.Query({"n": agg.count()}, windows, time="t", lateness=lateness or None)
    return Stream(prepare(query._declared, pa.schema({"t": pa.int64(), "x": pa.int64()})))


def test_a_right_closed_window_waits_for_rows_at_its_end() -> None:
    stream = started(window.tumbling(10, closed="right"))
    assert len(stream.add(table_of([3, 10]))) == 0  # another row of 10 may follow
    assert stream.add(table_of([10, 11])).to_pylist() == [{"window_start": 0, "window_end": 10, "n": 3}]
    assert stream.late == 0


def test_on_spark_a_right_closed_window_is_complete_at_its_end() -> None:
    """Spark treats a row at the watermark as late."""
    query = sash.Query({"n": agg.count()}, window.tumbling(10, closed="right"), time="t")
    state = StreamState(prepare(query._declared, pa.schema({"t": pa.int64()})))
    rows = pa.table({"t": [3, 10]})
    assert len(state.advance(rows, first_in_time(state.prepared, 9)).results) == 0
    assert state.due == 11
    assert state.advance(rows.slice(1), first_in_time(state.prepared, 10)).results["n"].to_pylist() == [3]
    assert state.advance(rows.slice(1), first_in_time(state.prepared, 10)).late == 1


@pytest.mark.parametrize("windows", [window.time(2, slide=10), window.time(2, slide=10, closed="right")], ids=str)
@pytest.mark.parametrize("aggregate", [agg.count(), agg.collect("x")], ids=str)
def test_rows_between_windows_are_neither_stored_nor_late(windows: Window, aggregate: Any) -> None:
    query = sash.Query({"n": aggregate}, windows, time="t", lateness=3)
    of_slices = aggregate.name == "count"
    schema = pa.schema({"t": pa.int64(), "x": pa.int64()})
    stream = Stream(prepare(query._declared, schema, compiled=of_slices))
    stream.add(table_of([0, 1, 3, 4]))
    assert len(stream.states) == (1 if of_slices else 1 + windows.lateness.half_open)  # the rows of 0 and 1, or of 1
    stream.add(table_of([9, 20, 5, 8, 4]))
    assert stream.late == 0
    stream.add(table_of([11]))
    assert stream.late == 1
    # Without lateness, a late row is an error, but these rows are not late.
    strict = started(windows)
    strict.add(table_of([25, 17, 14]))


def test_rows_between_windows_may_belong_to_other_windows() -> None:
    stream = started({"apart": window.time(2, slide=10), "all": window.tumbling(10)}, lateness=2)
    stream.add(table_of([5, 21]))
    stream.add(table_of([6]))  # in no window of "apart", and late for "all"
    assert stream.late == 1


def test_empty_windows_are_rejected_on_a_stream_before_any_work() -> None:
    def batches() -> Any:
        pytest.fail("a batch was read")
        yield

    schema = pa.schema({"t": pa.int64()})
    for windows in (
        window.tumbling(10, empty=True),
        {"a": window.session(3), "b": window.time(3, slide=4, empty=True)},
    ):
        query = sash.Query({"n": agg.count()}, windows, time="t")
        with pytest.raises(
            ValueError, match=r"empty=True does not work on a stream, because .* run the query on a table"
        ):
            query.run(pa.RecordBatchReader.from_batches(schema, batches()))
