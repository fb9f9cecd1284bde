"""A job that computes features once a day on Spark: it starts with a month of history, crashes on the second day, and loses nothing.

Each run reads the files of the day, goes on from the checkpoint, and appends what is complete. At the end, all runs together are compared
with one batch run over all payments.
"""

from __future__ import annotations

import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it
from quiet import without_noise
from rich.console import Console

import sash
from sash import agg, window

CARDS, DAYS, A_DAY = 200, 34, 2_000
FIRST_DAY = 31
"""The day on which the job runs for the first time. The payments before are in a table, a day more than the longest window needs."""
MIDNIGHT = pd.Timestamp("2026-03-01", tz="UTC")
COLUMNS = "card int, ts timestamp, amount double"
DELAY = "10 minutes"

FEATURES = sash.Query(
    by="card",
    time="ts",
    windows={"day": window.time("24h"), "month": window.time("30d")},
    aggregates={"payments": agg.count(), "spent": agg.sum("amount"), "most": agg.max("amount")},
)
console = Console(width=None if Console().is_terminal else 120, highlight=False)


class CrashError(Exception):
    """The cluster is gone."""


def main() -> None:
    """Run the job for each day, and compare."""
    settings: dict[str, Any] = {"spark.sql.shuffle.partitions": 2}  # few cores need few state stores
    with without_noise():
        spark = sash.spark.session("sash demo", **settings)
    payments = make_payments()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        table = spark.createDataFrame(payments[payments["ts"] < day_start(FIRST_DAY)], COLUMNS)
        table.write.parquet(str(folder / "table"))
        (folder / "landing").mkdir()
        for day in range(FIRST_DAY, DAYS):
            console.rule(f"[bold]{day_start(day):%d %B}")
            of_day = payments[(payments["ts"] >= day_start(day)) & (payments["ts"] < day_start(day + 1))]
            spark.createDataFrame(of_day, COLUMNS).coalesce(1).write.mode("append").parquet(str(folder / "landing"))
            if day == FIRST_DAY + 1:
                try:
                    spark.sparkContext.setLogLevel("OFF")  # Spark would log the crash that we make
                    run_job(spark, folder, crashes=True)
                except StreamingQueryException:
                    spark.sparkContext.setLogLevel("ERROR")
                    console.print("  the job crashed before it had written its results; the scheduler starts it again")
            run_job(spark, folder)
        compare(spark.createDataFrame(payments, COLUMNS), spark.read.parquet(str(folder / "features")))
    spark.stop()


def make_payments() -> pd.DataFrame:
    """Return the payments of all days, in order of time."""
    random = np.random.default_rng(3)
    seconds = np.sort(random.choice(DAYS * 86_400, DAYS * A_DAY, replace=False))
    return pd.DataFrame(
        {
            "card": random.integers(0, CARDS, len(seconds)),
            "ts": MIDNIGHT + pd.to_timedelta(seconds, unit="s"),
            "amount": random.integers(1, 300, len(seconds)).astype(float),
        }
    )


def day_start(day: int) -> pd.Timestamp:
    """Return the first moment of a day."""
    return MIDNIGHT + pd.Timedelta(days=day)


def run_job(spark: SparkSession, folder: Path, *, crashes: bool = False) -> None:
    """Read what is new, and write the features that are complete."""

    def write(results: DataFrame, batch: int) -> None:
        if crashes:
            raise CrashError
        path = folder / "features" / f"batch={batch}"  # a micro-batch that is repeated replaces its folder
        results.write.mode("overwrite").parquet(str(path))

    landing = spark.readStream.schema(COLUMNS).parquet(str(folder / "landing")).withWatermark("ts", DELAY)
    history = spark.read.parquet(str(folder / "table"))
    with_history = FEATURES.run(landing, history=history, until=day_start(FIRST_DAY).to_pydatetime())
    writer = with_history.writeStream.foreachBatch(write).option("checkpointLocation", str(folder / "checkpoint"))
    running = writer.trigger(availableNow=True).start()
    running.awaitTermination()
    counted = [sash.spark.counts(progress) for progress in running.recentProgress]
    console.print(f"  {sum(one['rows'] for one in counted):,} payments read")
    written = spark.read.parquet(str(folder / "features"))
    console.print(f"  {written.count():,} rows of features so far, the newest of {newest(written):%d %B %H:%M}")


def newest(features: DataFrame) -> datetime:
    """Return the time of the newest row."""
    time: datetime = features.agg(F.max("ts")).collect()[0][0]
    return time


def compare(payments: DataFrame, features: DataFrame) -> None:
    """Print whether the features of all runs are those of a batch run."""
    features = features.drop("batch")
    begin = F.lit(day_start(FIRST_DAY).to_pydatetime())
    expected = FEATURES.run(payments).where((F.col("ts") >= begin) & (F.col("ts") <= F.lit(newest(features))))
    missing, extra = expected.exceptAll(features).count(), features.exceptAll(expected).count()
    if missing or extra:
        raise AssertionError(f"{missing} rows are missing, and {extra} are wrong.")
    console.rule("[bold]all runs together")
    console.print(
        f"  The {features.count():,} rows of features are those of a batch run over all {payments.count():,} payments."
    )


if __name__ == "__main__":
    main()
