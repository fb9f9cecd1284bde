"""The features of a key at a time ≡ a run over the events that the stream has accepted, at a label of that key and time."""

from __future__ import annotations

import random
import subprocess
import sys
from base64 import b64decode
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from helpers.cases import SOAK
from helpers.features import GROWING, KEYS, LIMITED, NUMBERS, SCHEMA, VALUES, assert_alike, random_events

import sash
from sash import agg, window
from sash.engine.needed_columns import read_columns
from sash.engine.prepare import prepare
from sash.lookup import point_lookup
from sash.state.reader import Stream


class Served:
    """A stream whose states go to a store, a dictionary, and the events that it has accepted."""

    def __init__(self, query: sash.Query, schema: pa.Schema, lateness: int, **options: Any) -> None:
        self.query = query
        self.lateness = lateness
        reader = pa.RecordBatchReader.from_batches(schema, [])
        self.header = query.state_header(reader, **options)
        computed = prepare(query._declared, self.columns(pa.Table.from_batches([], schema)).schema)
        self.stream = Stream(computed, emit="state", late="drop", **options)
        self.store: dict[Any, bytes] = {}
        self.accepted: list[pa.Table] = []
        self.newest = -(10**9)
        self.since = 0

    def columns(self, rows: pa.Table) -> pa.Table:
        """The columns that the query reads."""
        return read_columns(self.query._declared, rows)

    def run(self, batch: pa.Table) -> None:
        """Run a micro-batch."""
        in_time = []
        for time in batch["t"].to_pylist():
            in_time.append(time >= self.newest - self.lateness)
            self.newest = max(self.newest, time)
        self.since = self.newest - self.lateness
        self.accepted.append(batch.filter(pa.array(in_time, pa.bool_())))
        states = self.stream.add(self.columns(batch))
        assert states.column_names == [*self.query._declared.by, "state_time", "state"]
        rows = states.to_pylist()
        keys = [row.get("key") for row in rows]
        assert len(set(keys)) == len(keys)
        assert set(self.accepted[-1]["key"].to_pylist()) <= set(keys) or not self.query._declared.by
        for row in rows:
            assert row["state_time"] == self.since
            if row["state"] is None:
                self.store.pop(row.get("key"), None)
            else:
                self.store[row.get("key")] = row["state"]

    def expected(self, keys: list[Any], now: int) -> list[dict[str, Any]]:
        """What a run over the accepted events gives for labels."""
        labels = pa.table({"key": pa.array(keys, pa.string()), "t": pa.array([now] * len(keys), pa.int64())})
        found = self.query.run(pa.concat_tables(self.accepted), at=labels)
        listed: list[dict[str, Any]] = found.drop_columns(["key", "t"]).to_pylist()
        return listed

    def check(self, now: int) -> None:
        """Compare the features of all keys at a time."""
        keys = [*KEYS, "unknown"] if self.query._declared.by else [None]
        states = [self.store.get(key) for key in keys]
        found = self.query.lookup(states, now=now, header=self.header)
        assert_alike(found, self.expected(keys, now))
        assert_alike([self.query.lookup(state, now=now) for state in states[:2]], found[:2])


