"""The cases of Spark's own WindowBenchmark: frames around each row, without a key, naive and by the segment tree, beside Sash.

case.py   what a case is      cases.py   the table of cases and targets      data.py   the numbers      field.py   checks and times a case

The session, and how answers are compared and timed, are those of benchmarks/spark_batch.
"""
