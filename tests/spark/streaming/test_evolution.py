"""A stream continues with other aggregates and windows, and from the state of a checkpoint with another number of buckets."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.cases import SOAK
from helpers.emitted import results_of
from pyspark import SparkFiles
from pyspark.sql import Row, SparkSession

import sash
from sash import agg, window
from sash.engine.prepare import prepare
from sash.engine.run_table import run_table
from sash.spark.streaming import state_cache
from sash.spark.streaming.bucket import STATES, defer
from sash.spark.streaming.checkpoint import SHARD
from sash.spark.streaming.initial_state import Regrouping, check_committed
from sash.spark.streaming.shards import LOG, STATE, decompressed
from sash.spark.streaming.stream_task import StreamTask
from sash.state.codec import read_state_header, table_bytes
from sash.state.fingerprint import fingerprint_query
from sash.state.regroup import agree, split_state
from sash.workers.bucket_worker import BucketWorker
from sash.workers.own_columns import GROUP, HASH
from sash.workers.packing import BUCKETS as IN_METADATA
from sash.workers.packing import GUARD, ROWS, bucket_places, pack_state

UTC = pa.timestamp("us", "UTC")
SCHEMA = pa.schema({"k": pa.int64(), "ts": UTC, "x": pa.int64()})
SECOND = 1_000_000
BEGIN = 1_700_000_000 * SECOND
BUCKETS = 3
OLDER = sash.Query(
    {"n": agg.count(), "total": agg.sum("x")}, {"hop": window.time("20s", slide="10s")}, by="k", time="ts"
)
NEWER = sash.Query(
    {"total": agg.sum("x"), "all": agg.collect("x")},
    {"hop": window.time("20s", slide="10s"), "ten": window.tumbling("10s"), "visit": window.session("2s")},
    by="k",
    time="ts",
)
EVERY = {"n": agg.count(), "total": agg.sum("x"), "all": agg.collect("x")}


def table_of(rows: list[tuple[int, float, int]]) -> pa.Table:
    keys, times, values = zip(*rows, strict=True) if rows else ((), (), ())
    ticks = pa.array([BEGIN + int(time * SECOND) for time in times], pa.int64()).cast(UTC)
    return pa.table([pa.array(keys, pa.int64()), ticks, pa.array(values, pa.int64())], schema=SCHEMA)


def some_rows(chooser: random.Random, begin: float, end: float, count: int = 40) -> list[tuple[int, float, int]]:
    return [
        (chooser.randrange(10), begin + chooser.random() * (end - begin), chooser.randrange(99)) for _ in range(count)
    ]


# -- without Spark ------------------------------------------------------------------------------------------------------


def task_of(query: sash.Query, *, evolve: bool = False) -> StreamTask:
    declared = query._declared
    results = run_table(prepare(declared, SCHEMA, compiled=False), SCHEMA.empty_table()).schema
    types = {"k": "bigint", "ts": "timestamp", "x": "bigint"}
    fingerprint = fingerprint_query(declared, types)
    worker = BucketWorker(declared, {}, results, compiled=False)
    return StreamTask(state_cache.new_token(), worker, SCHEMA, fingerprint, "append", "error", None, evolve=evolve)


class Buckets:
    """A stream whose buckets are called without Spark."""

    def __init__(self, task: StreamTask, states: list[tuple[int, Row]] | None = None) -> None:
        tester = pytest.importorskip("pyspark.sql.streaming.tws_tester", reason="Spark 4.1 has no tester").TwsTester
        self.task = task
        self.tester = tester(
            defer(task),
            timeMode="EventTime",
            eventTimeExtractor=lambda _: 1 << 62,
            initialStateRow=states,
        )

    def restart(self, task: StreamTask) -> None:
        """Continue from the same state with another query."""
        self.task = task
        self.tester.processor = defer(task)
        self.tester.processor.init(self.tester.handle)

    def batch(self, rows: list[tuple[int, float, int]], buckets: int = BUCKETS) -> list[dict[str, Any]]:
        given = self.guard(buckets)
        for group in sorted({key % buckets for key, _, _ in rows}):
            own = table_of([row for row in rows if row[0] % buckets == group])
            hashed = own.append_column(HASH, own["k"].cast(pa.int32()))
            given += self.tester.test(group, [Row(**{ROWS: bytes(table_bytes(hashed))})])
        return self._results(given)

    def guard(self, buckets: int = BUCKETS) -> list[Row]:
        """Send what every task with rows sends."""
        blob = table_bytes(table_of([]).replace_schema_metadata({IN_METADATA: str(buckets)}))
        given: list[Row] = self.tester.test(GUARD, [Row(**{ROWS: bytes(blob)})])
        return given

    def pass_time(self, second: float) -> list[dict[str, Any]]:
        return self._results(self.tester.setWatermark(BEGIN // 1000 + int(second * 1000)))

    def _results(self, given: list[Row]) -> list[dict[str, Any]]:
        return results_of(given, self.task.worker.results)

    def base(self, group: int) -> bytes:
        """Return the base of a bucket that has one shard."""
        return decompressed(self.tester.peekMapState(LOG, group)[(1, 0)])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder that Spark would make for files."""
    monkeypatch.setattr(SparkFiles, "_root_directory", str(tmp_path))
    monkeypatch.setattr(SparkFiles, "_is_running_on_worker", True)


