"""The pictures of the documentation, drawn from the CSVs and nothing else: `python -m benchmarks.plots`.

style.py    what all have in common: colours, axes, lines with names at their ends, the line of facts
lines.py    lines against what grows: range, rows, keys, …
dots.py     a line for each query with a dot for each contestant: Nexmark
"""
