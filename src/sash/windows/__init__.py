"""WHERE windows begin and end. One file for each kind; `sash.window` is this package.

by_rows.py      rows(range), rows(range, slide=k)                   by_gap.py       session(gap)
by_time.py      time(range), time(range, slide=s), tumbling,        by_change.py    delta(column, threshold)
                cumulative(range, step)                             by_mark.py      punctuated(column)
                                                                    by_function.py  custom(discretize)
"""

from typing import TYPE_CHECKING

from sash.hints import no_attribute
from sash.windows.base import Window
from sash.windows.by_change import delta
from sash.windows.by_function import custom
from sash.windows.by_gap import session
from sash.windows.by_mark import punctuated
from sash.windows.by_rows import rows
from sash.windows.by_time import cumulative, time, tumbling

__all__ = ["Window", "cumulative", "custom", "delta", "punctuated", "rows", "session", "time", "tumbling"]

HABITS = {
    "rolling": 'window.rows(n) for n rows, or window.time("1h") for a length of time',
    **dict.fromkeys(("hop", "hopping", "sliding", "slide"), 'window.time("1h", slide="10m")'),
    **dict.fromkeys(("tumble", "fixed", "bucket"), 'window.tumbling("1h")'),
    **dict.fromkeys(("expanding", "cumulate"), 'window.cumulative("24h", "1h")'),
    **dict.fromkeys(("sessions", "session_window", "gap"), 'window.session("30m")'),
    **dict.fromkeys(("range", "duration"), 'window.time("1h")'),
    **dict.fromkeys(("count", "row"), "window.rows(n)"),
}
"""What to write instead of the names that other libraries use."""


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # a type checker that sees __getattr__ accepts every name

    def __getattr__(name: str) -> object:
        raise no_attribute("sash.window", name, __all__, HABITS)
