"""Point-in-time features: `query.run(events, at=labels)` beside the best plans of DuckDB, Polars and Spark.

data.py    events and labels                     case.py    what a case is, the question
peers.py   DuckDB and Polars                     field.py   checks and times it
spark.py   the same question on Spark            cases.py   the table of cases and targets
"""
