"""A stream that starts with a history gives the results of a table from the time on at which it takes over."""

from __future__ import annotations

import datetime as dt
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.cases import SOAK
from helpers.pairwise import FULL
from helpers.queries import UNCOMPILED
from helpers.streams import COMMUTE, ORDERED, WINDOWS, batches_of, rows_of, table_of
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash import agg, window
from sash.backends.stream_start import OverlapWarning
from sash.engine.time_column import time_column
from sash.state.history import read_until

TAILS = {"tail": {"w": window.time(10, tail=4)}, "tail_mixed": {"a": window.time(9, tail=5), "b": window.time(3)}}
GROWING = {"expanding": {"w": window.expanding()}, "expanding_and_time": {"a": window.expanding(), "b": window.time(4)}}
ALL = {**WINDOWS, **TAILS, **GROWING}
rows = st.lists(st.tuples(st.integers(0, 2), st.integers(-9, 40), st.integers(0, 5), st.booleans()), max_size=30)


def time_of(row: dict[str, Any], *, per_row: bool) -> int:
    """The time of a result: that of its row, or the end of its window."""
    return int(row["t"] if per_row else row["window_end"])


def arrive_late(table: pa.Table, lateness: int, data: st.DataObject) -> pa.Table:
    """Rows in the order of arrival, none later than `lateness` after newer ones."""
    delays = data.draw(st.lists(st.integers(0, lateness), min_size=len(table), max_size=len(table)))
    arrivals = [time + delay for time, delay in zip(table["t"].to_pylist(), delays, strict=True)]
    return table.take(pa.array(sorted(range(len(table)), key=lambda row: arrivals[row]), pa.int64()))


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=60 if SOAK else 20 if FULL else 6, deadline=None)
@given(rows, st.integers(-12, 45), st.integers(0, 7), st.integers(1, 6), st.data())
def test_a_history_and_the_rest_give_the_results_of_a_table(
    name: str, made: list[Any], until: int, lateness: int, size: int, data: st.DataObject
) -> None:
    table = table_of(made)
    times = table["t"].to_pylist()
    windows = ALL[name]
    query = sash.Query(
        data.draw(st.sampled_from([COMMUTE, ORDERED])), windows, by="k", time="t", order_by="id", lateness=lateness
    )
    order = data.draw(st.permutations(range(len(table))))
    history = table.take(pa.array(order, pa.int64()))  # in any order, and with rows that the stream has too
    overlap = data.draw(st.sets(st.integers(0, max(len(table) - 1, 0))))
    since = [row for row, time in enumerate(times) if time >= until or row in overlap]
    arrived = arrive_late(table.take(pa.array(since, pa.int64())), lateness, data)
    kinds = [history, batches_of(history, size)]
    ignored = sum(times[row] < until for row in since)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = query.run(
            batches_of(arrived, size),
            history=data.draw(st.sampled_from(kinds)),
            until=until,
            partial=True,
            compiled=data.draw(st.sampled_from(UNCOMPILED)),
        ).read_all()
    assert [str(one.message).split()[0] for one in caught] == [str(ignored)] * (ignored > 0)
    _check(query, table, results, until)


def _check(query: sash.Query, table: pa.Table, results: pa.Table, until: int) -> None:
    """Raise AssertionError unless the results are those of the table from a time on."""
    declared = query._declared
    expected = Counter(rows_of(query.run(table)))
    emitted = Counter(rows_of(results))
    assert not emitted - expected
    per_row = declared.per_row
    waits = any(one.frame is not None and one.frame.looks_ahead for one in declared.windows.values())
    missing = expected - emitted
    for row in query.run(table).to_pylist():
        text = repr(sorted(row.items()))
        time = time_of(row, per_row=per_row)
        if time > until or (per_row and time == until):
            assert text not in missing
        elif time < until and not waits and text in emitted:
            # of equal results, one may be older than T only if there are as many that are not
            newer = sum(
                repr(sorted(other.items())) == text and time_of(other, per_row=per_row) >= until
                for other in query.run(table).to_pylist()
            )
            assert emitted[text] <= newer