@pytest.mark.parametrize("folds", [True, False])
@pytest.mark.parametrize("seed", range(300 if SOAK else 24))
def test_a_lookup_is_a_label(seed: int, folds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("MOST_FOLDED", "MOST_FOLDED_VALUES"):
        monkeypatch.setattr(point_lookup, limit, 10_000 if folds else -1)
    chooser = random.Random(seed)
    aggregates = NUMBERS if seed % 2 else NUMBERS | VALUES
    names = chooser.sample(list(aggregates), chooser.randint(2, 7))
    windows = chooser.choice([LIMITED, GROWING, LIMITED | GROWING])
    chosen = {name: windows[name] for name in chooser.sample(list(windows), chooser.randint(1, 3))}
    lateness, keyed = chooser.choice([0, 4, 12]), chooser.random() < 0.8
    query = sash.Query(
        {name: aggregates[name] for name in names}, chosen, by="key" if keyed else (), time="t",
        order_by=chooser.choice([None, "id"]), lateness=lateness,
    )  # fmt: skip
    served = Served(query, SCHEMA, lateness)
    events = random_events(chooser, chooser.randint(0, 60), 60, chooser.choice([0, 3, 15]))
    place = 0
    while place < len(events):
        size = chooser.choice([1, 3, 10, 40])
        served.run(events.slice(place, size))
        place += size
        for now in {served.since, served.newest, served.since + chooser.randrange(40)}:
            served.check(now)


@pytest.mark.parametrize("one", [window.time(9), window.time(9, tail=3), window.rows(3), window.expanding()], ids=str)
@pytest.mark.parametrize("bins", [2, 25])
def test_a_lookup_has_all_bins_of_a_histogram(one: Any, bins: int) -> None:
    """Few bins are compiled as one number each, and the states of tails store them so. An aggregate of one's own may return lists, too."""
    edges = [*range(bins), bins + 0.5]
    limits = sash.aggregate(
        "limits", lift=lambda x: (x, x), combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])), lower=list
    )
    query = sash.Query(
        {"bins": agg.histogram("x", edges), "limits": limits("x"), "n": agg.count()}, one, by="key", time="t"
    )
    events = pa.table({"key": ["a"] * 4, "t": [1, 8, 16, 17], "x": [0.5, 1.0, None, 1.5]})
    [*_, state] = query.run(events.to_reader(), emit="state").read_all()["state"].to_pylist()
    for now in (17, 20, 90):
        [label] = query.run(events, at=pa.table({"key": ["a"], "t": [now]})).to_pylist()
        assert query.lookup(state, now=now) == {name: label[name] for name in ("bins", "limits", "n")}


def test_what_a_stream_stores() -> None:
    """Both kinds of state are tested: rows alone, and partials before rows."""
    stores_partials = {}
    for name, windows in {"rows": {"right": LIMITED["right"], "three": LIMITED["three"]}, "partials": GROWING}.items():
        served = Served(sash.Query(agg.sum("x"), windows, by="key", time="t", lateness=0), SCHEMA, 0)
        stores_partials[name] = served.stream.states.states[0].stores_partials
    assert stores_partials == {"rows": False, "partials": True}


@pytest.mark.parametrize("seed", range(100 if SOAK else 12))
def test_a_key_that_was_forgotten_is_a_new_key(seed: int) -> None:
    chooser = random.Random(seed)
    forget = 11
    windows = {name: (LIMITED | GROWING)[name] for name in chooser.sample([*GROWING, "three", "rows_gap", "right"], 2)}
    if all(name == "right" for name in windows):
        windows["all"] = GROWING["all"]
    query = sash.Query({"n": agg.count(), "sum": agg.sum("x"), "last": agg.last("name" if seed % 2 else "v")}, windows, by="key", time="t", lateness=4)  # fmt: skip
    if not {*windows} & {*GROWING, "three", "rows_gap"}:
        return
    served = Served(query, SCHEMA, 4, forget=forget)
    events = random_events(chooser, 30, 120, 6)
    for place in range(0, 30, 3):
        served.run(events.slice(place, 3))
        accepted = pa.concat_tables(served.accepted)
        for now in (served.since, served.newest, served.newest + 5, served.newest + forget):
            for key in KEYS:
                lived = of_newest_life(accepted.to_pylist(), key, now, forget)
                labels = pa.table({"key": pa.array([key], pa.string()), "t": [now]})
                expected = (
                    query.run(pa.Table.from_pylist(lived, SCHEMA), at=labels).drop_columns(["key", "t"]).to_pylist()
                )
                assert_alike([query.lookup(served.store.get(key), now=now)], expected)


