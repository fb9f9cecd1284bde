"""One query, four lives, on Spark: labels, a batch, a stream with its history, and lookups in stores, through restarts and kills."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers.cases import SOAK
from helpers.four_lives import Lives, assert_equal, features_of, named_by_epoch, times_of
from helpers.redis_server import redis_server
from helpers.spark.killing import SECONDS as LONGEST
from helpers.spark.killing import kill_session
from helpers.spark.served import (
    BEGIN,
    FORGET,
    MINUTE,
    NAME,
    QUERY,
    SCHEMA,
    files_read,
    made_lives,
    run_stream,
    states_of,
    write_file,
    write_history,
    write_states,
)
from pyspark.sql import SparkSession

from sash.serve import open_store
from sash.serve.store import Store
from spark.conftest import CONNECT

SECONDS = float(os.environ.get("SASH_SOAK_SECONDS", "600"))
"""How long the soak kills drivers."""
RUN = "the stream" if CONNECT else None
"""What names the stream; a classic session knows its id."""


@contextmanager
def opened_stores(folder: Path) -> Iterator[list[Store]]:
    """Open a store of each kind."""
    with redis_server() as redis, open_store(f"sqlite:///{folder}/features.db") as embedded, open_store(redis) as other:
        yield [embedded, other]


def check_lookups(store: Store, lives: Lives, files: int, chooser: random.Random) -> None:
    """Compare the features of all keys at some times with those of labels over the accepted rows."""
    accepted = lives.feed.accepted(files)
    keys = [(card,) for card in [*accepted["card"].unique().to_pylist(), "unknown"]]
    newest = max([lives.feed.watermark(files), *times_of(accepted, MINUTE)])
    for now in (newest, newest + chooser.randrange(300), newest + chooser.randrange(3000)):
        expected = lives.labelled(accepted, [(*key, now) for key in keys])
        for key, found, label in zip(keys, lives.looked_up(store, keys, now), expected, strict=True):
            assert_equal(found, label, f"{store.url}: a lookup of {key} at {now}, after {files} files")


@pytest.mark.full
def test_four_lives_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    lives = made_lives(12)
    feed, columns = lives.feed, SCHEMA.names
    write_history(tmp_path, feed)
    states, results = states_of(spark, tmp_path), run_stream(spark, tmp_path)
    written = results.writeStream.format("parquet").option("checkpointLocation", f"{tmp_path}/results checkpoint")
    chooser = random.Random(1)
    with opened_stores(tmp_path) as stores:
        for begin, end in ((0, 5), (5, 6), (6, 12)):  # each run is a restart
            for number in range(begin, end):
                write_file(tmp_path, feed, number)
            write_states(states, tmp_path, stores, RUN, availableNow=True).awaitTermination()
            written.trigger(availableNow=True).start(f"{tmp_path}/results").awaitTermination()
            for store in stores:
                assert files_read(tmp_path, store.get(NAME).number or 0) == end
                check_lookups(store, lives, end, chooser)
    accepted = feed.accepted(len(feed.batches))
    table = lives.in_table(accepted)
    named, _ = named_by_epoch(accepted, "card", MINUTE, FORGET)  # a batch forgets no key
    assert len(set(named["card"])) > len(set(accepted["card"])), "no card was forgotten"
    taken = [time for rows in feed.batches for time in times_of(rows, MINUTE) if time >= BEGIN]
    older = sum(time < BEGIN for time in times_of(feed.past, MINUTE))
    assert len(accepted) < len(taken) + older, "no row was late"
    events = spark.createDataFrame(named)
    batch = {row["id"]: features_of(row, columns) for row in QUERY.run(events).toArrow().to_pylist()}
    stream = {
        row["id"]: features_of(row, columns) for row in spark.read.parquet(f"{tmp_path}/results").toArrow().to_pylist()
    }
    assert batch.keys() == table.keys()
    times = dict(zip(accepted["id"].to_pylist(), times_of(accepted, MINUTE), strict=True))
    assert stream.keys() == {row for row, at in times.items() if BEGIN <= at < feed.watermark(len(feed.batches))}
    for rows in (batch, stream):
        for row, found in rows.items():
            assert_equal(found, table[row], f"row {row}")
    labels = named.select(["card", "t"]).group_by(["card", "t"]).aggregate([])
    on_spark = (
        QUERY.run(events, at=spark.createDataFrame(labels)).toArrow().cast(QUERY.schema(named, at=labels)).to_pylist()
    )
    expected = {(row["card"], row["t"]): row for row in QUERY.run(named, at=labels).to_pylist()}
    assert len(on_spark) == len(expected)
    for row in on_spark:
        assert_equal(row, expected[row["card"], row["t"]], "a label")


# -- the soak ----------------------------------------------------------------------------------------------------------


@contextmanager
def driver(folder: Path, stores: list[Store]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a driver in a session of its own, and kill it at the end with all of its processes."""
    local = folder / "local"  # a process that is killed does not tidy up
    local.mkdir(exist_ok=True)
    paths = os.pathsep.join([*(path for path in sys.path if path), str(Path(__file__).parents[2])])
    with (folder / "log.txt").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "helpers.spark.served", str(folder), *(store.url for store in stores)],
            cwd=local,
            env={**os.environ, "PYTHONPATH": paths, "TMPDIR": str(local), "SPARK_LOCAL_DIRS": str(local)},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        kill_session(process)


def newest_read(folder: Path, store: Store) -> int:
    """Return the number of files whose states a store has."""
    stored = store.find(NAME)
    return 0 if stored is None or stored.number is None else files_read(folder, stored.number)


def wait_for(files: int, folder: Path, stores: list[Store], process: subprocess.Popen[bytes]) -> bool:
    """Wait until all stores have the states of all files. Return False if Spark has given up on a slow Python worker."""
    end = time.monotonic() + LONGEST
    while any(newest_read(folder, store) < files for store in stores):
        if process.poll() is not None:
            said = (folder / "log.txt").read_text(encoding="utf-8", errors="replace")[-20_000:]
            assert "Timed out while waiting for the Python worker to connect back" in said, said
            return False
        assert time.monotonic() < end
        time.sleep(0.05)
    return True


@pytest.mark.skipif(not SOAK, reason="ten minutes of kills, and make soak has the time")
def test_drivers_that_are_killed_again_and_again(tmp_path: Path) -> None:
    chooser = random.Random(os.environ.get("SASH_SOAK_SEED", "4"))
    lives = made_lives(4_000)
    write_history(tmp_path, lives.feed)
    write_file(tmp_path, lives.feed, 0)
    files, kills, checks = 1, 0, 0
    end = time.monotonic() + SECONDS
    with opened_stores(tmp_path) as stores:
        while time.monotonic() < end or not checks:
            with driver(tmp_path, stores) as process:
                start = time.monotonic()
                if chooser.random() < 0.25:
                    time.sleep(chooser.uniform(0, 15))
                elif wait_for(files, tmp_path, stores, process):
                    for store in stores:
                        check_lookups(store, lives, files, chooser)
                    checks += 1
                    for _ in range(chooser.randint(1, 6)):
                        write_file(tmp_path, lives.feed, files)
                        files += 1
                        time.sleep(chooser.choice([0, 0.3, chooser.uniform(0, 2)]))
                took = time.monotonic() - start
            kills += 1
            if (read := newest_read(tmp_path, stores[0])) and stores[0].find(NAME) is not None:
                check_lookups(stores[0], lives, read, chooser)  # SQLite has whole micro-batches
            print(f"killed after {took:.1f} s; {kills} kills, {checks} checks, {read} of {files} files", flush=True)  # noqa: T201
    assert kills
    assert files
