"""Questions over one table, asked of Sash, DuckDB, Polars, pandas and Spark; the suites `h2o` and `flights` have them.

case.py      what a question and a case are            libraries.py   how each contestant is asked
field.py     compares the answers, then times          summary.py   the table of questions and contestants
"""
