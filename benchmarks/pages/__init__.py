"""The pages about speed, written from the CSVs and nothing else: `python -m benchmarks.pages`.

front.py    docs/benchmarks.md: should I use Sash? One screen
details.py  docs/benchmarks/…: all numbers of a suite, and why they are so
readme.py   the sentence with numbers in README.md
sizing.py   docs/sizing.md: how large a stream gets, and the coefficients of `sash size`
tables.py   Markdown tables, and the line that says where and when
"""
