"""What Spark calls for each bucket, called without Spark: state, timers, copies of state, rows that can't be used."""

from __future__ import annotations

import copy
import os
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.emitted import results_of
from helpers.pairwise import some
from helpers.windows import examples, seconds
from pyspark import SparkFiles
from pyspark.sql import Row

import sash
from sash import agg, window
from sash.durations import read_duration
from sash.engine.prepare import prepare
from sash.engine.run_table import run_table
from sash.spark import COUNTED
from sash.spark.streaming import shards as shards_module
from sash.spark.streaming import state_cache
from sash.spark.streaming.bucket import COUNTS, defer
from sash.spark.streaming.checkpoint import describe_bucket
from sash.spark.streaming.shards import (
    LOG,
    STATE,
    Head,
    Shard,
    compressed,
    decompressed,
    deltas_of,
    read_head,
)
from sash.spark.streaming.stream_task import StreamTask
from sash.state.fingerprint import fingerprint_query
from sash.workers.bucket_worker import BucketWorker
from sash.workers.own_columns import GROUP, HASH
from sash.workers.packing import GUARD, ROWS, packing
from sash.workers.spread import spread_out

TwsTester = pytest.importorskip("pyspark.sql.streaming.tws_tester", reason="Spark 4.1 has no tester").TwsTester
UTC = pa.timestamp("us", "UTC")
SCHEMA = pa.schema({"k": pa.int64(), "ts": UTC, "x": pa.float64()})
DAY = 86_400_000_000
CLOCK = 1_000_000_200_000
"""Milliseconds: it is September 2001."""
BEGIN = CLOCK * 1000 - DAY
MINUTE = 60_000_000
AGGREGATES = {"peak": agg.max("x"), "total": agg.sum("x"), "n": agg.count()}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that Spark would make for files."""
    monkeypatch.setattr(SparkFiles, "_root_directory", str(tmp_path))
    monkeypatch.setattr(SparkFiles, "_is_running_on_worker", True)
    return tmp_path / state_cache.FOLDER


def rows_at(*rows: tuple[Any, Any, Any]) -> pa.Table:
    """Rows of (key, minute since the beginning, x)."""
    keys, minutes, values = (list(column) for column in zip(*rows, strict=True))
    ticks = [None if minute is None else int(BEGIN + minute * MINUTE) for minute in minutes]
    return pa.table(
        [pa.array(keys, pa.int64()), pa.array(ticks, pa.int64()).cast(UTC), pa.array(values)], schema=SCHEMA
    )


class Stream:
    """A query on a stream whose micro-batches are made by hand; each bucket is asked by itself."""

    def __init__(
        self,
        windows: Any,
        aggregates: Any = None,
        *,
        buckets: int = 3,
        compiled: bool | None = False,
        **given: Any,
    ) -> None:
        self.query = sash.Query(aggregates or AGGREGATES, windows, by="k", time="ts")
        self.buckets = buckets
        declared = self.query._declared
        results = run_table(prepare(declared, SCHEMA, compiled=False), SCHEMA.empty_table()).schema
        if declared.per_row:
            results = pa.schema([*SCHEMA, *results])
        fingerprint = fingerprint_query(declared, {"k": "bigint", "ts": "timestamp", "x": "double"})
        if given.get("mode") == "update":
            results = results.append(pa.field("change", pa.string()))
        if given.get("late") == "keep":
            results = results.append(pa.field("late", pa.struct(list(given.get("sent") or SCHEMA))))
        worker = BucketWorker(declared, {}, results, compiled=compiled)
        options = {"name": state_cache.new_token(), "mode": "append", "on_bad_time": "error", "ahead": DAY, **given}
        self.task = StreamTask(worker=worker, schema=SCHEMA, fingerprint=fingerprint, **options)
        self.tester = TwsTester(defer(self.task), timeMode="EventTime", eventTimeExtractor=lambda _: 1 << 62)
        self.tester._currentProcessingTimeMs = CLOCK
        self.answered: list[dict[str, int]] = []
        """What was counted in each row that was emitted."""
        self.newest = 0

    def batch(self, table: pa.Table) -> list[dict[str, Any]]:
        """Give a micro-batch to the buckets that it is for, and return the results."""
        hashes = [hash_of(key, self.buckets) for key in table["k"].to_pylist()]
        rows = table.append_column(HASH, pa.array(hashes, pa.int64()))
        [packed] = packing(rows.column_names, "", lambda: self.buckets)(iter(rows.to_batches()))
        given = []
        for group, blob in zip(packed[GROUP].to_pylist(), packed[ROWS].to_pylist(), strict=True):
            given += self.tester.test(group, [Row(**{ROWS: blob})])
        return self._results(given)

    def pass_time(self, minute: float) -> list[dict[str, Any]]:
        """Let the watermark go on, and return the results of buckets that have waited for it."""
        return self._results(self.tester.setWatermark(int(BEGIN + minute * MINUTE) // 1000))

    def _results(self, given: list[Row]) -> list[dict[str, Any]]:
        self.answered += [dict(zip(COUNTED, row[COUNTS], strict=True)) for row in given]
        return results_of(given, self.task.worker.results)

    def counted(self, name: str) -> int:
        """Return how many rows were counted so."""
        return sum(row[name] for row in self.answered)

    def head(self, bucket: int) -> Head:
        """Return what is known of a bucket."""
        return read_head(decompressed(self.tester.peekValueState(STATE, spread_out(self.buckets)[bucket])))

    def state(self, bucket: int) -> Any:
        """Return the bases of a bucket, by shard."""
        return {shard: entry for (shard, number), entry in self.entries(bucket).items() if number == 0}

    def entries(self, bucket: int) -> Any:
        """Return the logs of a bucket, with old entries."""
        return self.tester.peekMapState(LOG, spread_out(self.buckets)[bucket])

    def changes(self, bucket: int) -> Any:
        """Return the entries with deltas of a bucket, old ones included."""
        return {place: entry for place, entry in self.entries(bucket).items() if place[1] > 0}

    def log(self, bucket: int) -> tuple[bytes, list[bytes]]:
        """Return the base and the deltas of a bucket that has one shard."""
        [shard] = self.head(bucket).shards
        base, *entries = (self.entries(bucket)[(shard.number, number)] for number in range(shard.entries + 1))
        return decompressed(base), deltas_of(shard, entries, self.head(bucket))

    @property
    def held(self) -> list[int]:
        """The buckets that have state."""
        return [bucket for bucket in range(self.buckets) if self.state(bucket)]


def hash_of(key: int | None, buckets: int) -> int:
    """Return a hash of which the bucket and the shard of a key follow: the bucket is the remainder of the key."""
    key = key or 0
    return key % buckets + key * 2_654_435_761 % (1 << 31) // buckets * buckets


WINDOWS: dict[str, Any] = {
    **{
        name: one
        for name, one in examples(seconds(30)).items()
        if not one.columns and not one.emits_empty and not (one.frame and one.frame.needs_end)
    },
    "several": {"a": window.tumbling("3m"), "b": window.session("1m")},
}


ROWS_AHEAD = {"centred": 2, "rows_ahead": 3, "other_rows": 2}
"""How many later rows the result of a row waits for, by window."""


@pytest.mark.parametrize("name", some(WINDOWS, 3))
def test_micro_batches_give_what_a_table_gives(name: str) -> None:
    chooser = np.random.default_rng(3)
    stream = Stream(WINDOWS[name])
    minutes = np.sort(chooser.uniform(0, 120, 300))
    keys, values = chooser.integers(0, 7, 300), chooser.integers(0, 9, 300).astype(float)
    arrive = np.argsort(minutes + chooser.uniform(0, 5, 300))
    found = []
    for part in np.array_split(arrive, 20):
        found += stream.batch(rows_at(*((int(keys[row]), minutes[row], values[row]) for row in part)))
        found += stream.pass_time(minutes[part].max() - 5.01)
    found += stream.pass_time(2_000_000)  # almost four years: no window is longer
    every = rows_at(*((int(key), minute, value) for key, minute, value in zip(keys, minutes, values, strict=True)))
    expected = stream.query.run(every, compiled=False).to_pylist()
    waiting = ROWS_AHEAD.get(name, 0)  # a stream does not end: the last rows of each key wait for the rows after them
    if waiting:
        expected = [row for key in range(7) for row in [own for own in expected if own["k"] == key][:-waiting]]
    assert (stream.counted("rows"), stream.counted("late")) == (300, 0)
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    for key in range(7):  # those of a key in order of time
        ends: list[Any] = [row.get("window_end", row.get("ts")) for row in found if row["k"] == key]
        assert ends == sorted(ends)


def test_the_state_of_a_key_that_went_silent_is_removed(folder: Path) -> None:
    stream = Stream(window.session("3m"))
    stream.batch(rows_at((0, 1, 1.0), (1, 2, 1.0), (3, 9, 1.0)))
    assert stream.held == [0, 1]
    assert stream.pass_time(3.9) == []
    assert [row["k"] for row in stream.pass_time(4.1)] == [0]
    assert stream.state(0)  # of key 3
    assert [row["k"] for row in stream.pass_time(5)] == [1]
    assert stream.held == [0]
    assert [row["k"] for row in stream.pass_time(30)] == [3]
    assert stream.held == []
    assert list(folder.iterdir()) == []
    assert stream.tester.handle._timers._key_to_timers == {}


def test_rows_are_removed_when_no_window_can_reach_back_to_them() -> None:
    stream = Stream(window.time("4m"))
    stream.batch(rows_at((0, 1, 1.0)))
    assert len(stream.pass_time(2)) == 1
    assert stream.held == [0]
    assert stream.pass_time(5.5) == []
    assert stream.held == []


def test_one_partial_stands_for_all_older_rows_of_a_key() -> None:
    stream = Stream(window.expanding(), buckets=1, compiled=None)
    found = []
    for minute in range(0, 100, 4):
        found += stream.batch(rows_at((0, minute, 1.0), (minute, minute + 1, 2.0), (0, minute, None)))
        found += stream.pass_time(minute)
    assert stream.counted("late") == 0
    schema = pa.schema(
        {
            "key": pa.struct({"k": pa.int64()}),
            "slices": pa.int64(),
            "rows": pa.int64(),
            "windows": pa.list_(pa.string()),
        }
    )
    held = [row for one in describe_bucket(0, *stream.log(0), None, schema) for row in one.to_pylist()]
    assert [(row["key"]["k"], row["slices"], row["rows"]) for row in held][:1] == [(96, 0, 1)]
    assert sorted(row["key"]["k"] for row in held if row["slices"]) == list(range(0, 96, 4))
    assert sum(row["rows"] for row in held) == 1
    assert [row["total"] for row in found if row["k"] == 0][-1] == 25 + 2
    assert [row["n"] for row in found if row["k"] == 0][-1] == 51


def test_keys_without_rows_for_long_are_forgotten(folder: Path) -> None:
    stream = Stream(window.rows(3), forget=read_duration("10m", "forget"))
    stream.batch(rows_at((0, 1, 1.0), (0, 2, 1.0), (3, 6, 1.0), (1, 1, 1.0)))
    assert [row["n"] for row in stream.pass_time(7)] == [1, 2, 1, 1]
    assert stream.pass_time(11.9) == []
    assert stream.held == [0]  # the timer has removed key 1
    assert stream.counted("forgotten") == 1
    stream.batch(rows_at((0, 11.95, 1.0), (1, 11.95, 1.0)))
    assert sorted((row["k"], row["n"]) for row in stream.pass_time(12)) == [(0, 3), (1, 1)]  # key 1 starts anew
    assert stream.pass_time(15.9) == []
    assert stream.counted("forgotten") == 1
    assert stream.pass_time(16) == []
    assert stream.counted("forgotten") == 2  # key 3; key 0 of the same bucket stays
    assert stream.held == [0, 1]
    assert stream.pass_time(60) == []
    assert (stream.counted("forgotten"), stream.held) == (4, [])
    assert list(folder.iterdir()) == []
    assert stream.tester.handle._timers._key_to_timers == {}


@pytest.mark.parametrize("name", ["last_rows", "centred", "expanding"])
def test_keys_that_are_forgotten_start_anew(name: str) -> None:
    """A table in which a key has another name after each gap gives the same."""
    chooser = np.random.default_rng(4)
    stream = Stream(WINDOWS[name], forget=read_duration("4m", "forget"), compiled=None)
    minutes = np.sort(chooser.choice(1200, 150, replace=False)) / 10  # no two rows have the same time
    keys, values = chooser.integers(0, 7, 150), chooser.integers(0, 9, 150).astype(float)
    arrive = np.argsort(minutes + chooser.uniform(0, 5, 150))
    found = []
    for part in np.array_split(arrive, 12):
        found += stream.batch(rows_at(*((int(keys[row]), minutes[row], values[row]) for row in part)))
        found += stream.pass_time(minutes[part].max() - 5.01)
    found += stream.pass_time(200)
    lives, lasts, renamed = dict.fromkeys(range(7), 0), dict.fromkeys(range(7), 0.0), []
    for key, minute, value in zip(keys.tolist(), minutes.tolist(), values.tolist(), strict=True):
        lives[key] += round(minute - lasts[key], 6) >= 4
        lasts[key] = minute
        renamed.append((key + 10 * lives[key], minute, value))
    expected = [{**row, "k": row["k"] % 10} for row in stream.query.run(rows_at(*renamed)).to_pylist()]
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    assert stream.counted("forgotten") == len({key for key, *_ in renamed})
    assert (stream.held, stream.counted("late")) == ([], 0)


def test_late_rows_are_counted() -> None:
    stream = Stream(window.tumbling("5m"))
    stream.batch(rows_at((0, 1, 1.0), (0, 9, 1.0)))
    assert [row["n"] for row in stream.pass_time(6)] == [1]
    assert stream.batch(rows_at((0, 2, 5.0), (0, 6, 5.0), (1, 5.9, 5.0))) == []
    assert stream.counted("late") == 1  # the row of minute 5.9 is older than the watermark, but its window is open
    assert sorted(row["n"] for row in stream.pass_time(10)) == [1, 2]


WIDE = SCHEMA.append(pa.field("note", pa.string()))


def with_notes(table: pa.Table) -> pa.Table:
    """Rows with a column that the query does not read."""
    return table.append_column("note", pa.array([f"x is {x}" for x in table["x"].to_pylist()]))


@pytest.mark.parametrize(
    ("windows", "mode"),
    [(window.tumbling("5m"), "append"), (window.tumbling("5m"), "update"), (window.session("2m"), "update"), (window.rows(2), "append")],
    ids=str,
)  # fmt: skip
def test_late_rows_are_kept_with_all_their_columns(windows: Any, mode: str) -> None:
    sent = SCHEMA if windows.per_row else WIDE
    stream = Stream(windows, late="keep", sent=sent, mode=mode, buckets=1)
    dropping = Stream(windows, mode=mode, buckets=1)
    found, expected = [], []
    for minutes, watermark in (((1, 9), 6), ((2, 6, 20), 19), ((3, 18.5, 19.5), 40)):
        rows = rows_at(*((0, minute, minute + 0.5) for minute in minutes))
        found += [*stream.batch(with_notes(rows).select(sent.names)), *stream.pass_time(watermark)]
        expected += [*dropping.batch(rows), *dropping.pass_time(watermark)]
    assert [
        {name: value for name, value in row.items() if name != "late"} for row in found if row["late"] is None
    ] == expected
    late = [row for row in found if row["late"] is not None]
    assert stream.counted("late") == dropping.counted("late") == len(late)
    times = {"tumbling": [2.5, 3.5], "session": [2.5, 3.5], "rows": [2.5, 6.5, 3.5, 19.0]}
    [kind] = [name for name in times if str(windows).startswith(name)]
    assert [row["late"]["x"] for row in late] == times[kind]
    assert windows.per_row or [row["late"]["note"] for row in late] == [f"x is {x}" for x in times[kind]]
    assert all(value is None for row in late for name, value in row.items() if name != "late")


@pytest.mark.parametrize("seed", range(2))
def test_updates_over_slices_are_those_over_rows(seed: int) -> None:
    windows = {
        "hop": window.time("6m", slide="2m"),
        "day": window.cumulative("10m", "5m"),
        "visit": window.session("2m"),
    }
    slices, rows = (
        Stream(windows, mode="update", buckets=2, compiled=compiled, name=f"{seed} {compiled}")
        for compiled in (None, False)
    )
    chooser, deltas = random.Random(seed), []
    for begin in range(0, 40, 2):
        arrived = [
            (chooser.randint(0, 4), begin - chooser.randint(-40, 150) / 10, chooser.randint(0, 9)) for _ in "12345"
        ]
        batches = [stream.batch(rows_at(*arrived)) for stream in (slices, rows)]
        timers = [stream.pass_time(begin - 2) for stream in (slices, rows)]
        for found, expected in (batches, timers):
            assert sorted(map(repr, found)) == sorted(map(repr, expected))
        deltas += [shard.deltas for shard in slices.head(0).shards]
    assert slices.counted("late") == rows.counted("late") > 0
    assert slices.counted("slices") > slices.counted("state_rows") == rows.counted("slices") == 0
    assert max(deltas) > 0


def test_a_late_row_stops_the_stream_again_and_again() -> None:
    stream = Stream(window.tumbling("5m"), late="error", buckets=1)
    stream.batch(rows_at((0, 1, 1.0), (0, 9, 1.0)))
    stream.pass_time(6)
    before = stream.state(0)
    for _ in range(2):  # a restart reads the micro-batch again
        with pytest.raises(
            ValueError, match=r"A row \(k=0, ts=2001.* is late: all its windows are closed.*, 1 more are late"
        ):
            stream.batch(rows_at((0, 6, 1.0), (0, 2, 5.0), (0, 3, 5.0)))
        assert stream.state(0) == before
    stream.tester.processor.in_worker().task = replace(stream.task, late="drop", name=state_cache.new_token())
    stream.batch(rows_at((0, 6, 1.0), (0, 2, 5.0), (0, 3, 5.0)))
    assert stream.counted("late") == 2
    assert [row["n"] for row in stream.pass_time(10)] == [2]


def test_rows_before_1970_are_late_from_the_beginning() -> None:
    stream = Stream(window.tumbling("5m"))
    stream.batch(rows_at((0, -BEGIN / MINUTE - 1, 1.0), (0, -BEGIN / MINUTE, 1.0), (0, 1, 1.0)))
    assert stream.counted("late") == 1
    assert [row["n"] for row in stream.pass_time(5)] == [1, 1]


@pytest.mark.parametrize(
    "windows",
    [
        window.time("5m"),
        window.rows(3),
        window.tumbling("5m", closed="right"),
        window.session("5m"),
        window.rows(2, slide=1),
    ],
    ids=str,
)
def test_rows_at_the_beginning_of_1970_are_in_time_until_the_watermark_moves(windows: Any) -> None:
    """Spark's watermark is 1970 before any row has arrived, and as long as no row is later than the delay."""
    stream, epoch = Stream(windows, {"n": agg.count()}, buckets=1), -BEGIN / MINUTE
    emitted = stream.batch(rows_at((0, epoch, 1.0)))
    emitted += stream.batch(rows_at((0, epoch, 2.0)))
    assert stream.counted("late") == 0
    assert emitted == []
    assert stream.pass_time(epoch + 10)[-1]["n"] == 2
    stream.batch(rows_at((0, epoch, 3.0)))
    assert stream.counted("late") == 1


