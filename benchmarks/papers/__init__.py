"""The experiments of the papers that Sash implements, repeated with its own compiled algorithms.

python -m benchmarks.papers.page       draws docs/images/papers and writes docs/papers.md from the CSV

data.py, debs.py      the data: random numbers; readers of the DEBS 2012 and 2014 files, and generators in their place
counting.py           counted combines, and the items that a window holds
slicing.py            panes, pairs and Cutty, counted
runs.py               how a contestant runs
references.py         the right answers, from raw rows
case.py, field.py     a case, and how it is checked and measured
cases.py              the table of cases, by figure
claims.py             what the papers say, and the same computed from the CSV
figures.py, plot.py   which lines a figure has, and how it is drawn
page.py, reasons.md   the page, and why results differ
"""
