"""The state of a stream that runs: every look at it is that of one committed micro-batch."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.query import StreamingQuery

import sash
from sash import agg, window
from sash.spark.streaming import checkpoint

ROWS = 50
"""Rows of each micro-batch."""


def newest(running: StreamingQuery) -> int:
    """Return the number of the newest micro-batch whose progress is known."""
    progress = running.lastProgress
    assert progress is not None
    return int(progress["batchId"])


def test_the_state_of_a_stream_that_runs(spark: SparkSession, tmp_path: Path) -> None:
    """No window closes, so that the state holds all rows of all micro-batches up to one of them."""
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS).load()
    stream = source.selectExpr("value % 7 AS k", "timestamp AS ts", "value AS x").withWatermark("ts", "1 minute")
    query = sash.Query(agg.median("x"), window.tumbling("1000 days"), by="k", time="ts")
    before = spark.conf.get("spark.sql.shuffle.partitions") or ""
    spark.conf.set("spark.sql.shuffle.partitions", 1)
    writer = query.run(stream, buckets=2, ahead=None).writeStream.format("noop")
    running = writer.option("checkpointLocation", str(tmp_path)).start()
    try:
        while not running.lastProgress and running.isActive:
            time.sleep(0.1)
        seen = []
        for _ in range(3):
            first = newest(running)
            held = sash.spark.inspect_state(str(tmp_path)).agg(F.sum("rows"), F.count_distinct("key")).first()
            assert held is not None
            assert held[0] % ROWS == 0
            assert first < held[0] // ROWS <= newest(running) + 2
            assert held[1] == 7
            seen.append(held[0])
        assert running.isActive, running.exception()
        assert seen == sorted(seen)
        assert seen[0] < seen[-1]
    finally:
        running.stop()
        spark.conf.set("spark.sql.shuffle.partitions", before)


def test_a_micro_batch_that_is_deleted_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next look is at a newer one, if there is one."""
    newest = iter([5, 9, 9, 9])
    monkeypatch.setattr(checkpoint, "operators", lambda *_: [checkpoint.Stored(0, next(newest))])
    monkeypatch.setattr(checkpoint, "_inspect", lambda state: state)

    def read(_spark: Any, _path: str, stored: checkpoint.Stored) -> Any:
        if stored.micro_batch == 5:
            raise PySparkException("gone")
        return stored

    monkeypatch.setattr(checkpoint, "read_states", read)
    nothing: Any = None
    assert checkpoint.inspect_state(nothing, "") == checkpoint.Stored(0, 9)  # type: ignore[comparison-overlap]


def test_an_error_that_stays_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "operators", lambda *_: [checkpoint.Stored(0, 5)])

    def read(*_: Any) -> Any:
        raise PySparkException("damaged")

    monkeypatch.setattr(checkpoint, "read_states", read)
    nothing: Any = None
    with pytest.raises(PySparkException, match="damaged"):
        checkpoint.inspect_state(nothing, "")
