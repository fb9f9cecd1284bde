"""What a filter costs beside the same window without it, and a weighted mean beside a mean, pandas and Polars.

case.py    what a case is, and its rows       field.py   checks and times it
cases.py   the table of cases and targets
"""