def of_newest_life(events: list[dict[str, Any]], key: Any, now: int, forget: int) -> list[dict[str, Any]]:
    """The events of a key up to a time since its last long gap; none if that gap has passed by then."""
    own = sorted((event for event in events if event["key"] == key and event["t"] <= now), key=lambda event: event["t"])
    lived: list[dict[str, Any]] = []
    for event in own:
        if lived and event["t"] - lived[-1]["t"] >= forget:
            lived = []
        lived.append(event)
    return lived if lived and now - lived[-1]["t"] < forget else []


# -- times -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("unit", "zone"), [("s", None), ("ms", "Europe/Berlin"), ("us", "UTC"), ("ns", None)])
def test_times_of_every_unit_and_zone(unit: str, zone: str | None) -> None:
    start = datetime(2026, 3, 28, 12, tzinfo=None if zone is None else ZoneInfo(zone))
    times = [start + timedelta(hours=hours) for hours in (0, 5, 20, 26, 30)]
    events = pa.table({"key": ["a"] * 5, "t": pa.array(times, pa.timestamp(unit, zone)), "x": [1, 2, 3, 4, 5]})
    windows = {
        "day": window.time("24h"),
        "tail": window.time("20h", tail="3h"),
        "month": window.time("1mo"),
        "all": window.expanding(),
    }
    query = sash.Query({"sum": agg.sum("x"), "last": agg.last("t"), "n": agg.count()}, windows, by="key", time="t")
    states = query.run(events.to_reader(), emit="state").read_all().to_pylist()
    for hours in (30, 31.5, 49, 800):
        now = start + timedelta(hours=hours)
        labels = pa.table({"key": ["a"], "t": pa.array([now], pa.timestamp(unit, zone))})
        expected = query.run(events, at=labels).drop_columns(["key", "t"]).to_pylist()
        assert_alike([query.lookup(states[-1]["state"], now=now)], expected)
        more = [pd.Timestamp(now)] if zone else [pd.Timestamp(now), np.datetime64(now)]
        for other in [*more, *([now.astimezone(UTC)] if zone else [])]:
            assert_alike([query.lookup(states[-1]["state"], now=other)], expected)


def test_dates_and_durations() -> None:
    days = pa.table({"t": pa.array([1, 2, 5], pa.date32()), "x": [1.0, 2.0, 4.0]})
    query = sash.Query(agg.sum("x"), window.time("2d"), time="t")
    [row] = query.run(days.to_reader(), emit="state").read_all().to_pylist()
    assert query.lookup(row["state"], now=date(1970, 1, 7)) == {"sum": 4.0}
    newest = sash.Query(
        [agg.max("t"), agg.arg_min("x", "t")], {"two": window.rows(2), "tail": window.time("9d", tail="3d")}, time="t"
    )
    for dtype in (pa.date32(), pa.date64()):  # ticks of both are days; numbers of the latter milliseconds
        columns = days.set_column(0, "t", days["t"].cast(dtype))
        [row] = newest.run(columns.to_reader(), emit="state").read_all().to_pylist()
        [label] = newest.run(columns, at=columns.slice(2)).to_pylist()
        assert newest.lookup(row["state"], now=date(1970, 1, 6)) == {
            name: label[name] for name in label if name not in ("t", "x")
        }
    lengths = pa.table({"t": pa.array([1, 2, 5], pa.duration("s")), "x": [1.0, 2.0, 4.0]})
    [row] = query.run(lengths.to_reader(), emit="state").read_all().to_pylist()
    assert query.lookup(row["state"], now=timedelta(days=2, seconds=3)) == {"sum": 4.0}


def test_a_time_is_rounded_down() -> None:
    events = pa.table({"t": pa.array([10, 20], pa.timestamp("s")), "x": [1, 2]})
    query = sash.Query(agg.sum("x"), window.time("10s"), time="t")
    [row] = query.run(events.to_reader(), emit="state").read_all().to_pylist()
    assert query.lookup(row["state"], now=datetime.fromisoformat("1970-01-01 00:00:29.999999")) == {"sum": 2}


# -- headers and errors ------------------------------------------------------------------------------------------------

