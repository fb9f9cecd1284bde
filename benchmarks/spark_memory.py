"""One key with many rows, in a Python worker of Spark's that may take no more than 2 GB of addresses.

    python -m benchmarks.spark_memory --rows 50000000 --limit 2048

The limit is Spark's own, spark.executor.pyspark.memory, which sets RLIMIT_AS in the worker: what is asked for beyond it is
refused, and the run fails. Rows come in no order, and the answers are checked. Only where there is /proc.
"""

from __future__ import annotations

import argparse
import threading
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

import sash
from benchmarks.process_tree import family, number_after
from sash import agg, window

WIDTH = 1000
STRIDE = 7919
"""A prime: rows are taken in strides of it, so that they come in no order."""
PAUSE = 0.2
DAEMONS = (b"pyspark.daemon", b"sash.spark.worker_daemon")
"""What Python workers are forked from: Spark's module, or that of sash.spark.session()."""


class Watch(threading.Thread):
    """Looks at Spark's Python workers while they run: the most memory that any has had, and the limit it has."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self.limit = 0

    def run(self) -> None:
        """Look, time and again."""
        while True:
            for process in workers():
                try:
                    status, limits = ((process / name).read_text(encoding="ascii") for name in ("status", "limits"))
                except OSError:  # it has ended
                    continue
                self.peak = max(self.peak, number_after("VmHWM:", status) >> 10)
                self.limit = max(self.limit, number_after("Max address space", limits) >> 20)
            time.sleep(PAUSE)


def workers() -> list[Path]:
    """Return the processes that have come of this one and run Spark's daemon of Python workers, or are forked from it."""
    return [process for process in family() if runs_python_worker(process)]


def runs_python_worker(process: Path) -> bool:
    """Tell whether a process is one of Spark's Python workers."""
    try:
        command = (process / "cmdline").read_bytes()
    except OSError:
        return False
    return any(daemon in command for daemon in DAEMONS)


def rows_of_one_key(spark: SparkSession, rows: int) -> DataFrame:
    """Return rows of one key, in no order."""
    moved = F.pmod(F.col("id") * STRIDE, F.lit(rows))
    return spark.range(rows).select(F.lit("all").alias("key"), moved.alias("t")).withColumn("x", F.col("t") % 7.0)


def check(result: DataFrame, frame: DataFrame, rows: int) -> None:
    """Compare what all windows hold together with what each row adds to the windows that it is in."""
    found = result.agg(F.sum("n"), F.sum("sum")).collect()[0]
    expected = frame.agg(F.sum(F.col("x") * F.least(F.lit(WIDTH), rows - F.col("t")))).collect()[0]
    assert found[0] == rows * WIDTH - WIDTH * (WIDTH - 1) // 2, "rows are missing"
    assert abs(found[1] - expected[0]) <= 1e-9 * expected[0], "the sums are wrong"


def main(arguments: list[str] | None = None) -> None:
    """Run the query and print what it took."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark_memory", description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--limit", type=int, default=2048, help="megabytes that a worker may take")
    options = parser.parse_args(arguments)
    limit: dict[str, Any] = {"spark.executor.cores": 1, "spark.executor.pyspark.memory": f"{options.limit}m"}
    spark = sash.spark.session(cores=1, memory="4g", **limit)
    watch = Watch()
    watch.start()
    frame = rows_of_one_key(spark, options.rows)
    query = sash.Query({"n": agg.count(), "sum": agg.sum("x")}, window.rows(WIDTH), by="key", time="t")
    began = time.perf_counter()
    check(query.run(frame, strategy="buckets", buckets=1), frame, options.rows)
    seconds = time.perf_counter() - began
    print(  # noqa: T201 — it is all that is asked for
        f"{options.rows:,} rows of one key in {seconds:.0f} s; "
        f"the largest Python worker took {watch.peak:,} MB of memory, and its limit was {watch.limit:,} MB of addresses"
    )
    assert 0 < watch.limit <= options.limit, "no worker was limited"


if __name__ == "__main__":
    main()
