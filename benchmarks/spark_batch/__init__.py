"""Queries on Spark's DataFrames, beside Spark's own ways.

case.py        what a case is                      data.py      the data, made by Spark
cases.py       the table of cases and targets      native.py    how Spark itself is asked
sash_calls.py  how Sash is asked                   answers.py   compares answers
field.py       checks and times a case             memory.py    what Python's workers take
session.py     the session that all share
"""