def second_of(time: Any) -> float:
    return float(time.timestamp() - BEGIN / SECOND)


def check_results(
    given: list[dict[str, Any]], rows: list[tuple[int, float, int]], new_since: float, query: sash.Query = NEWER
) -> Counter[str]:
    """Assert that results are those of all rows, or null where they are new; return how many windows there are of each name."""
    table, found = table_of(rows), Counter[str]()
    whole = {
        (name, row["k"], row["window_start"], row["window_end"]): row
        for name, one in query._declared.windows.items()
        for row in sash.Query(EVERY, one, by="k", time="ts").run(table, compiled=False).to_pylist()
    }
    for row in given:
        name = row.get("window", "hop")
        expected = whole[name, row["k"], row["window_start"], row["window_end"]]
        start = second_of(row["window_start"])
        assert row["total"] == expected["total"]
        assert "n" not in row or row["n"] == expected["n"]
        if "all" in row:
            assert row["all"] == (expected["all"] if start >= new_since else None), row
            assert name == "hop" or start >= new_since
        found[name] += 1
    assert len(given) == len({(row.get("window"), row["k"], row["window_start"], row["window_end"]) for row in given})
    return found


@pytest.mark.usefixtures("folder")
def test_buckets_evolve_when_they_are_next_used() -> None:
    chooser = random.Random(2)
    stream = Buckets(task_of(OLDER))
    rows = [*some_rows(chooser, 0, 30), (0, 29.5, 1), (1, 29.5, 1), (2, 29.5, 1)]
    given = stream.batch(rows) + stream.pass_time(25)
    stream.restart(task_of(NEWER))
    with pytest.raises(ValueError, match=r"n = count\(\) was removed.*evolve=True"):
        stream.batch([(0, 31, 5)])
    stream.restart(task_of(NEWER, evolve=True))
    for begin in (30, 40, 50, 60):
        more = [
            row for row in some_rows(chooser, begin, begin + 10) if row[0] % BUCKETS == 0
        ]  # others stay as they are
        rows += more
        given += stream.batch(more) + stream.pass_time(begin + 5)
    assert list(read_state_header(stream.base(0))["query"]["windows"]) == ["hop", "ten", "visit"]
    stream.restart(task_of(NEWER, evolve=True))
    for begin in (70, 80, 90):
        more = some_rows(chooser, begin, begin + 10)
        rows += more
        given += stream.batch(more) + stream.pass_time(begin + 5)
    given += stream.pass_time(200)
    # Each bucket has its own evolution: after its newest row, or its watermark. All of them had rows until 29.5.
    late = [row for row in given if second_of(row["window_start"]) >= 30 or row["k"] % BUCKETS == 0]
    found = check_results(late, rows, 30)
    assert found["hop"] > 20
    assert found["ten"] > 20
    assert found["visit"] > 20
    hops = sash.Query(EVERY, window.time("20s", slide="10s"), by="k", time="ts").run(table_of(rows), compiled=False)
    assert sum(row.get("window", "hop") == "hop" for row in given) == len(hops)


