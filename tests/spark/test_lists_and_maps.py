"""Histograms, quantile lists, ranks, maps and filters on Spark, batch and streaming, against the local engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.pairwise import in_turn
from pyspark.sql import SparkSession

import sash
from sash import agg, window
from sash.aggregates.base import Aggregate
from sash.windows import Window

AGGREGATES: dict[str, Aggregate[Any]] = {
    "bins": agg.histogram("x", [-1, 0, 0.5, 2]),
    "rank": agg.rank("x", method="min"),
    "many": agg.quantile("x", [0.1, 0.5, 1]),
    "sums": agg.per_value("word", agg.sum("y")),
    "passed": agg.count(where="x > 0 AND word <> 'select'"),
    "total": agg.sum(sash.expr("y * 2"), where="x > 0"),
    "faded": agg.ewm_mean("x", half_life="45m", where="y > 0"),
    "whole": agg.sum("y"),
}


def rows() -> pa.Table:
    chooser = np.random.default_rng(9)
    times = 1_600_000_000_000_000 + np.cumsum(chooser.integers(1, 1_500_000_000, 120))
    return pa.table(
        {
            "ts": pa.array(times).cast(pa.timestamp("us", "UTC")),
            "key": chooser.integers(0, 3, 120),
            "x": pa.array(chooser.normal(size=120), mask=chooser.random(120) < 0.2),
            "y": chooser.integers(0, 3, 120),
            "word": pa.array(chooser.choice(["a", "b", "select"], 120), mask=chooser.random(120) < 0.2),
        }
    )


def assert_alike(found: pa.Table, expected: pa.Table) -> None:
    def place(row: dict[str, Any]) -> Any:
        return row["key"], row.get("window_end", row.get("ts")), row.get("window_start")

    def plain(value: Any) -> Any:
        return dict(value) if isinstance(value, list) and value and isinstance(value[0], tuple) else value

    mine, theirs = (sorted(table.to_pylist(), key=place) for table in (found, expected))
    assert len(mine) == len(theirs) > 0
    for one, other in zip(mine, theirs, strict=True):
        for name in AGGREGATES:
            assert plain(one[name]) == (other[name] is not None and pytest.approx(plain(other[name]))) or (
                one[name] is other[name] is None
            ), name


@pytest.mark.parametrize(
    ("own", "strategy"), in_turn([window.time("3h"), window.time("3h", slide="1h")], ["auto", "ranges"]), ids=str
)
def test_batch_is_local(spark: SparkSession, own: Window, strategy: str) -> None:
    table = rows()
    query = sash.Query(AGGREGATES, own, by="key", time="ts")
    options: dict[str, Any] = {"ranges": 3} if strategy == "ranges" else {}
    options |= {"strategy": strategy, "compiled": False}  # compiling in each worker would take long
    found = query.run(spark.createDataFrame(table), **options).toArrow()
    assert_alike(found, query.run(table, compiled=False))


@pytest.mark.usefixtures("classic")
def test_streaming_is_local(spark: SparkSession, tmp_path: Path) -> None:
    table = rows()
    query = sash.Query(AGGREGATES, window.time("3h", slide="1h"), by="key", time="ts")
    (tmp_path / "rows").mkdir()
    for part in range(2):
        pq.write_table(table.slice(60 * part, 60), tmp_path / "rows" / f"{part}.parquet")
    end = table.slice(119).set_column(0, "ts", pa.array([2_000_000_000_000_000]).cast(pa.timestamp("us", "UTC")))
    pq.write_table(end, tmp_path / "rows" / "2.parquet")  # moves the watermark past all windows
    reader = spark.readStream.schema(spark.read.parquet(str(tmp_path / "rows")).schema)
    stream = reader.parquet(str(tmp_path / "rows")).withWatermark("ts", "1 second")
    found: list[pa.Table] = []
    writer = query.run(stream, buckets=2, ahead=None, compiled=False).writeStream.foreachBatch(
        lambda batch, _: found.append(batch.toArrow())
    )
    writer.option("checkpointLocation", str(tmp_path / "state")).trigger(availableNow=True).start().awaitTermination()
    everything = pa.concat_tables(found)
    before = pa.compute.less(everything["window_end"], end["ts"][0])
    assert_alike(everything.filter(before), query.run(table, compiled=False))


def test_wide_results_have_columns_for_quantiles(spark: SparkSession) -> None:
    rows = pa.table({"t": [1, 2, 11], "k": ["a", "b", "a"], "x": [4.0, 2.0, 8.0]})
    query = sash.Query(
        {"p": agg.quantile("x", [0.0, 0.5]), "bins": agg.histogram("x", [0, 3, 9])}, window.tumbling(10), time="t"
    )
    frame = spark.createDataFrame(rows)
    found = query.run(frame, wide=True)
    assert found.columns == ["window_start", "window_end", "p_0.0", "p_0.5", "bins_0_3", "bins_3_9"]
    assert query.schema(frame, wide=True) == found.schema
    assert sorted(tuple(row) for row in found.collect()) == [
        tuple(row.values()) for row in query.run(rows, wide=True).to_pylist()
    ]
    by_value = sash.Query({"n": agg.per_value("k")}, window.tumbling(10), time="t")
    with pytest.raises(ValueError, match="Spark needs to know them before it runs"):
        by_value.run(frame, wide=True)


def test_the_row_before_is_that_of_arrow(spark: SparkSession) -> None:
    rows = pa.table({"t": [1, 2, 11], "k": ["a", "b", "a"], "x": [4.0, None, 8.0]})
    query = sash.Query({"before": agg.last("x"), "at": agg.last("t")}, window.lag(), time="t")
    found = sorted(tuple(row) for row in query.run(spark.createDataFrame(rows)).select("t", "before", "at").collect())
    expected = query.run(rows).to_pylist()
    assert found == [(row["t"], row["before"], row["at"]) for row in expected]
