"""Every aggregate of `sash.agg` beside max, and beside DuckDB where it has it: no aggregate is a cliff.

calls.py   every aggregate, and what DuckDB calls it     field.py   checks and times it
case.py    what a case is, and its rows                  cases.py   the table of cases and targets
"""