EVENTS = pa.table({"key": ["a", "b", "a"], "t": [1, 4, 9], "x": [1.0, 2.0, 3.0]})
QUERY: dict[str, Any] = {"aggregates": {"sum": agg.sum("x")}, "windows": window.time(10), "by": "key", "time": "t"}


def test_the_header_is_known_without_rows() -> None:
    query = sash.Query(**QUERY)
    states = query.run(EVENTS.to_reader(), emit="state")
    header = b64decode(states.schema.field("state").metadata[b"sash.state_header"])
    assert states.schema.names == query.schema(EVENTS.to_reader(), emit="state").names
    for data in (
        EVENTS,
        EVENTS.schema,
        EVENTS.to_reader(),
        EVENTS.to_pandas(),
        EVENTS.append_column("more", EVENTS["t"]),
    ):
        assert query.state_header(data) == header
    rows = {row["key"]: row for row in states.read_all().to_pylist()}
    other = sash.Query(**QUERY)
    assert other.lookup(rows["a"]["state"], now=12, header=header) == {"sum": 3.0}
    with pytest.raises(ValueError, match="does not know the header"):
        other.lookup(rows["a"]["state"], now=12)
    assert other.lookup(None, now=12, header=header) == {"sum": None}
    with pytest.raises(ValueError, match="does not know the header"):
        other.lookup(None, now=12)


def test_an_explanation_says_what_is_emitted() -> None:
    text = str(sash.Query(**QUERY).explain(EVENTS.to_reader(), emit="state"))
    assert "emits     for each key with new rows its state, 25 B and its rows" in text


def test_a_state_is_its_rows_and_little_more() -> None:
    events = pa.table({"key": ["a"] * 20, "t": range(20), "x": [1.5] * 20})
    query = sash.Query(**QUERY | {"windows": window.time(100), "lateness": 50})
    [row] = query.run(events.to_reader(), emit="state").read_all().to_pylist()
    assert len(row["state"]) == 20 * 16 + 25 < 1.5 * 20 * 16


def test_keys_may_be_expressions() -> None:
    query = sash.Query({"n": agg.count()}, window.time(10), by=["key", sash.expr("upper(key)")], time="t")
    states = query.run(EVENTS.to_reader(), emit="state")
    assert states.schema.names == ["key", "upper(key)", "state_time", "state"]
    assert query.schema(EVENTS.to_reader(), emit="state") == states.schema
    assert [row["upper(key)"] for row in states.read_all().to_pylist()] == ["A", "B"]


def test_only_keys_with_new_rows_are_emitted_and_a_tombstone_follows() -> None:
    events = pa.table({"key": ["a", "b", "a", "c"], "t": [1, 4, 9, 20], "x": [1.0, 2.0, 3.0, 4.0]})
    query = sash.Query(**QUERY)
    tables = [query.run(events.to_reader(max_chunksize=1), emit="state")]
    emitted = [(row["key"], row["state_time"], row["state"] is None) for row in tables[0].read_all().to_pylist()]
    assert emitted == [
        ("a", 1, False),
        ("b", 4, False),
        ("a", 9, False),
        ("c", 20, False),
        ("a", 20, True),
        ("b", 20, True),
    ]


