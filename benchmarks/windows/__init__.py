"""Windows of time over tables of events, beside Polars and DuckDB.

case.py        what a case is                      events.py     the data
cases.py       the table of cases and targets      references.py all windows and their answers, from raw rows
sash_calls.py  how Sash is called                  peers.py      how Polars and DuckDB are called
field.py       checks and times a case             sql.py        what DuckDB is asked
"""
