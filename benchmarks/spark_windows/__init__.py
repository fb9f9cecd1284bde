"""The cases of Spark's own WindowBenchmark: frames around each row, without a key, naive and by the segment tree, beside Sash.

python -m benchmarks.spark_windows            all cases: checked, timed, written to results/spark_windows.csv, printed with their targets
python -m benchmarks.spark_windows --quick    the same on few rows, to see that everything runs; writes nothing

case.py   what a case is      cases.py   the table of cases and targets      data.py   the numbers      field.py   checks and times a case

The session, and how answers are compared and timed, are those of benchmarks/spark_batch.
"""