@settings(max_examples=40 if FULL else 10, deadline=None)
@given(rows, st.integers(-12, 45), st.integers(1, 6))
@pytest.mark.parametrize("windows", [{"w": window.rows(3)}, {"a": window.rows(2), "b": window.time(4)}])
def test_forgotten_keys_are_those_of_a_stream_over_all_rows(
    windows: Any, made: list[Any], until: int, size: int
) -> None:
    table = table_of(made)
    query = sash.Query(COMMUTE, windows, by="k", time="t", order_by="id", lateness=0)
    whole = query.run(batches_of(table, size), forget=7).read_all().to_pylist()
    rest = table.filter(pa.array([time >= until for time in table["t"].to_pylist()], pa.bool_()))
    results = query.run(batches_of(rest, size), forget=7, history=table, until=until, partial=True).read_all()
    assert rows_of(results) == sorted(repr(sorted(row.items())) for row in whole if row["t"] >= until)


@pytest.mark.parametrize("windows", [{"one": window.rows(1)}, {"one": window.rows(1), "hour": window.time(5)}])
def test_a_lookup_knows_the_newest_row_of_a_history_however_old_it_is(windows: Any) -> None:
    history = pa.table({"k": ["a", "b"], "t": [1, 98], "x": [7, 8]})
    query = sash.Query({"last": agg.last("x"), "n": agg.count()}, windows, by="k", time="t")
    states = query.run(history.slice(0, 0).to_reader(), emit="state", history=history, until=100, partial=True)
    stored = {row["k"]: row["state"] for row in states.read_all().to_pylist()}
    for key in ("a", "b"):
        label = query.run(history, at=pa.table({"k": [key], "t": [101]})).drop_columns(["k", "t"]).to_pylist()
        assert [query.lookup(stored.get(key), now=101)] == label


# -- what users pass ---------------------------------------------------------------------------------------------------

START = dt.datetime.fromisoformat("2026-01-01")
THIRD = dt.datetime.fromisoformat("2026-01-03")
HOURS = [START + dt.timedelta(hours=number) for number in range(72)]
EVENTS = pa.table(
    {"card": [1, 2] * 36, "ts": pa.array(HOURS, pa.timestamp("us")), "amount": [float(n) for n in range(72)]}
)
TOTAL = sash.Query({"total": agg.sum("amount")}, window.time("24h"), by="card", time="ts")
UNTIL = "2026-01-03"


def expected_rows() -> list[Any]:
    return [row for row in TOTAL.run(EVENTS).to_pylist() if row["ts"] >= THIRD]


def rest() -> pa.RecordBatchReader:
    return EVENTS.slice(48).to_reader(max_chunksize=5)


@pytest.mark.parametrize(
    "history",
    [
        EVENTS,
        EVENTS.to_batches()[0],
        EVENTS.to_pandas(),
        EVENTS.to_pandas().set_index("ts"),
        pl.from_arrow(EVENTS),
        pl.from_arrow(EVENTS).lazy(),  # type: ignore[union-attr]
        EVENTS.drop_columns(["card"]).append_column("card", EVENTS["card"]),
    ],
    ids=["table", "batch", "pandas", "index", "polars", "lazy", "other order"],
)
def test_a_history_may_be_any_data_in_this_process(history: Any) -> None:
    results = TOTAL.run(rest(), history=history, until=UNTIL)
    assert results.read_all().to_pylist() == expected_rows()


@pytest.mark.parametrize(
    "until", ["2026-01-03T00:00", THIRD, dt.date(2026, 1, 3), pd.Timestamp("2026-01-03"), np.datetime64("2026-01-03")]
)
def test_until_is_a_time_as_people_write_it(until: Any) -> None:
    assert TOTAL.run(rest(), history=EVENTS, until=until).read_all().to_pylist() == expected_rows()


def test_zones() -> None:
    zoned = EVENTS.set_column(1, "ts", EVENTS["ts"].cast(pa.timestamp("us", "UTC")))
    stream = zoned.slice(48)
    results = TOTAL.run(stream.to_reader(), history=zoned, until="2026-01-03T01:00+01:00").read_all()
    assert [row["total"] for row in results.to_pylist()] == [row["total"] for row in expected_rows()]
    with pytest.raises(ValueError, match="Give both a time zone, or neither"):
        TOTAL.run(stream.to_reader(), history=zoned, until="2026-01-03")
    with pytest.raises(TypeError, match=r"Column 'ts' of the history .*: only one has a time zone"):
        TOTAL.run(stream.to_reader(), history=EVENTS, until="2026-01-03T01:00+01:00")


def test_until_keeps_the_nanoseconds_of_pandas() -> None:
    assert read_until(time_column("ts", pa.timestamp("ns")), pd.Timestamp(1_767_398_400_000_000_123)) % 1000 == 123


def test_a_stream_is_not_its_own_history() -> None:
    reader = EVENTS.to_reader()
    with pytest.raises(ValueError, match="the same reader"):
        TOTAL.run(reader, history=reader, until=UNTIL)


