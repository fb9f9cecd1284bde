"""Many rows on Spark: windows of time, windows of rows, and labels; on one core and on two. The rows are computed where they are read.

case.py    what a case is               one_run.py   one run in a session of its own
cases.py   the table of cases           field.py     starts the sessions, and compares the results
asked.py   the questions, and the ways to answer them
"""
