"""Growth: rows, keys, windows, aggregates and range, each swept alone; time and memory of Sash, DuckDB, Polars and pandas.

python -m benchmarks.growth            all sweeps: compared, measured, written to results/growth.csv
python -m benchmarks.growth --quick    the first point of each sweep on few rows, to see that everything runs; writes nothing
python -m benchmarks.growth.plot       draws docs/images/growth from the CSV

case.py       what a point, a sweep and a case are       one_point.py   one contestant at one point, in a process of its own
cases.py      the table of sweeps                        field.py       starts the processes, and compares their results
data.py       the rows                                   plot.py        a picture for each sweep
asked.py      how each contestant is asked
"""
