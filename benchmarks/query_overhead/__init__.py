"""What `Query` adds to its kernels, and how it compares with the best hand-written plans of Polars and DuckDB.

case.py    what a case over rows of keys is      field.py   checks and times it
cases.py   the table of cases and targets        warm.py    few rows, queried again and again

Windows of time beside Polars and DuckDB are cases as in benchmarks/windows, with targets of their own.
"""
