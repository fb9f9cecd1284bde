"""Queries with a user-written aggregate on a Spark whose executors are processes of their own; one of them is killed in a micro-batch.

A script, since a process has one SparkContext; test_cluster.py starts it. Its folder is not on the path of the executors, so
the aggregate below reaches them only by pickle.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import sash
from helpers.spark.cluster import Cluster, assert_same
from helpers.spark.faulty_daemon import KILL
from sash import agg, window

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


def executors(_: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pydict({"folder": [str(Path.cwd())]})  # each executor runs in its own


def main(folder: Path) -> None:
    cluster = Cluster.start(folder)
    spark, rows = cluster.spark, cluster.rows
    used = {row.folder for row in spark.range(0, 8, 1, 8).mapInArrow(executors, "folder string").collect()}
    assert used
    assert all(Path(path).is_relative_to(folder / "spark" / "work") for path in used)
    strategy: Any  # mypy reads keys of a dictionary as str
    for strategy, declared in QUERIES.items():
        assert_same(declared.run(cluster.frame, strategy=strategy).toArrow(), declared.run(rows))
    assert_same(cluster.stream_results(STREAM, 2, [KILL]), STREAM.run(rows))
    cluster.assert_struck(KILL)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
