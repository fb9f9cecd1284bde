"""CUT: the stream at the edges of windows, so that the rows between two edges are kept as one partial.

edges.py        where panes, pairs and Cutty cut, for one window and for many at once
cuts.py         rows cut there: records of slices, and windows as stretches of records
borders.py      where slices stay apart that wait for later rows, whatever order the rows come in
open_slice.py   the slice that rows go into
"""
