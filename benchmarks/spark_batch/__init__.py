"""Queries on Spark's DataFrames, beside Spark's own ways.

python -m benchmarks.spark_batch            all cases: checked, timed, written to results/spark_batch.csv, printed with their targets
python -m benchmarks.spark_batch --quick    the same on few rows, to see that everything runs; writes nothing

case.py        what a case is                      data.py      the data, made by Spark
cases.py       the table of cases and targets      native.py    how Spark itself is asked
sash_calls.py  how Sash is asked                   answers.py   compares answers
field.py       checks and times a case             memory.py    what Python's workers take
session.py     the session that all share
"""
