"""Pictures for the documentation, drawn from the state of running algorithms: python -m tools.pictures writes them.

recorded.py   letters as rows: a partial shows which rows it holds; calls of combine and inverse are recorded
state.py      the partials of an algorithm as bars over the rows that they hold
trees.py      trees over slots, search trees and B-trees
values.py     algorithms whose state depends on the values of rows
cost_chart.py the combines of each slide, counted
facts.py      order, laws and costs of an algorithm as a table, for its page
gallery.py    all pictures by the name of their file
"""
