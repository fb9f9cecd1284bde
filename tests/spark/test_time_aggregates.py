"""Aggregates that read the time of the row on Spark, batch and streaming, against the local engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.pairwise import in_turn, some
from pyspark.sql import SparkSession

import sash
from sash import agg, window
from sash.aggregates.base import Aggregate
from sash.windows import Window

AGGREGATES: dict[str, Aggregate[Any]] = {
    "total": agg.ewm_sum("x", half_life="45m"),
    "n": agg.ewm_count(half_life="45m"),
    "mean": agg.ewm_mean("x", half_life="45m"),
    "sd": agg.ewm_stddev("x", half_life="45m"),
    "by_rows": agg.ewm_mean("x", alpha=0.2),
    "slope": agg.slope("x"),
    "line": agg.slope("x", "y"),
}


def rows() -> pa.Table:
    chooser = np.random.default_rng(4)
    times = 1_600_000_000_000_000 + np.cumsum(chooser.integers(0, 1_500_000_000, 150))
    return pa.table(
        {
            "ts": pa.array(times).cast(pa.timestamp("us", "UTC")),
            "key": chooser.integers(0, 3, 150),
            "x": pa.array(chooser.normal(size=150), mask=chooser.random(150) < 0.2),
            "y": chooser.integers(0, 3, 150),
        }
    )


def assert_alike(found: pa.Table, expected: pa.Table) -> None:
    def place(row: dict[str, Any]) -> Any:
        return row["key"], row.get("window_end", row.get("ts")), row.get("window_start")

    mine, theirs = (sorted(table.to_pylist(), key=place) for table in (found, expected))
    assert len(mine) == len(theirs)
    for one, other in zip(mine, theirs, strict=True):
        for name in AGGREGATES:
            assert (one[name] is None) == (other[name] is None), name
            assert one[name] is None or one[name] == pytest.approx(other[name], rel=1e-9, abs=1e-12), name


@pytest.mark.parametrize(
    ("own", "strategy"),
    in_turn([window.time("3h"), window.time("3h", slide="1h"), window.session("30m")], ["buckets", "ranges"]),
    ids=str,
)
def test_batch_is_local(spark: SparkSession, own: Window, strategy: str) -> None:
    table = rows()
    query = sash.Query(AGGREGATES, own, by="key", time="ts")
    options: dict[str, Any] = {"ranges": 3} if strategy == "ranges" else {}
    found = query.run(spark.createDataFrame(table), strategy=strategy, **options).toArrow()  # type: ignore[call-overload]
    assert_alike(found, query.run(table, compiled=False))


@pytest.mark.usefixtures("classic")
@pytest.mark.parametrize("own", some([window.time("3h"), window.time("3h", slide="1h")], 2), ids=str)
def test_streaming_is_local(spark: SparkSession, tmp_path: Path, own: Window) -> None:
    table = rows()
    query = sash.Query(AGGREGATES, own, by="key", time="ts")
    (tmp_path / "rows").mkdir()
    for part in range(3):
        pq.write_table(table.slice(50 * part, 50), tmp_path / "rows" / f"{part}.parquet")
    end = table.slice(149).set_column(0, "ts", pa.array([2_000_000_000_000_000]).cast(pa.timestamp("us", "UTC")))
    pq.write_table(end, tmp_path / "rows" / "3.parquet")  # moves the watermark past all windows
    reader = spark.readStream.schema(spark.read.parquet(str(tmp_path / "rows")).schema)
    stream = reader.parquet(str(tmp_path / "rows")).withWatermark("ts", "1 second")
    found: list[pa.Table] = []
    writer = query.run(stream, buckets=2, ahead=None).writeStream.foreachBatch(
        lambda batch, _: found.append(batch.toArrow())
    )
    writer.option("checkpointLocation", str(tmp_path / "state")).trigger(availableNow=True).start().awaitTermination()
    everything = pa.concat_tables(found)
    before = pa.compute.less(
        everything["window_end" if "window_end" in everything.column_names else "ts"], end["ts"][0]
    )
    assert_alike(everything.filter(before), query.run(table, compiled=False))
