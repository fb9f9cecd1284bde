"""Queries on streams of Spark's, beside Spark's own.

python -m benchmarks.spark_streaming            all cases: checked, timed, written to results/spark_streaming.csv, printed
python -m benchmarks.spark_streaming --quick    the same on few rows, to see that everything runs; writes nothing

case.py    what a case is                    data.py       rows that arrive in batches
cases.py   the table of cases and targets    of_slices.py  slices made by Spark, combined by Sash: the other way to do it
field.py   checks and times a case

How Spark and Sash are asked, how answers are compared, and the session are those of benchmarks/spark_batch.
"""