def test_errors_of_lookups() -> None:
    query = sash.Query(**QUERY)
    [*_, row] = query.run(EVENTS.to_reader(), emit="state").read_all().to_pylist()
    state = row["state"]
    with pytest.raises(ValueError, match="now=8 is before 9, the watermark"):
        query.lookup(state, now=8)
    for damaged in (
        b"",
        b"abc",
        state[:-1],
        state[:-1] + bytes([state[-1] ^ 1]),
        state[:20] + bytes([state[20] ^ 1]) + state[21:],
    ):
        with pytest.raises(ValueError, match=r"These bytes are not the state|does not know the header"):
            query.lookup(damaged, now=12)
    changed = sash.Query(**QUERY | {"windows": window.time(11)})
    with pytest.raises(ValueError, match="another header"):
        changed.lookup(state, now=12, header=changed.state_header(EVENTS))
    with pytest.raises(ValueError, match=r"windows: .*time\(10\) became time\(11\)"):
        changed.lookup(state, now=12, header=query.state_header(EVENTS))
    with pytest.raises(ValueError, match="header of the states"):
        query.lookup(state, now=12, header=b"nothing")
    with pytest.raises(TypeError, match="must be an integer"):
        query.lookup(state, now=datetime.fromisoformat("2026-01-01"))
    with pytest.raises(TypeError, match="bytes or None"):
        query.lookup("text", now=12)
    with pytest.raises(TypeError, match="base64, as in the metadata"):
        query.lookup(state, now=12, header="text")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="2 states, but 1 times"):
        query.lookup([state, None], now=[12])
    assert query.lookup([state, None], now=[12, 13]) == [{"sum": 2.0}, {"sum": None}]
    assert query.lookup(memoryview(state), now=12) == query.lookup(bytearray(state), now=12)
    zoned = sash.Query(agg.count(), window.time("1h"), time="t")
    events = pa.table({"t": pa.array([0], pa.timestamp("us", "UTC"))})
    [row] = zoned.run(events.to_reader(), emit="state").read_all().to_pylist()
    with pytest.raises(TypeError, match="has no zone, but the time column"):
        zoned.lookup(row["state"], now=datetime.fromisoformat("2026-01-01"))
    for wrong in (3, pd.NaT, np.datetime64("NaT"), timedelta(1)):
        with pytest.raises(TypeError, match="is not a time"):
            zoned.lookup(row["state"], now=wrong)


def test_times_that_the_column_cannot_hold() -> None:
    query = sash.Query(agg.count(), window.time("1h"), time="t")
    [row] = (
        query.run(pa.table({"t": pa.array([0], pa.timestamp("ns"))}).to_reader(), emit="state").read_all().to_pylist()
    )
    for far in (date.max, date.min, np.datetime64("9999-01-01"), pd.Timestamp.max):
        with pytest.raises(ValueError, match="is out of range"):
            query.lookup(row["state"], now=far)
    counted = sash.Query(agg.count(), window.time(5), time="t")
    [row] = counted.run(pa.table({"t": [0]}).to_reader(), emit="state").read_all().to_pylist()
    for number in (1 << 70, -(1 << 70), (1 << 63) - 1):
        with pytest.raises(ValueError, match="is out of range"):
            counted.lookup(row["state"], now=number)


@pytest.mark.parametrize(
    ("windows", "message"),
    [
        (window.time(10, slide=5), "a window that has ended"), (window.session(5), "a window that has ended"),
        (window.time(before=0, after=5), "looks ahead"), (window.rows(3, exclude="row"), "excludes rows"),
        (window.delta("x", 3), "follows the values"),
    ],
)  # fmt: skip
def test_windows_without_a_result_at_any_time_are_refused(windows: Any, message: str) -> None:
    query = sash.Query(**QUERY | {"windows": windows})
    with pytest.raises(ValueError, match=message):
        query.run(EVENTS.to_reader(), emit="state")
    with pytest.raises(ValueError, match=message):
        query.state_header(EVENTS)


@pytest.mark.parametrize("options", [{"mode": "update"}, {"order": "keys"}, {"wide": True}, {"late": "keep"}])
def test_options_that_do_not_go_with_states(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match='does not go with emit="state"'):
        sash.Query(**QUERY).run(EVENTS.to_reader(), emit="state", **options)


def test_a_name_of_the_results_is_taken() -> None:
    events = EVENTS.rename_columns(["state", "t", "x"])
    with pytest.raises(ValueError, match="Rename the key"):
        sash.Query(**QUERY | {"by": "state"}).run(events.to_reader(), emit="state")


def test_erased_keys_have_no_state_and_no_rows() -> None:
    query = sash.Query(**QUERY | {"windows": {"w": window.time(10), "e": window.expanding()}})
    states = query.run(EVENTS.to_reader(max_chunksize=1), emit="state", erase=["b", "unknown"]).read_all().to_pylist()
    assert {row["key"]: row["state"] is None for row in states} == {"a": False, "b": True, "unknown": True}
    found = sash.Query(**QUERY).run(EVENTS.to_reader(), erase=[{"key": "a"}]).read_all()
    assert found["key"].to_pylist() == ["b"]


