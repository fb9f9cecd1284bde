"""Is Sash ever slower than Spark's own way? Queries that Spark can run itself, in two sessions.

cases.py   the table of cases and targets: windows of readings, some of WindowBenchmark, Nexmark, and streams

A "plain session" has Spark's defaults where sash.spark.session() has settings of its own: small Arrow batches and 200 partitions. Data,
session, checks and timing are those of benchmarks/spark_batch, benchmarks/spark_windows, benchmarks/spark_streaming and
benchmarks/nexmark.
"""
