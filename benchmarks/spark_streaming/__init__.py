"""Queries on streams of Spark's, beside Spark's own.

case.py    what a case is                    data.py       rows that arrive in batches
cases.py   the table of cases and targets    of_slices.py  slices made by Spark, combined by Sash: the other way to do it
field.py   checks and times a case

How Spark and Sash are asked, how answers are compared, and the session are those of benchmarks/spark_batch.
"""
