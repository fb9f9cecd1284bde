"""Pictures, as SVG, of windows and of plans.

sample.py     the rows, windows and slices of a picture        svg.py        shapes and colours as text
timeline.py   rows, slices and windows along an axis           flowchart.py  a plan as columns of boxes
"""
