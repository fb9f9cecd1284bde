"""Queries with a user-written aggregate on a Spark whose executors are processes of their own.

A script, since a process has one SparkContext; test_cluster.py starts it. Its folder is not on the path of the executors, so
the aggregate below reaches them only by pickle.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from pyspark.sql import SparkSession

import sash
from sash import agg, window
from sash.spark.generated_readings import Readings

ROWS = 3_000
READINGS: dict[str, Any] = {"rows_per_second": 10, "households": 4, "late": 0.1, "lateness": "1m", "seed": 3}
QUICKLY = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
CONF: dict[str, Any] = {
    "spark.master": "local-cluster[2,1,1500]",
    "spark.executor.memory": "1500m",
    "spark.executor.extraJavaOptions": QUICKLY,
    "spark.driver.extraJavaOptions": QUICKLY,
    "spark.sql.shuffle.partitions": 2,
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.codegen.wholeStage": False,
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.ui.showConsoleProgress": False,
}
FACTOR = 0.5

rise = sash.aggregate(  # the steepest rise from one reading to the next, in half watts: exact in floats
    "rise",
    lift=lambda load: (load * FACTOR, load * FACTOR, 0.0),
    combine=lambda older, newer: (older[0], newer[1], max(older[2], newer[2], newer[0] - older[1])),
    lower=lambda found: found[2],
)
QUERIES = {
    "buckets": sash.Query({"rise": rise("load"), "n": agg.count()}, window.time("5m"), by="household", time="ts"),
    "slices": sash.Query({"peak": agg.max("load")}, window.time("5m", slide="1m"), by="plug", time="ts"),
    "ranges": sash.Query({"rise": rise("load")}, window.time("2m", slide="30s"), time="ts"),
}
STREAM = sash.Query({"rise": rise("load"), "n": agg.count()}, window.time("5m", slide="1m"), by="household", time="ts")


def session(folder: Path) -> SparkSession:
    """Start a session with two executors, which write their files into the folder instead of PySpark's own."""
    home = folder / "spark"
    home.mkdir()
    for entry in Path(pyspark.__file__).parent.iterdir():
        (home / entry.name).symlink_to(entry)
    os.environ["SPARK_HOME"] = str(home)
    return sash.spark.session(memory="1g", **CONF)


def executors(_: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pydict({"folder": [str(Path.cwd())]})  # each executor runs in its own


def assert_same(found: pa.Table, expected: pa.Table) -> None:
    expected = expected.cast(found.schema)
    assert len(found) == len(expected) > 0
    order = [(name, "ascending") for name in found.column_names]
    assert found.sort_by(order).equals(expected.sort_by(order))


def main(folder: Path) -> None:
    rows = pa.Table.from_batches([Readings(**READINGS).batch(0, ROWS)])
    spark = session(folder)
    used = {row.folder for row in spark.range(0, 8, 1, 8).mapInArrow(executors, "folder string").collect()}
    assert used
    assert all(Path(path).is_relative_to(folder / "spark" / "work") for path in used)
    frame = spark.createDataFrame(rows)
    strategy: Any  # mypy reads keys of a dictionary as str
    for strategy, declared in QUERIES.items():
        assert_same(declared.run(frame, strategy=strategy).toArrow(), declared.run(rows))
    checkpoint = str(folder / "checkpoint")
    (folder / "rows").mkdir()
    for number in range(2):  # in the order of their names, a micro-batch each
        pq.write_table(rows.slice(number * ROWS // 2, ROWS // 2), folder / "rows" / f"{number}.parquet")
    read = spark.readStream.schema(frame.schema).option("maxFilesPerTrigger", 1)
    stream = read.parquet(str(folder / "rows")).withWatermark("ts", "1 minute")
    started = STREAM.run(stream, buckets=4).writeStream.format("parquet").option("checkpointLocation", checkpoint)
    query = started.trigger(availableNow=True).start(str(folder / "results"))
    assert query.awaitTermination(120)
    emitted = spark.read.parquet(str(folder / "results"))
    rest = sash.spark.finish(STREAM, stream, checkpoint, buckets=4)
    assert emitted.count() > 0
    assert_same(emitted.unionByName(rest).toArrow(), STREAM.run(rows))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