def test_a_cached_copy_is_read_instead_of_the_store(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    stream = Stream(window.tumbling("5m"), buckets=1)
    stream.batch(rows_at((0, 1, 1.0)))
    read: list[int] = []
    log = stream.tester.processor.in_worker().log
    get = log.getValue

    def counting(key: Any) -> Any:
        read.append(1)
        return get(key)

    monkeypatch.setattr(log, "getValue", counting)
    stream.batch(rows_at((0, 2, 2.0)))
    assert len(read) == 0
    [cached] = folder.iterdir()
    cached.write_bytes(b"0" * state_cache.TOKEN + cached.read_bytes()[state_cache.TOKEN :])  # of another time
    stream.batch(rows_at((0, 3, 4.0)))
    assert len(read) == 1
    cached.unlink()
    assert stream.pass_time(5)[0]["total"] == 7.0
    assert len(read) == 2


def test_a_worker_may_have_no_folder_for_copies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(SparkFiles, "_root_directory", str(tmp_path / "nowhere"))
    stream = Stream(window.tumbling("5m"))
    stream.batch(rows_at((0, 1, 1.0)))
    stream.batch(rows_at((0, 2, 1.0)))
    assert stream.pass_time(5)[0]["n"] == 2


def test_a_copy_that_was_damaged_is_not_used(folder: Path) -> None:
    stream = Stream(window.tumbling("5m"), buckets=1)
    stream.batch(rows_at((0, 1, 1.0)))
    [cached] = folder.iterdir()
    cached.write_bytes(cached.read_bytes()[:-9] + b"damaged!!")
    stream.batch(rows_at((0, 2, 1.0)))
    assert stream.pass_time(5)[0]["n"] == 2


def test_copies_of_streams_that_stopped_are_removed(folder: Path) -> None:
    folder.mkdir()
    old = folder / "old"
    old.touch()
    os.utime(old, (1, 1))
    state_cache._sweep.cache_clear()
    Stream(window.tumbling("5m"), buckets=1).batch(rows_at((0, 1, 1.0)))
    assert old not in folder.iterdir()


@pytest.mark.parametrize("windows", [window.tumbling("5m"), window.rows(2)])
def test_types_may_differ_in_what_spark_is_set_to(windows: Any) -> None:
    stream = Stream(windows, buckets=1)
    given = rows_at((0, 1, 1.0), (0, 2, 2.0))
    stream.batch(given.slice(0, 1))
    tokyo = pa.field("ts", pa.timestamp("us", "Asia/Tokyo"))
    stream.batch(given.slice(1).cast(pa.schema([pa.field("k", pa.int64(), nullable=False), tokyo, SCHEMA.field("x")])))
    stream.tester.processor.in_worker().task = replace(
        stream.task, schema=SCHEMA.set(1, tokyo), name=state_cache.new_token()
    )
    found = stream.pass_time(5)
    assert [row["n"] for row in found] == ([2] if windows.kind == "time" else [1, 2])


def test_the_guard_refuses_another_query() -> None:
    stream = Stream(window.tumbling("5m"))
    stream.batch(rows_at((0, 1, 1.0)))
    other = Stream(window.tumbling("5m"), buckets=4)
    other.tester.handle = stream.tester.handle
    other.tester.processor.init(stream.tester.handle)
    with pytest.raises(ValueError, match=r"The checkpoint belongs to a different query: buckets: 3 became 4\. Run"):
        other.batch(rows_at((3, 1, 1.0)))  # of a bucket that has no state
    assert stream.tester.peekValueState(STATE, GUARD) is not None


def test_rows_without_a_time_stop_the_stream_or_are_counted() -> None:
    bad = rows_at((0, 1, 1.0), (7, None, 2.0), (0, (1 << 61) // MINUTE, 3.0))
    stream = Stream(window.tumbling("5m"), buckets=1)
    with pytest.raises(ValueError, match=r"A row \(k=7, ts=None\) has no valid time. Its bucket has 1 more such row"):
        stream.batch(bad)
    stream = Stream(window.tumbling("5m"), buckets=1, on_bad_time="drop")
    stream.batch(bad)
    assert stream.counted("bad_times") == 2
    assert [row["n"] for row in stream.pass_time(5)] == [1]


def test_rows_far_ahead_of_the_clock_stop_the_stream_before_its_watermark_follows() -> None:
    ahead = rows_at((0, 1, 1.0), (5, 2 * 24 * 60 + 1, 1.0))
    stream = Stream(window.tumbling("5m"), buckets=1)
    with pytest.raises(
        ValueError, match=r"A row \(k=5, ts=2001-09-10 .*is further ahead of the clock than ahead= allows"
    ):
        stream.batch(ahead)
    dropped = Stream(window.tumbling("5m"), buckets=1, on_bad_time="drop")
    dropped.batch(ahead)
    assert dropped.counted("bad_times") == 1
    allowed = Stream(window.tumbling("5m"), buckets=1, ahead=None)
    allowed.batch(ahead)
    assert allowed.counted("bad_times") == 0


def test_values_that_are_no_numbers_are_values() -> None:
    stream = Stream(window.tumbling("5m"))
    table = rows_at(
        (None, 1, float("inf")), (None, 2, None), (0, 1, float("-inf")), (0, 2, float("inf")), (2, 3, float("nan"))
    )
    stream.batch(table)
    found = stream.pass_time(5)
    expected = stream.query.run(table, compiled=False).to_pylist()
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


def fails_on_seven(older: float, newer: float) -> float:
    if newer == 7:
        message = "seven"
        raise ArithmeticError(message)
    return older + newer


def test_an_error_in_a_function_of_ones_own_loses_nothing() -> None:
    broken = sash.aggregate("own", lift=lambda x: x, combine=fails_on_seven)
    stream = Stream(window.tumbling("5m"), {"own": broken("x")}, buckets=1)
    stream.batch(rows_at((0, 1, 1.0)))
    before = stream.state(0)
    with pytest.raises(ArithmeticError, match="seven") as failed:
        stream.batch(rows_at((0, 2, 7.0), (0, 3, 1.0)))
    assert failed.value.__notes__[0].startswith("'own': own(x) failed while combining up to the row of k=0, ts=2001")
    assert stream.state(0) == before  # as if the micro-batch had not come, and so it comes again


def test_state_that_was_changed_is_refused(folder: Path) -> None:
    stream = Stream(window.tumbling("5m"), buckets=1)
    stream.batch(rows_at((0, 1, 1.0)))
    [(shard, (size, state))] = stream.state(0).items()
    for path in folder.iterdir():
        path.unlink()
    for other in (state[:-20] + bytes(20), b"", state[: len(state) // 2]):
        stream.tester.updateMapState(LOG, 0, {(shard, 0): (size, other)})
        with pytest.raises(ValueError, match=r"state of a stream.*start from an intact checkpoint, or from a new one"):
            stream.batch(rows_at((0, 2, 1.0)))


def test_the_state_of_a_bucket_is_described() -> None:
    schema = pa.schema(
        {
            "key": pa.struct({"k": pa.int64()}), "windows": pa.list_(pa.string()), "bucket": pa.int32(),
            "slices": pa.int64(), "rows": pa.int64(), "bytes": pa.int64(), "oldest": UTC, "newest": UTC, "watermark": UTC,
        }
    )  # fmt: skip
    for windows, kind, others in ((window.rows(3), "rows", "slices"), (window.time("3m"), "rows", "slices")):
        stream = Stream(windows, buckets=1)
        stream.batch(rows_at((0, 1, 1.0), (0, 2, 1.0), (4, 2, 1.0)))
        [batch] = describe_bucket(0, *stream.log(0), None, schema)
        told = batch.to_pylist()
        assert told[0]["windows"] == [windows.kind]
        assert [(row["key"]["k"], row[kind], row[others]) for row in told] == [(0, 2, 0), (4, 1, 0)]
        assert told[0]["newest"] == told[1]["oldest"]
        assert all(row["bytes"] > 0 for row in told)


def test_a_change_that_is_missing_at_the_end_is_noticed() -> None:
    """The head names the state that a log leads to; without it, a shorter log is another valid one."""
    stream = Stream(window.tumbling("50m"), buckets=1)
    stream.batch(rows_at(*((key, 1, 1.0) for key in range(400))))
    for minute in (2, 3):
        stream.batch(rows_at((3, minute, 1.0)))
    base, deltas = stream.log(0)
    assert len(deltas) == 2
    token = stream.head(0).shards[0].token
    schema = pa.schema({"slices": pa.int64(), "rows": pa.int64()})
    assert list(describe_bucket(0, base, deltas, token, schema))
    assert list(describe_bucket(0, base, deltas[:-1], None, schema))
    with pytest.raises(ValueError, match="do not end at the state that was stored last"):
        list(describe_bucket(0, base, deltas[:-1], token, schema))


@pytest.mark.parametrize("compiled", [None, False], ids=["slices", "rows"])
def test_the_state_of_the_changed_buckets_is_counted(compiled: bool | None) -> None:
    stream = Stream(window.tumbling("5m"), buckets=2, compiled=compiled)

    def last(*names: str) -> list[int]:
        return [sum(row[name] for row in stream.answered) for name in names]

    stream.batch(rows_at((0, 1, 1.0), (0, 2, 1.0), (2, 1, 1.0), (1, 6, 1.0)))
    stored = {True: [3, 0, 4], False: [3, 3, 0]}[compiled is False]
    assert last("keys", "slices", "state_rows") == stored
    assert last("state_bytes") == [sum(len(base) for bucket in (0, 1) for _, base in stream.state(bucket).values())]
    stream.answered.clear()
    stream.batch(rows_at((1, 7, 1.0)))  # of one bucket
    assert last("keys", "slices", "state_rows") == ([1, 0, 2] if compiled is False else [1, 1, 0])
    stream.answered.clear()
    stream.pass_time(30)
    assert last("keys", "slices", "state_rows", "state_bytes") == [0, 0, 0, 0]


def test_the_keys_of_prefixes_are_counted_once() -> None:
    stream = Stream(window.expanding(), buckets=1, compiled=None)
    stream.batch(rows_at((0, 1, 1.0), (1, 1, 1.0)))
    stream.pass_time(5)
    stream.answered.clear()
    stream.batch(rows_at((0, 6, 1.0), (2, 7, 1.0)))
    [row] = [row for row in stream.answered if row["rows"]]
    assert (row["keys"], row["slices"], row["state_rows"]) == (3, 2, 2)


def test_errors_have_a_line_that_is_easy_to_find() -> None:
    stream = Stream(window.tumbling("5m"), buckets=1)
    with pytest.raises(ValueError, match="has no valid time") as failed:
        stream.batch(rows_at((7, None, 2.0)))
    assert failed.value.__notes__ == [f"[SASH] ValueError: {failed.value}"]
    broken = sash.aggregate("own", lift=lambda x: x, combine=fails_on_seven)
    stream = Stream(window.tumbling("5m"), {"own": broken("x")}, buckets=1)
    with pytest.raises(ArithmeticError) as own:
        stream.batch(rows_at((0, 2, 7.0), (0, 3, 7.0)))
    *_, line = own.value.__notes__
    assert line.startswith(
        "[SASH] ArithmeticError: seven 'own': own(x) failed while combining up to the row of k=0, ts=2001"
    )
    assert "\n" not in line


def wide_rows(minute: float, keys: int = 200) -> pa.Table:
    """One row for each of many keys, so that a delta of some rows is small beside the base."""
    return rows_at(*((key, minute, float(key)) for key in range(keys)))


@pytest.mark.parametrize("windows", [window.time("10m", slide="5m"), window.rows(2)], ids=repr)
def test_a_micro_batch_writes_what_it_changes(windows: Any) -> None:
    stream = Stream(windows, buckets=1)
    stream.batch(wide_rows(1))
    base = stream.state(0)[1]
    for number in range(1, 4):
        stream.batch(rows_at((7, 1 + number, 1.0), (1000 + number, 1 + number, 1.0)))
        assert stream.state(0) == {1: base}
        assert len(stream.log(0)[1]) == number
    assert sum(map(len, stream.log(0)[1])) < base[0]


@pytest.mark.parametrize("name", ["hop", "session", "rows", "several"])
def test_a_bucket_without_copies_reads_its_log(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a restart, in each micro-batch: results are those of the stream that goes on."""
    windows = {"hop": window.time("10m", slide="5m"), "session": window.session("3m"), "rows": window.rows(3)}
    given = [
        *(wide_rows(minute, 40) for minute in (1, 4)),
        *(rows_at((minute % 5, minute, 1.5)) for minute in range(5, 25)),
    ]
    found, lengths = [], []
    for cached, most_waiting in ((True, 1 << 14), (False, 1 << 14), (False, 2000), (False, 0)):
        with monkeypatch.context() as patched:
            patched.setattr(shards_module, "MOST_WAITING", most_waiting)
            if not cached:
                patched.setattr(state_cache, "read", lambda *_: None)
            stream = Stream(windows.get(name, WINDOWS["several"]), buckets=1)
            own = []
            for minute, table in enumerate(given):
                own += stream.batch(table)
                own += stream.pass_time(minute)
                if stream.held:
                    lengths.append(len(stream.log(0)[1]))
            found.append([*own, *stream.pass_time(100)])
    assert found[0] == found[1] == found[2] == found[3]
    assert max(lengths) > 1
    assert 0 in lengths[1:]  # a base replaced the log


def test_an_attempt_that_was_not_committed_leaves_nothing() -> None:
    """A task may run twice, and both attempts write a copy. What the store holds decides."""
    stream = Stream(window.tumbling("5m"), buckets=1)
    stream.batch(wide_rows(1))
    stream.batch(rows_at((0, 2, 1.0)))
    stores = [*stream.tester.handle.value_states.values(), *stream.tester.handle.map_states.values()]
    committed = [copy.deepcopy(store.state) for store in stores]
    stream.batch(rows_at((0, 2, 100.0)))  # fails after its copy was written
    for store, state in zip(stores, committed, strict=True):
        store.state = state
    stream.batch(rows_at((0, 2, 10.0)))
    [total] = [row["total"] for row in stream.pass_time(5) if row["k"] == 0]
    assert total == 11.0


def test_a_log_that_was_changed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards_module, "MOST_WAITING", 0)
    stream = Stream(window.tumbling("5m"), buckets=1)
    stream.batch(wide_rows(1))
    for minute in (2, 3):
        stream.batch(rows_at((0, minute, 1.0)))
    monkeypatch.setattr(state_cache, "read", lambda *_: None)
    log = stream.changes(0)
    base = {(1, 0): stream.state(0)[1]}
    first, last = log.values()
    broken = [
        {},
        {(1, 1): first},
        {(1, 2): last},
        {(1, 1): first, (1, 2): (last[0], last[1][:-5])},
        {(1, 1): last, (1, 2): first},
    ]
    for other in broken:
        stream.tester.updateMapState(LOG, 0, base | other)
        with pytest.raises(ValueError, match=r"state of a.*start from an intact checkpoint, or from a new one"):
            stream.batch(rows_at((0, 4, 1.0)))
    old = {(1, 3): last, (2, 1): last}  # of an earlier base, or of another shard
    stream.tester.updateMapState(
        LOG, 0, {**old, **dict(reversed(log.items())), **base}
    )  # Spark stores them in any order
    stream.batch(rows_at((0, 4, 1.0)))
    assert [row["total"] for row in stream.pass_time(5) if row["k"] == 0] == [3.0]


def test_a_bucket_without_state_has_no_log() -> None:
    stream = Stream(window.tumbling("5m"), buckets=1)
    stream.batch(wide_rows(1))
    stream.batch(rows_at((0, 2, 1.0)))
    stream.pass_time(5)
    assert stream.entries(0) == {}
    assert stream.head(0).shards == [Shard()]
    stream.batch(rows_at((0, 6, 1.0)))
    assert [row["total"] for row in stream.pass_time(10)] == [1.0]


@pytest.mark.parametrize(
    "name",
    ["hop", "session", "last_rows", *(pytest.param(name, marks=pytest.mark.full) for name in ("expanding", "several"))],
)
def test_a_large_bucket_is_split_into_shards(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results are those of one shard, with and without copies; each shard is written only if it changes."""
    windows = {"hop": window.time("10m", slide="5m"), "session": window.session("3m"), **WINDOWS}[name]
    chooser = random.Random(name)
    given = [
        rows_at(
            *((chooser.randrange(60), begin + chooser.random() * 3, float(chooser.randrange(9))) for _ in range(90))
        )
        for begin in range(0, 30, 3)
    ]
    found, shards = [], []
    for most_bytes, cached in ((1 << 23, True), (3500, True), (3500, False)):
        with monkeypatch.context() as patched:
            patched.setattr(shards_module, "MOST_BYTES", most_bytes)
            if not cached:
                patched.setattr(state_cache, "read", lambda *_: None)
            stream = Stream(windows, buckets=2, compiled=None)
            own = []
            for number, table in enumerate(given):
                own += stream.batch(table)
                own += stream.pass_time(3 * number)
            shards.append([len(stream.head(bucket).shards) for bucket in (0, 1)])
            assert {shard.number for shard in stream.head(0).shards if shard.token} == set(stream.state(0))
            found.append(sorted(map(repr, [*own, *stream.pass_time(3000)])))
            assert (stream.counted("rows"), stream.counted("late")) == (900, 0)
            assert stream.tester.handle._timers._key_to_timers == {}
    assert found[0] == found[1] == found[2]
    assert shards[0] == [1, 1]
    assert min(shards[1]) > 1


def test_only_shards_with_rows_or_results_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards_module, "MOST_BYTES", 3500)
    stream = Stream(window.tumbling("50m"), buckets=1)
    stream.batch(wide_rows(1))
    before = {shard.number: shard for shard in stream.head(0).shards}
    stream.batch(rows_at((7, 2, 1.0)))
    after = {shard.number: shard for shard in stream.head(0).shards}
    assert sum(after[number] != before[number] for number in before) == 1
    assert len(before) > 3
    late = rows_at((7, 3, 1.0), (8, 3, 1.0))
    assert len(stream.pass_time(50)) == 200
    assert stream.state(0) == {}
    stream.batch(late)
    assert stream.counted("late") == 2


def test_a_key_that_is_larger_than_a_shard_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards_module, "MOST_BYTES", 4000)
    stream = Stream(window.time("50m"), {"n": agg.count()}, buckets=1)
    stream.batch(rows_at(*((1, minute / 10, 1.0) for minute in range(300)), (2, 1, 1.0)))
    assert sorted(len(base) for _, base in stream.state(0).values()) != []
    assert max(row["n"] for row in stream.pass_time(40)) == 300


def test_the_state_of_an_older_version_is_refused() -> None:
    """Older versions stored the head of a bucket under the same name, with the same types."""
    stream = Stream(window.tumbling("5m"), buckets=1)
    older = bytearray(stream.task.new_state().encode(stream.task.fingerprint))
    older[4:6] = (3).to_bytes(2, "little")
    message = r"is of version 3 of the format, but this Sash reads version 4: start from"
    with pytest.raises(ValueError, match=message):
        read_head(bytes(older))
    stream.tester.updateValueState(STATE, GUARD, compressed(bytes(older)))
    with pytest.raises(ValueError, match=message):
        stream.batch(rows_at((0, 1, 1.0)))
