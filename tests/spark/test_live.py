"""The live page on Spark: results arrive through foreachBatch, a burst corrects the past, files become results."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.pairwise import some
from pyarrow.csv import write_csv
from pyspark.sql import SparkSession

from sash.live import demo
from sash.live.feed import Feed
from sash.live.messages import run_text
from sash.live.spark_source import SparkSource
from sash.spark.generated_readings import FIRST, Readings

KEY = "house 1, household 1"
LONGEST_WAIT = 60
FAST = {"spark.sql.shuffle.partitions": "1", "spark.sql.execution.arrow.maxRecordsPerBatch": "10000"}


@pytest.fixture(autouse=True)
def fast(spark: SparkSession, classic: None) -> Iterator[None]:  # noqa: ARG001 — foreachBatch of Connect runs elsewhere
    before = {name: spark.conf.get(name) for name in FAST}
    for name, value in FAST.items():
        spark.conf.set(name, value)
    yield
    for name, old in before.items():
        spark.conf.set(name, str(old))


@contextmanager
def running(source: SparkSource) -> Iterator[Feed]:
    """Run a source in a thread, and raise its error if it fails."""
    feed, errors = Feed(), list[BaseException]()

    def run() -> None:
        try:
            source.run(feed)
        except Exception as error:  # noqa: BLE001 — raised below
            errors.append(error)
            traceback.print_exc()  # a test that waits in vain shows it

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield feed
    finally:
        source.stop()
        thread.join(LONGEST_WAIT)
    assert errors == []
    assert not source.folder.exists()


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + LONGEST_WAIT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.full
def test_the_demo_shows_the_results_of_a_batch_run_and_a_burst_corrects_them() -> None:
    source = SparkSource.of_demo()
    with running(source) as feed:
        wait_for(lambda: feed.newest is not None and feed.newest - FIRST > 40 * demo.MINUTE)
        wait_for(lambda: source.status.rows and source.recent.table() is not None)
        newest = feed.newest
        assert newest is not None
        with feed.lock:
            series = feed.series["1 minute", KEY]
            done = series.ends <= newest - 3 * demo.MINUTE  # later windows may still get late rows
            found = dict(zip(series.ends[done].tolist(), series.values[done].tolist(), strict=True))
        rows = int((newest - FIRST) / demo.MINUTE * 60 * demo.READINGS["rows_per_second"] / demo.READINGS["speed"])
        batch = demo.QUERY.run(pa.Table.from_batches([Readings(**demo.READINGS).batch(0, rows)]))
        of_key = [
            row for row in batch.to_pylist() if (row["window"], row["house"], row["household"]) == ("1 minute", 1, 1)
        ]
        epoch = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
        expected = {
            (row["window_end"] - epoch) // timedelta(microseconds=1): [
                row[name] for name in demo.QUERY._declared.aggregates
            ]
            for row in of_key
        }
        assert len(found) > 30
        for end, values in found.items():
            np.testing.assert_allclose(values, np.array(expected[end], float), rtol=1e-9)

        corrections = feed.corrections
        assert "240 late readings" in source.burst(KEY)
        wait_for(lambda: feed.corrections > corrections + 40 and source.status.late == demo.TOO_LATE_ROWS)
        with feed.lock:
            corrected = np.isfinite(series.corrected)
            assert series.values[corrected, 2].max() > 1500
        assert source.status.state == "running"
        assert source.status.state_bytes
        assert source.status.delay
        header, _ = run_text(source.example, source.recent.table())
        assert header["lines"]


@pytest.mark.parametrize("ending", some(["csv", "parquet"], 2))
def test_files_of_a_folder_become_results(tmp_path: Path, ending: str) -> None:
    def write(name: str, *minutes: int) -> None:
        times = pa.array([minute * demo.MINUTE for minute in minutes]).cast(pa.timestamp("us"))
        rows = pa.table({"home": ["a"] * len(minutes), "ts": times, "load": [one + 0.5 for one in minutes]})
        hidden = tmp_path / f"_{name}"
        pq.write_table(rows, hidden) if ending == "parquet" else write_csv(rows, hidden)
        hidden.rename(tmp_path / f"{name}.{ending}")

    write("1", 10, 20, 70)
    text = "SELECT max(load) AS peak FROM meters [RANGE 1 HOUR SLIDE 1 HOUR ON ts] GROUP BY home"
    source = SparkSource.of_folder(text, str(tmp_path))
    with running(source) as feed:
        wait_for(lambda: feed.results >= 2)
        write("2", 30, 130)  # the first row is late, and corrects the first window
        wait_for(lambda: source.status.rows >= 5)
        (series,) = feed.series.values()
        ends, peaks = (series.ends // demo.MINUTE).tolist(), series.values[:, 0].tolist()
        assert dict(zip(ends, peaks, strict=True)) == {60: 30.5, 120: 70.5, 180: 130.5}
        assert list(feed.keys.values()) == ["home a"]


def test_what_spark_cannot_read_as_a_stream_is_an_error(tmp_path: Path) -> None:
    pq.write_table(pa.table({"t": [1], "x": [1.0]}), tmp_path / "a.parquet")
    text = "SELECT max(x) AS peak FROM rows [RANGE 5 SLIDE 5 ON t]"
    with pytest.raises(ValueError, match="is a file"):
        SparkSource.of_folder(text, str(tmp_path / "a.parquet"))
    (tmp_path / "b.csv").write_text("t,x\n1,2\n", encoding="utf-8")
    with pytest.raises(ValueError, match="Use engine='local'"):
        SparkSource.of_folder(text, str(tmp_path))
