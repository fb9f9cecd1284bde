"""The state of a stream that runs: every look at it is that of one committed micro-batch."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, ClassVar

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


@pytest.mark.full
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

    def inspect(_spark: Any, _path: str, stored: checkpoint.Stored) -> Any:
        if stored.micro_batch == 5:
            raise PySparkException("gone")
        return stored

    monkeypatch.setattr(checkpoint, "_inspect", inspect)
    nothing: Any = None
    assert checkpoint.inspect_state(nothing, "") == checkpoint.Stored(0, 9)  # type: ignore[comparison-overlap]


def test_an_error_that_stays_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "operators", lambda *_: [checkpoint.Stored(0, 5)])

    def inspect(*_: Any) -> Any:
        raise PySparkException("damaged")

    monkeypatch.setattr(checkpoint, "_inspect", inspect)
    nothing: Any = None
    with pytest.raises(PySparkException, match="damaged"):
        checkpoint.inspect_state(nothing, "")


@pytest.mark.connect
def test_a_path_with_a_space(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's reader of state looks for another folder there."""
    rows = spark.sql("SELECT id % 3 AS k, timestamp_seconds(id) AS ts FROM range(60)")
    rows.coalesce(1).write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(rows.schema).parquet(str(tmp_path / "in")).withWatermark("ts", "0 seconds")
    query = sash.Query({"n": agg.count()}, window.tumbling("1 day"), by="k", time="ts")
    path = str(tmp_path / "check point%20")
    before = spark.conf.get("spark.sql.shuffle.partitions") or ""
    spark.conf.set("spark.sql.shuffle.partitions", 1)
    writer = query.run(stream, buckets=1, compiled=False).writeStream.format("noop").option("checkpointLocation", path)
    writer.trigger(availableNow=True).start().awaitTermination()
    spark.conf.set("spark.sql.shuffle.partitions", before)
    rest = sash.spark.finish(query, stream, path, buckets=1, compiled=False)
    assert sorted((row.k, row.n) for row in rest.collect()) == [(0, 20), (1, 20), (2, 20)]
    assert sash.spark.inspect_state(path).count() == 3


def test_a_path_that_spark_cannot_read_on_a_cluster(tmp_path: Path) -> None:
    class Session:
        conf: ClassVar[dict[str, str]] = {"spark.master": "spark://host:7077"}

    cluster: Any = Session()
    for path in ("plain", str(tmp_path / "plain"), "hdfs://host:9000/plain"):
        assert checkpoint.readable_path(cluster, path) == path
    (tmp_path / "a b").mkdir()
    for path in (str(tmp_path / "a b"), f"file://{tmp_path}/a b", "s3a://bucket/a b"):
        with pytest.raises(ValueError, match="Make a link to it"):
            checkpoint.readable_path(cluster, path)
    Session.conf["spark.master"] = "local[2]"
    link = Path(checkpoint.readable_path(cluster, f"file:{tmp_path}/a b"))
    assert link.resolve() == tmp_path / "a b"
    assert str(link) == checkpoint.readable_path(cluster, str(tmp_path / "a b"))
