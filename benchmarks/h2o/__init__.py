"""The rolling and the window questions of the H2O benchmark (db-benchmark), beside DuckDB, Polars, pandas and Spark.

data.py      the two tables            rolling.py   the rolling questions
cases.py     the table of cases        over.py      the window questions
large.py     the questions of 10 M and 100 M rows        large_field.py   measures them
"""
