"""Is Sash ever slower than Spark's own way? Queries that Spark can run itself, in two sessions.

python -m benchmarks.never_slower            all cases: checked, timed, written to results/never_slower.csv, printed with their targets
python -m benchmarks.never_slower --quick    the same on few rows, to see that everything runs; writes nothing

cases.py   the table of cases and targets: windows of readings, some of WindowBenchmark, Nexmark, and streams

A "plain session" has Spark's defaults where sash.spark.session() has settings of its own: small Arrow batches and 200 partitions. Data,
session, checks and timing are those of benchmarks/spark_batch, benchmarks/spark_windows, benchmarks/spark_streaming and
benchmarks/nexmark.
"""