def test_a_state_that_is_erased_is_gone() -> None:
    for windows in ({"w": window.time(10)}, {"w": window.time(10), "e": window.expanding()}, {"h": window.tumbling(5)}):
        prepared = prepare(sash.Query(**QUERY | {"windows": windows})._declared, EVENTS.schema, compiled=False)
        stream = Stream(prepared, late="drop")
        stream.add(EVENTS)
        before = stream.states.size.keys
        stream.states.erase(pa.table({"key": ["a"]}))
        assert stream.states.size.keys == before - 1
        assert all("a" not in keys["key"].to_pylist() for keys in stream.states.states[0].keys)


def test_keys_to_erase_are_checked() -> None:
    for erase, error, message in (
        ([3], TypeError, "does not fit the types of the keys, key string"),
        ([{"k": "a"}], ValueError, "must have the columns key, and no others"),
        ("a", TypeError, "must be a list of keys"),
    ):
        with pytest.raises(error, match=message):
            sash.Query(**QUERY).run(EVENTS.to_reader(), erase=erase)
    with pytest.raises(ValueError, match="the query has none"):
        sash.Query(agg.count(), window.time(10), time="t").run(EVENTS.to_reader(), erase=["a"])
    with pytest.raises(TypeError, match="must be a dictionary with the columns key, x"):
        sash.Query(agg.count(), window.time(10), by=["key", "x"], time="t").run(EVENTS.to_reader(), erase=["a"])


@pytest.mark.parametrize(
    ("keys", "wrong", "right"),
    [
        (pa.array([1, 2]), 1.5, 1.0),
        (pa.array(["a", "b"]), b"a", "a"),
        (pa.array([0, 1], pa.timestamp("s")), datetime(1970, 1, 1, tzinfo=UTC), pd.Timestamp(0)),
        (pa.array([0, 1], pa.timestamp("s", "UTC")), pd.Timestamp(0), datetime(1970, 1, 1, tzinfo=UTC)),
        (pa.array([Decimal("1.5"), Decimal(2)]), "1.5", Decimal("1.50")),
        (pa.array([0.1, 0.2], pa.float32()), "0.1", 0.1),
    ],
    ids=str,
)
def test_keys_to_erase_have_the_type_of_the_column(keys: pa.Array, wrong: Any, right: Any) -> None:
    query = sash.Query(agg.count(), window.time(10), by="key", time="t")
    events = pa.table({"key": keys, "t": [1, 2]})
    with pytest.raises(TypeError, match="does not fit the types of the keys"):
        query.run(events.to_reader(), erase=[wrong])
    assert query.run(events.to_reader(), erase=[right]).read_all()["t"].to_pylist() == [2]


def test_an_error_of_an_aggregate_names_the_row() -> None:
    events = pa.table({"key": ["a", "a"], "t": [1, 2], "x": [2**62, 2**62]})
    query = sash.Query(**QUERY)
    [row] = query.run(events.to_reader(), emit="state").read_all().to_pylist()
    with pytest.raises(OverflowError, match="more than 64 bits"):
        query.lookup(row["state"], now=3)


def test_a_process_that_serves_needs_neither_numba_nor_pyspark() -> None:
    program = """
import sys, pyarrow as pa, sash
from sash import agg, window
events = pa.table({"key": ["a", "a"], "t": [1, 2], "x": [1.5, 2.0]})
windows = {"hour": window.time(10), "ever": window.expanding()}
query = sash.Query([agg.sum("x"), agg.stddev("x"), agg.count()], windows, by="key", time="t")
[row] = query.run(events.to_reader(), emit="state").read_all().to_pylist()
print(query.lookup(row["state"], now=3)["sum_x_hour"], {"numba", "pyspark"} & sys.modules.keys())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "3.5 set()\n"