@pytest.mark.usefixtures("folder")
def test_a_bucket_without_state_knows_that_it_had_no_new_windows() -> None:
    stream = Buckets(task_of(OLDER))
    stream.batch([(0, 21.0, 1)])
    assert len(stream.pass_time(45)) == 2
    assert stream.tester.peekMapState(LOG, 0) == {}
    stream.restart(task_of(NEWER, evolve=True))
    stream.batch([(0, 46.0, 5), (0, 51.0, 6)])
    given = {(row["window"], second_of(row["window_start"])): row for row in stream.pass_time(200)}
    assert given["hop", 30]["total"] == 5  # no row is missing from a window that is kept
    assert given["hop", 30]["all"] is None
    assert ("ten", 40) not in given  # a row at 41 might have been dropped
    assert given["ten", 50]["all"] == [6]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("buckets", [1, 2, 7])
def test_the_state_of_buckets_becomes_that_of_others(buckets: int) -> None:
    chooser = random.Random(buckets)
    older, task = Buckets(task_of(NEWER)), task_of(NEWER)
    rows = some_rows(chooser, 0, 40)
    given = older.batch(rows) + older.pass_time(35)
    pieces: dict[int, list[bytes]] = {}
    for group in range(BUCKETS):
        state = task.new_state()
        state.decode(older.base(group), task.fingerprint)
        for bucket, piece in split_state(state, task.new_state, lambda hashes: bucket_places(hashes, buckets)):
            pieces.setdefault(bucket, []).append(pack_state(piece.encode(task.fingerprint)))
    empty = task.new_state()
    empty.watermark = empty.newest = BEGIN + 35 * SECOND
    first = pack_state(empty.encode(task.fingerprint))
    newer = Buckets(task, [(group, Row(**{STATES: [first, *pieces.get(group, [])]})) for group in range(buckets)])
    assert newer.batch([(3, 1.0, 7)], buckets) == []  # its windows are closed
    more = some_rows(chooser, 36, 60)
    rows += more
    given += newer.batch(more, buckets) + newer.pass_time(300)
    results = NEWER.run(table_of(rows), compiled=False)
    assert check_results(given, rows, -1000) == Counter(results["window"].to_pylist())


@pytest.mark.usefixtures("folder")
def test_buckets_that_have_changed_at_different_times_cannot_be_joined() -> None:
    """Windows that are open, and rows that windows of rows count, would be lost if new ones began at the latest of these times."""
    windows: dict[str, Any] = {"hop": window.time("20s", slide="10s"), "two": window.rows(2, slide=2)}
    older, newer = (
        sash.Query({"total": agg.sum("x")}, {name: windows[name] for name in names}, by="k", time="ts")
        for names in (["hop"], ["hop", "two"])
    )

    def as_struct(stored: tuple[int, bytes]) -> dict[str, Any]:
        return {"size": stored[0], "state": bytes(stored[1])}

    def described(stream: Buckets, task: StreamTask, newest: int) -> list[Any]:
        rows = [
            {
                GROUP: group,
                SHARD: 1,
                STATE: as_struct(stream.tester.peekValueState(STATE, group)),
                LOG: [
                    {"number": number, "user_map_value": as_struct(entry)}
                    for (_, number), entry in sorted(stream.tester.peekMapState(LOG, group).items())
                ],
            }
            for group in (0, 1)
        ]
        regrouping = Regrouping(task, lambda: BUCKETS, BEGIN, newest)
        summaries = regrouping.summarise(iter(pa.Table.from_pylist(rows).to_batches()))
        return [json.loads(text) for one in summaries for text in one["described"].to_pylist()]

    stream, task = Buckets(task_of(older)), task_of(newer, evolve=True)
    stream.batch([(0, 10, 1), (1, 25, 1)])
    with pytest.raises(ValueError, match="has changed its query"):
        agree(described(stream, task, 0))  # each for itself
    all_at_once = described(stream, task, BEGIN + 25 * SECOND)
    assert agree(all_at_once) == all_at_once[0] == all_at_once[1]
    stream.restart(task)
    stream.batch([(0, 11, 1), (1, 26, 1)])
    with pytest.raises(ValueError, match="has changed its query"):
        agree(described(stream, task, BEGIN + 26 * SECOND))