def test_zones_of_python_count_where_arrow_ignores_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYARROW_IGNORE_TIMEZONE", "1")  # as pandas on Spark asks for
    time = time_column("ts", pa.timestamp("us", "America/New_York"))
    for text in ("2026-01-03T01:00-05:00", "2026-01-03T06:00Z"):
        assert read_until(time, text) == 1767420000000000
        assert read_until(time, pd.Timestamp(text)) == 1767420000000000
    assert read_until(time, "2026-01-03T01:00", "America/New_York") == 1767420000000000


def test_columns_that_results_only_show_may_be_missing() -> None:
    stream = EVENTS.append_column("note", pa.array([f"n{n}" for n in range(72)]))
    results = TOTAL.run(stream.slice(48).to_reader(), history=EVENTS, until=UNTIL).read_all()
    assert results["note"].to_pylist() == [f"n{n}" for n in range(48, 72)]
    ahead = sash.Query({"n": agg.count()}, window.time(before="1h", after="1h"), time="ts")
    with pytest.raises(ValueError, match="history: column 'note' is missing"):
        ahead.run(stream.slice(48).to_reader(), history=EVENTS, until=UNTIL)


def test_a_query_with_sql_in_it() -> None:
    query = sash.Query(
        {"n": agg.sum(sash.expr("amount * 2"), where="amount > 3")}, window.time("24h"), by="card", time="ts"
    )
    results = query.run(rest(), history=EVENTS, until=UNTIL).read_all()
    assert results.to_pylist() == query.run(EVENTS).slice(48).to_pylist()


WHERE = "SELECT *, sum(amount) OVER (PARTITION BY card ORDER BY ts RANGE INTERVAL 1 DAY PRECEDING) AS total FROM t WHERE amount % 3 < 2"


@pytest.mark.parametrize("history", [EVENTS, EVENTS.to_reader(), EVENTS.to_pandas()], ids=["table", "reader", "pandas"])
def test_where_applies_to_the_history_too(history: Any) -> None:
    query = sash.sql(WHERE)
    results = query.run(rest(), history=history, until=UNTIL).read_all()
    assert results.to_pylist() == [row for row in query.run(EVENTS).to_pylist() if row["ts"] >= THIRD]


def test_the_schema_does_not_read_the_history() -> None:
    def batches() -> Any:
        raise AssertionError
        yield

    history = pa.RecordBatchReader.from_batches(EVENTS.schema, batches())
    schema = TOTAL.schema(rest(), history=history, until=UNTIL)
    assert schema == TOTAL.run(rest(), history=EVENTS, until=UNTIL).schema


def test_a_history_that_is_too_short_is_an_error() -> None:
    message = r"begins at 2026-01-02 00:00:00, but .* rows of 1d .*a row at or before 2026-01-01 23:00"
    with pytest.raises(ValueError, match=message):
        TOTAL.run(EVENTS.slice(47).to_reader(), history=EVENTS.slice(24), until="2026-01-02T23:00")
    with pytest.raises(ValueError, match="has no rows before until"):
        TOTAL.run(rest(), history=EVENTS.slice(60), until=UNTIL)
    short = TOTAL.run(rest(), history=EVENTS.slice(40), until=UNTIL, partial=True).read_all()
    assert short.slice(30).to_pylist() == expected_rows()[30:]


def test_the_length_of_a_tail_is_rounded_up() -> None:
    query = sash.Query({"n": agg.count()}, window.time("24h", tail="1h"), by="card", time="ts")
    assert 'the rows of up to 1d1h for time("24h", tail="1h")' in " ".join(
        str(query.explain(rest())).replace("│", "").split()
    )
    with pytest.raises(ValueError, match=r"hold rows of up to 1d1h before .* a row at or before 2026-01-01 22:00:00,"):
        query.run(EVENTS.slice(47).to_reader(), history=EVENTS.slice(24), until="2026-01-02T23:00")


def test_windows_of_rows_need_no_length() -> None:
    query = sash.Query({"n": agg.sum("amount")}, window.rows(100), by="card", time="ts")
    results = query.run(rest(), history=EVENTS.slice(10), until=UNTIL).read_all()
    assert results["n"].to_pylist() == query.run(EVENTS.slice(10))["n"].to_pylist()[38:]


