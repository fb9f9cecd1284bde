"""What a filter costs beside the same window without it, and a weighted mean beside a mean, pandas and Polars.

python -m benchmarks.filters_and_weights            all cases: checked, timed, written to results/filters_and_weights.csv, printed with their targets
python -m benchmarks.filters_and_weights --quick    the same on few rows, to see that everything runs; writes nothing

case.py    what a case is, and its rows       field.py   checks and times it
cases.py   the table of cases and targets
"""
