"""The time to the first result as a user experiences it: in fresh processes, imports included.

python -m benchmarks.first_answer            all cases: checked, timed, written to results/first_answer.csv, printed with their targets
python -m benchmarks.first_answer --quick    1,000 rows, each process once, to see that everything runs; writes nothing

case.py        what a case is                      data.py         the rows, in files
cases.py       the table of cases and targets      field.py        checks and times a case
processes.py   starts the processes                summary.py      the table of targets: the slowest query of each

The processes. They import nothing but the library that they measure, so none imports another module of the benchmarks:
answer.py      one query in one library            ask_sash.py, ask_pandas.py, ask_polars.py, ask_duckdb.py   the queries
on_cluster.py  the first queries of new executors  first_batch.py  the first micro-batch of a stream
"""
