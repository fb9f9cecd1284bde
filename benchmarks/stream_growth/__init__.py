"""What a stream costs as its keys and slices grow, beside Spark's own aggregation.

case.py    what a case is                      one_stream.py  one stream in a process of its own
cases.py   the table of cases and targets      digest.py      what the results must come to, from the raw rows
data.py    rows that arrive in micro-batches   field.py       starts the processes, checks and measures
"""
