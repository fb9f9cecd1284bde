"""Every aggregate of `sash.agg` beside max, and beside DuckDB where it has it: no aggregate is a cliff.

python -m benchmarks.aggregates            all cases: checked, timed, written to results/aggregates.csv, printed with their targets
python -m benchmarks.aggregates --quick    the same on few rows, to see that everything runs; writes nothing

calls.py   every aggregate, and what DuckDB calls it     field.py   checks and times it
case.py    what a case is, and its rows                  cases.py   the table of cases and targets
"""
