"""Growth: rows, keys, windows, aggregates and range, each swept alone; time and memory of Sash, DuckDB, Polars and pandas.

case.py       what a point, a sweep and a case are       one_point.py   one contestant at one point, in a process of its own
cases.py      the table of sweeps                        field.py       starts the processes, and compares their results
data.py       the rows
asked.py      how each contestant is asked               large.py       the sweeps of 10 M rows and more, and threads
"""
