"""Pictures, as SVG, of windows and of plans. Nothing but pictures imports these.

svg.py       shapes and colours as text                      slices.py   the slices of that stretch
axis.py      where times and rows lie in a picture           window.py   rows, slices and windows, drawn
stretch.py   a short stretch of stream for each window       flow.py     a plan, drawn
shown.py     the windows of that stretch
"""
