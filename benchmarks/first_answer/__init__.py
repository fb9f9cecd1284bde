"""The time to the first result as a user experiences it: in fresh processes, imports included.

case.py        what a case is                      data.py         the rows, in files
cases.py       the table of cases and targets      field.py        checks and times a case
processes.py   starts the processes                summary.py      the table of targets: the slowest query of each

The processes. They import nothing but the library that they measure, so none imports another module of the benchmarks:
answer.py      one query in one library            ask_sash.py, ask_pandas.py, ask_polars.py, ask_duckdb.py   the queries
on_cluster.py  the first queries of new executors  first_batch.py  the first micro-batch of a stream
"""
