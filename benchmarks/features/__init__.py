"""Point-in-time features: `query.run(events, at=labels)` beside the best plans of DuckDB, Polars and Spark.

python -m benchmarks.features            all cases: checked, timed, written to results/features.csv, printed with their targets
python -m benchmarks.features --quick    the same on few rows, to see that everything runs; writes nothing

data.py    events and labels                     case.py    what a case is, the question
peers.py   DuckDB and Polars                     field.py   checks and times it
spark.py   the same question on Spark            cases.py   the table of cases and targets
"""
