"""Where a query runs.

tables.py   the kinds of data: Arrow, pandas, Polars           passes.py   one pass: rows → slices → results
block.py    rows sorted by key and time, as windows take them   local.py    a plan, run in this process
keys.py     keys as numbers, rows in their order                stream.py   the same, piece by piece
"""
