"""The first micro-batch of a stream in a new session of two cores; prints its time as JSON.

    python -m benchmarks.first_answer.first_batch START sash|spark QUERY PARQUET CHECKPOINT

The time is Spark's own for the micro-batch (`triggerExecution`). Nothing has run in the session before. Both ways emit windows once, when
the watermark has passed them; benchmarks/spark_streaming compares their results.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

import sash

CORES = 2
SCHEMA = "key long, ts timestamp_ntz, x double"
LATE = "10 seconds"


def by_sash(query: str, rows: DataFrame) -> DataFrame:
    """Return Sash's query."""
    from benchmarks.first_answer.ask_sash import query_of  # noqa: PLC0415 — Spark's own does not need it

    return query_of(query).run(rows)


def by_spark(query: str, rows: DataFrame) -> DataFrame:  # noqa: ARG001 — there is one query for streams
    """Return Spark's own aggregation."""
    return rows.groupBy("key", F.window("ts", "1 hour", "1 minute")).agg(F.max("x"))


def main(way: str, query: str, parquet: str, checkpoint: str) -> None:
    """Run the stream over one file, and print the time of the micro-batch that reads it."""
    spark = sash.spark.session("sash benchmarks", cores=CORES)
    spark.conf.set("spark.sql.shuffle.partitions", CORES)  # each has a state store, which commits in each batch
    rows = spark.readStream.schema(SCHEMA).parquet(parquet).withColumn("ts", F.col("ts").cast("timestamp"))
    answered = {"sash": by_sash, "spark": by_spark}[way](query, rows.withWatermark("ts", LATE))
    writer = answered.writeStream.format("noop").option("checkpointLocation", checkpoint)
    stream = writer.trigger(availableNow=True).start()
    stream.awaitTermination()
    first = stream.recentProgress[0]
    digest = {"rows": first["numInputRows"]}
    print(json.dumps({"seconds": first["durationMs"]["triggerExecution"] / 1000, "digest": digest}))  # noqa: T201
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[2:])
