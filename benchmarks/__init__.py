"""How fast Sash is, beside its peers: one table of cases, each checking its answers before it is timed.

python -m benchmarks.compiled            all cases: checked, timed, written to results/compiled.csv, printed with their targets
python -m benchmarks.compiled --quick    the same on few rows, to see that everything runs; writes nothing
python -m benchmarks.plot                draws docs/images/ns_per_row.svg from the CSV
python -m benchmarks.costs               what algorithms cost beside each other, for the choice among them (costs.py)

case.py        what a case is                      columns.py    the data
cases.py       the table of cases and targets      references.py the answers, recomputed from raw rows
sash_calls.py  how Sash is called                  peers.py      how pandas, Polars, DuckDB, … are called
measure.py     checks and times a case             steps.py      the time of each single step
results.py     the CSV                             report.py     the table of targets, from the CSV
"""
