"""WHERE windows begin and end. One file for each kind; `sash.window` is this package.

by_rows.py      rows(range), rows(range, slide=k)                   by_gap.py       session(gap)
by_time.py      time(range), time(range, slide=s), tumbling,        by_change.py    delta(column, threshold)
                cumulative(range, step)                             by_mark.py      punctuated(column)
                                                                    by_function.py  custom(discretize)
"""

from sash.windows.base import Window
from sash.windows.by_change import delta
from sash.windows.by_function import custom
from sash.windows.by_gap import session
from sash.windows.by_mark import punctuated
from sash.windows.by_rows import rows
from sash.windows.by_time import cumulative, time, tumbling

__all__ = ["Window", "cumulative", "custom", "delta", "punctuated", "rows", "session", "time", "tumbling"]
