"""A file of four times the memory that may be used, by `sash run` and by DuckDB: the time, and the most memory.

data.py        the file                     cases.py       the questions, in the words of each
case.py        what a case is               field.py       starts the processes, and compares what they have written
one_run.py     runs one command, and tells its time and memory
ask_duckdb.py  DuckDB with a limit of memory
"""
