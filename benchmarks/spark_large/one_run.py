"""One run in a new session; prints its seconds, the most memory of its processes, and what its results come to, as JSON.

python -m benchmarks.spark_large.one_run START RUN

RUN is a `LargeRun` as JSON. The same question of few rows comes first: Java, Python's workers and kernels are ready when the time begins.
"""

from __future__ import annotations

import json
import sys
import time

from pyspark.sql import Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

import sash
from benchmarks.process_tree import MostMemory
from benchmarks.spark_large.asked import QUESTIONS, readings
from benchmarks.spark_large.case import LargeRun

FEW = 200_000
JAVA, WORKER = b"java", b"daemon"
HEAP = "6g"


def answer(spark: SparkSession, asked: LargeRun, rows: int) -> dict[str, float]:
    """Return how many results there are, and the sum of each answer."""
    question = QUESTIONS[asked.question]
    results = question.ways[asked.way](readings(spark, question, rows))
    sums = [F.sum(F.col(f"`{name}`").cast("double")).alias(name) for name in question.answers]
    observation = Observation("digest")
    results.observe(observation, F.count("*").alias("results"), *sums).write.format("noop").mode("overwrite").save()
    return {name: float(value or 0) for name, value in observation.get.items()}


def main(text: str) -> None:
    """Run once."""
    asked = LargeRun(**json.loads(text))
    conf = {
        "spark.sql.session.timeZone": "UTC"
    }  # where clocks change, a day of Sash is a day of the calendar, and Spark's has 24 hours
    spark = sash.spark.session("sash benchmarks", cores=asked.cores, memory=HEAP, **conf)
    answer(spark, asked, min(FEW, asked.rows))
    with MostMemory(JAVA, WORKER) as memory:
        began = time.perf_counter()
        digest = answer(spark, asked, asked.rows)
        seconds = time.perf_counter() - began
    told = {"seconds": seconds, "megabytes": sum(memory.megabytes.values()), "digest": digest}
    print(json.dumps(told))  # noqa: T201 — the parent reads it
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[2:])
