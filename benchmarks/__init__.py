"""How fast Sash is, beside its peers: suites of cases, each checking its answers before it is timed.

python -m benchmarks                     lists the suites
python -m benchmarks compiled            checks and times one, writes results/compiled.csv, prints the targets
python -m benchmarks compiled --quick    on few rows, to see that everything runs; writes nothing
python -m benchmarks all                 all suites, one after the other
python -m benchmarks.plots               draws the pictures of the documentation from the CSVs
python -m benchmarks.pages               writes docs/benchmarks.md and docs/benchmarks from the CSVs
python -m benchmarks.costs               what algorithms cost beside each other, for the choice among them (costs.py)

suites.py      the registry of suites              command.py    the options, and the run of a suite
case.py        what a case is                      field.py      the contestants, checked and timed in turns
results.py     the CSV                             measure.py    from a case to its readings
report.py      the table of targets, from the CSV  plots, pages  pictures and pages, from the CSVs

Each suite has a folder; `compiled`, windows of rows over a column, is here:
column_case.py what a case is                      columns.py    the data
cases.py       the table of cases and targets      references.py the answers, recomputed from raw rows
sash_calls.py  how Sash is called                  peers.py      how pandas, Polars, DuckDB, … are called
column_field.py checks and measures a case         steps.py      the time of each single step
"""
