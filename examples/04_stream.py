"""A stream of smart plugs on Spark: windows as they close, the number of late rows, the state, and the end of the stream."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it
from quiet import without_noise
from rich.console import Console
from rich.table import Table

import sash
from sash import agg, window

MINUTES = 8
ROWS_A_SECOND = 200
SPEED = 60
"""An hour of readings passes in a minute: the demo shows an evening."""
LATE = "5 minutes"
"""Readings come up to three hours late: those whose windows are all closed by then are dropped and counted."""

PEAKS = sash.Query(
    by=("house", "household"),
    time="ts",
    windows=window.time("1h", slide="20m"),
    aggregates={
        "n": agg.count(),
        "peak": agg.max("load"),
        "mean": agg.mean("load"),
        "sd": agg.stddev("load"),
    },
)
console = Console(width=None if Console().is_terminal else 120, highlight=False)


def show(closed: DataFrame, batch: int) -> None:
    """Print the highest of the windows that a micro-batch has closed, of each time."""
    highest = F.max_by(F.struct("house", "household", "peak", "n"), "peak").alias("highest")
    for row in closed.groupBy("window_start", "window_end").agg(highest).orderBy("window_end").collect():
        span, top = f"{row.window_start:%H:%M} – {row.window_end:%H:%M}", row.highest
        where = f"in household {top.house}.{top.household}, of {top.n:,} readings"
        console.print(f"  micro-batch {batch:2}   {span}   {top.peak:6,.0f} W {where}")


def main() -> None:
    """Run the stream in two goes, with a restart between them, and then to its end."""
    settings: dict[str, Any] = {"spark.sql.shuffle.partitions": 2}  # few cores need few state stores
    with without_noise():
        spark = sash.spark.session("sash demo", **settings)
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = str(Path(folder) / "checkpoint")
        for minutes in (MINUTES // 2, MINUTES):
            rows = minutes * 60 * ROWS_A_SECOND
            batch = 60 * ROWS_A_SECOND
            readings = sash.spark.readings(
                spark, rows_per_second=ROWS_A_SECOND, speed=SPEED, lateness="3h", rows=rows, rows_per_batch=batch
            )
            stream = readings.withWatermark("ts", LATE)
            if minutes < MINUTES:
                console.rule("[bold]the highest load of each hour, as the watermark closes its window")
                console.print(str(PEAKS.explain(stream)), markup=False)
            else:
                console.rule("[bold]stopped, and started again from its checkpoint")
            writer = PEAKS.run(stream).writeStream.foreachBatch(show).option("checkpointLocation", checkpoint)
            running = writer.trigger(availableNow=True).start()
            running.awaitTermination()
            counted = [sash.spark.counts(progress) for progress in running.recentProgress]
            came, late = (sum(one[name] for one in counted) for name in ("rows", "late"))
            console.print(f"  {came:,} rows arrived, {late:,} of them late")
        console.rule("[bold]the state, and the windows that are still open at the end")
        console.print(state_table(sash.spark.inspect_state(checkpoint)))
        rest = sash.spark.finish(PEAKS, stream, checkpoint)
        console.print(f"  sash.spark.finish returns the {rest.count()} windows that were still open.")
    spark.stop()


def state_table(state: DataFrame) -> Table:
    """Return what the checkpoint holds, as a table."""
    table = Table(
        "household", "slices", "bytes", "oldest", "newest", title="The state of the stream", title_justify="left"
    )
    for row in state.orderBy("key").collect():
        span = (f"{row.oldest:%H:%M}", f"{row.newest:%H:%M}")
        table.add_row(f"{row.key.house}.{row.key.household}", str(row.slices), f"{row.bytes:,}", *span)
    return table


if __name__ == "__main__":
    main()
