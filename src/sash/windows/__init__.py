"""The kinds of windows: where windows begin and end. Users import this package as `sash.window`.

One result per row:

    rows(100)                    the last 100 rows
    rows(before=49, after=50)    49 rows before, the row, and 50 rows after it
    lag(), lead(2)               the row before; the second row after
    time("1h")                   the rows of the last hour
    time(before="1h", after="30m")   from an hour before the row to half an hour after it
    expanding()                  all rows up to the row
    delta("km", 10)              the last rows whose km differ by at most 10

One result per window:

    rows(100, slide=10)          the last 100 rows, after every 10th row
    time("1h", slide="10m")      an hour, every ten minutes
    tumbling("1h")               hours that do not overlap
    tumbling("1mo")              months
    tumbling("1d", tz="Europe/Berlin")   days that begin at midnight in Berlin
    cumulative("24h", "1h")      the day so far, every hour
    session("30m")               rows with at most 30 minutes between neighbours
    delta("km", 10, slide=5)     as above, each time km has moved by 5
    punctuated("paid")           rows up to each row whose column is true
    custom(discretize)           windows that your own function begins and ends

>>> from sash import window
>>> window.time("1h", slide="10m")
time("1h", slide="10m")
"""

from typing import TYPE_CHECKING

from sash.hints import no_attribute
from sash.windows.by_column import delta, punctuated
from sash.windows.by_function import custom
from sash.windows.by_gap import session
from sash.windows.by_rows import lag, lead, rows
from sash.windows.by_time import cumulative, expanding, time, tumbling
from sash.windows.window import Window

# fmt: off
__all__ = [
    "Window", "cumulative", "custom", "delta", "expanding", "lag", "lead", "punctuated", "rows", "session", "time",
    "tumbling",
]
# fmt: on

NAMES_ELSEWHERE = {
    "rolling": 'window.rows(n) for n rows, or window.time("1h") for a length of time',
    **dict.fromkeys(("hop", "hopping", "sliding", "slide"), 'window.time("1h", slide="10m")'),
    **dict.fromkeys(("tumble", "fixed", "bucket"), 'window.tumbling("1h")'),
    **dict.fromkeys(("cumulate",), 'window.cumulative("24h", "1h")'),
    **dict.fromkeys(("sessions", "session_window", "gap"), 'window.session("30m")'),
    **dict.fromkeys(("range", "duration"), 'window.time("1h")'),
    **dict.fromkeys(("count", "row"), "window.rows(n)"),
    **dict.fromkeys(("shift", "prev", "previous"), "window.lag(1)"),
}
"""What to write instead of the names that other libraries use."""


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # a type checker that sees __getattr__ accepts every name

    def __getattr__(name: str) -> object:
        raise no_attribute("sash.window", name, __all__, NAMES_ELSEWHERE)