def test_explain_says_how_much_history_windows_need() -> None:
    windows = {"day": window.time("24h"), "newest": window.rows(100), "all": window.expanding()}
    text = " ".join(
        str(sash.Query({"n": agg.count()}, windows, by="card", time="ts").explain(rest())).replace("│", "").split()
    )
    assert (
        'the rows of 1d for time("24h"); the last 100 rows of each key for rows(100); all rows of each key for expanding()'
        in text
    )


AMOUNTS_AS_TEXT = EVENTS.set_column(
    EVENTS.schema.get_field_index("amount"), "amount", EVENTS["amount"].cast(pa.string())
)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"history": EVENTS}, TypeError, "history= needs until="),
        ({"until": UNTIL}, TypeError, "there is none. Pass history="),
        ({"partial": True}, TypeError, "partial=True is for a history"),
        ({"history": EVENTS, "until": "yesterday"}, ValueError, "'yesterday' is not a time of this column"),
        ({"history": EVENTS, "until": pd.NaT}, TypeError, "NaT is not a time of this column"),
        ({"history": EVENTS, "until": np.datetime64("NaT")}, TypeError, "is not a time of this column"),
        ({"history": EVENTS, "until": np.datetime64(1, "ns")}, ValueError, "between two times"),
        ({"history": EVENTS, "until": 3.5}, TypeError, "is not a time of this column"),
        ({"history": EVENTS, "until": UNTIL, "order": "keys"}, ValueError, "in order of time"),
        ({"history": EVENTS.drop_columns(["amount"]), "until": UNTIL}, ValueError, "history: .*amount"),
        ({"history": 3, "until": UNTIL}, TypeError, "history: A query runs on"),
        ({"history": AMOUNTS_AS_TEXT, "until": UNTIL}, TypeError, "history: Column 'amount' of the history is string"),
    ],
)
def test_wrong_options(options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        TOTAL.run(rest(), **options)


def test_only_append_mode() -> None:
    hops = sash.Query({"n": agg.count()}, window.tumbling("2h"), time="ts")
    with pytest.raises(ValueError, match="no more rows would have no results"):
        hops.run(rest(), history=EVENTS, until=UNTIL, mode="update")


def test_tables_have_no_history() -> None:
    with pytest.raises(TypeError, match="a table has all its rows"):
        TOTAL.run(EVENTS, history=EVENTS, until=UNTIL)


def test_ignored_rows_are_counted() -> None:
    with pytest.warns(OverlapWarning, match="8 row.*older than until=2026-01-03"):
        results = TOTAL.run(EVENTS.slice(40).to_reader(), history=EVENTS, until=UNTIL).read_all()
    assert results.to_pylist() == expected_rows()


def test_rows_without_a_time_are_ignored_in_the_stream() -> None:
    bad = pa.concat_tables(
        [EVENTS.slice(48), pa.table({"card": [1], "ts": pa.array([None], pa.timestamp("us")), "amount": [1.0]})]
    )
    with pytest.warns(UserWarning, match="no usable time"):
        results = TOTAL.run(bad.to_reader(), history=EVENTS, until=UNTIL, on_bad_time="drop").read_all()
    assert results.to_pylist() == expected_rows()


def test_rows_without_a_time_in_the_history() -> None:
    bad = pa.concat_tables(
        [EVENTS, pa.table({"card": [1], "ts": pa.array([None], pa.timestamp("us")), "amount": [1.0]})]
    )
    with pytest.raises(ValueError, match=r"history: The time column 'ts' is null in 1 row.*on_bad_time=\"drop\""):
        TOTAL.run(rest(), history=bad.to_pandas(), until=UNTIL)
    with pytest.warns(UserWarning, match=r"1 row\(s\) of the history had no usable time in 'ts'"):
        results = TOTAL.run(rest(), history=bad.to_pandas(), until=UNTIL, on_bad_time="drop").read_all()
    assert results.to_pylist() == expected_rows()


def test_states_for_lookups_know_the_history() -> None:
    """The first micro-batch emits all keys, also those without new rows: a store does not know them."""
    states = TOTAL.run(EVENTS.slice(71).to_reader(), history=EVENTS, until="2026-01-03T23:00", emit="state")
    store = {row["card"]: row["state"] for row in states.read_all().to_pylist()}
    now = dt.datetime.fromisoformat("2026-01-03T23:00")
    labels = pa.table({"card": [1, 2], "ts": pa.array([now, now], pa.timestamp("us"))})
    expected = TOTAL.run(EVENTS, at=labels)["total"].to_pylist()
    assert [TOTAL.lookup(store[card], now=now)["total"] for card in (1, 2)] == expected
