"""The rolling and the window questions of the H2O benchmark (db-benchmark), beside DuckDB, Polars, pandas and Spark.

python -m benchmarks.h2o            all questions: compared, timed, written to results/h2o.csv
python -m benchmarks.h2o --quick    the same on few rows, to see that everything runs; writes nothing

data.py      the two tables            rolling.py   the rolling questions
cases.py     the table of cases        over.py      the window questions
"""