@pytest.mark.usefixtures("folder")
def test_what_no_bucket_could_do_is_an_error_at_once() -> None:
    older = sash.Query({"n": agg.count()}, {"five": window.rows(5)}, by="k", time="ts")
    newer = sash.Query({"n": agg.count()}, {"five": window.rows(5), "ever": window.expanding()}, by="k", time="ts")
    declared, types = older._declared, {"k": "bigint", "ts": "timestamp", "x": "bigint"}
    stream = Buckets(task_of(older))
    stream.guard()
    stored = read_state_header(decompressed(stream.tester.peekValueState(STATE, GUARD)))
    assert stored["query"] == fingerprint_query(declared, types, buckets=BUCKETS)
    stream.restart(task_of(newer, evolve=True))
    with pytest.raises(ValueError, match="cannot add window 'ever'"):
        stream.guard()


# -- on Spark -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def one_task(spark: SparkSession) -> Iterator[SparkSession]:
    """A session whose stages have one task: starting Python for each takes longer than the work."""
    name = "spark.sql.shuffle.partitions"
    before = spark.conf.get(name)
    spark.conf.set(name, "1")
    yield spark
    spark.conf.set(name, str(before))


def test_a_spark_stream_evolves_and_changes_its_number_of_buckets(one_task: SparkSession, tmp_path: Path) -> None:
    spark = one_task
    chooser = random.Random(4)
    rows: list[tuple[int, float, int]] = []

    def write(folder: str, number: int) -> None:
        (tmp_path / folder).mkdir(exist_ok=True)
        made = some_rows(chooser, number * 20, number * 20 + 20)
        if number == 1:
            made.append((99, 39.9, 5))  # its windows end after the change, and no more rows of it arrive
        rows.extend(made)
        path = tmp_path / folder / f"{number:03}.parquet"
        pq.write_table(table_of(made), path)
        os.utime(path, (number + 1, number + 1))  # Spark takes files in the order of their times

    def run(query: sash.Query, folder: str, checkpoint: str, **options: Any) -> list[dict[str, Any]]:
        target = tmp_path / f"results{len(list(tmp_path.iterdir()))}"
        reader = spark.readStream.schema("k bigint, ts timestamp, x bigint").option("maxFilesPerTrigger", 1)
        stream = reader.parquet(str(tmp_path / folder)).withWatermark("ts", "5 seconds")
        results = query.run(stream, ahead=None, compiled=False, **options)
        writer = results.writeStream.option("checkpointLocation", str(tmp_path / checkpoint))
        writer.format("parquet").option("path", str(target)).trigger(availableNow=True).start().awaitTermination()
        files = [
            str(file) for file in target.glob("*.parquet")
        ]  # the folder has a log of all micro-batches, but not of earlier folders
        found = [row.asDict() for row in spark.read.schema(results.schema).parquet(*files).collect()]
        return [{**row, **{name: row[name].astimezone() for name in ("window_start", "window_end")}} for row in found]

    hop, visit = window.time("4s", slide="2s"), window.session("100ms")
    older = sash.Query({"n": agg.count(), "total": agg.sum("x")}, {"hop": hop}, by="k", time="ts")
    newer = sash.Query(
        {"total": agg.sum("x"), "all": agg.collect("x")}, {"hop": hop, "visit": visit}, by="k", time="ts"
    )
    old = str(tmp_path / "old")
    write("in", 0)
    given = run(older, "in", "old", buckets=3)
    write("in", 1)
    given += run(newer, "in", "old", buckets=3, evolve=True)
    write("more", 2)
    with pytest.raises(ValueError, match=r"n = count\(\) was added"):
        run(older, "more", "new", buckets=5, state_from=old)
    given += run(newer, "more", "new", buckets=5, state_from=old)
    if SOAK:
        write("more", 3)
        given += run(newer, "more", "new", buckets=5)  # the old checkpoint is not needed any more
    found = check_results([row for row in given if second_of(row["window_start"]) >= 20 or "n" in row], rows, 20, newer)
    assert found["visit"] > 50
    hops = sash.Query(EVERY, hop, by="k", time="ts").run(table_of(rows), compiled=False)
    newest = max(time for _, time, _ in rows)
    done = sum(row.get("window", "hop") == "hop" for row in given)
    assert done == sum(second_of(end) <= newest - 5 for end in hops["window_end"].to_pylist())
    (tmp_path / "old" / "offsets" / "99").write_text("v1")
    with pytest.raises(ValueError, match=r"Micro-batch 99 of the stream .* is not committed"):
        check_committed(spark, old)
