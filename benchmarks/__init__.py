"""How fast Sash is, beside its peers: tables of cases, each checking its answers before it is timed.

python -m benchmarks.compiled            windows of rows over a column: checked, timed, written to results/compiled.csv, printed with their targets
python -m benchmarks.windows             windows of time over a table: the same, to results/windows.csv
python -m benchmarks.query_overhead      what Query adds to its kernels: the same, to results/query_overhead.csv
python -m benchmarks.single_events      what insert, evict and query of an Aggregator cost: the same, to results/single_events.csv
python -m benchmarks.filters_and_weights what where= and ewm_mean cost: the same, to results/filters_and_weights.csv
python -m benchmarks.frames              frames that look ahead or leave out rows: the same, to results/frames.csv
python -m benchmarks.aggregates          every aggregate beside max and DuckDB: the same, to results/aggregates.csv
python -m benchmarks.serving             features over HTTP, from a store: the same, to results/serving.csv
python -m benchmarks.first_answer        the time to the first result in fresh processes: the same, to results/first_answer.csv
python -m benchmarks.stream_growth       streams as keys and slices grow: the same, to results/stream_growth.csv
python -m benchmarks.nexmark             Nexmark's queries on Spark, batch and stream: the same, to results/nexmark.csv
python -m benchmarks.spark_windows       Spark's own WindowBenchmark: the same, to results/spark_windows.csv
python -m benchmarks.never_slower        what Spark can run itself, in two sessions: the same, to results/never_slower.csv
python -m benchmarks.compiled --quick    on few rows, to see that everything runs; writes nothing
python -m benchmarks.plot                draws docs/images/ns_per_row.svg from the CSV
python -m benchmarks.page                writes docs/benchmarks.md from both
python -m benchmarks.costs               what algorithms cost beside each other, for the choice among them (costs.py)

case.py        what a case is                      field.py      the contestants, checked and timed in turns
command.py     the options                         measure.py    from a case to its readings
results.py     the CSV                             report.py     the table of targets, from the CSV

Windows of rows over a column; the same for tables is in windows/:
column_case.py what a case is                      columns.py    the data
cases.py       the table of cases and targets      references.py the answers, recomputed from raw rows
sash_calls.py  how Sash is called                  peers.py      how pandas, Polars, DuckDB, … are called
column_field.py checks and measures a case         steps.py      the time of each single step
"""
