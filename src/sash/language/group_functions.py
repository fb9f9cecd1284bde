"""Functions in GROUP BY → windows: of Spark, of older Flink, and those that round a time down.

GROUP BY window(ts, '1 hour', '1 minute')            time("1h", slide="1m")       window.start, window.end
GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)               tumbling("1h")               TUMBLE_START(…), TUMBLE_END(…)
GROUP BY time_bucket(INTERVAL '5 minutes', ts)       tumbling("5m")               the call itself is window_start
GROUP BY date_trunc('hour', ts)                      tumbling("1h")
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from sqlglot import exp

from sash import windows
from sash.durations import read_duration
from sash.expressions import Expression
from sash.language.aggregate_calls import literal
from sash.language.clause import Clause, Length, length_of
from sash.language.grammar import column_name, is_name
from sash.language.source_text import SourceText
from sash.language.sql_error import errors_at, fail
from sash.windows import Window

START, END = "window_start", "window_end"
BOUNDS = {"start": START, "end": END}
"""The fields of Spark's struct `window`, and the columns of the results."""
TRUNCATED = {
    **{unit: f"1{short}" for unit, short in {"second": "s", "minute": "m", "hour": "h", "day": "d"}.items()},
    **{unit: f"1{short}" for unit, short in {"month": "mo", "quarter": "q", "year": "y"}.items()},
}
"""The windows of `date_trunc` by its units, besides weeks."""
MONDAY = "4d"
"""The first Monday of 1970 is the fifth of January: weeks of seven days begin on Mondays with this offset."""
BUCKET_ORIGIN = datetime(2000, 1, 3, tzinfo=UTC)
"""Where DuckDB and Timescale begin to count buckets: a Monday. Those of months begin with the year 2000."""
ORIGIN_MONTHS = 360
"""The months from 1970 to 2000."""
NANOSECONDS = 10**9
WHOLE_UNITS = {"h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3}
"""Nanoseconds of a unit, the largest first. A bucket of a day has 24 hours in every zone."""
ROWTIME = "{end} - INTERVAL 1 MILLISECOND"
"""Flink's time attribute of a window: its last millisecond."""
WINDOW_TIME = "{end} - INTERVAL 1 MICROSECOND"
"""Spark's time attribute of a window: its last microsecond."""
TRUNCATING = ("time_bucket", "date_trunc")
"""Functions that every engine has: they return where the window of a time begins."""
GROUP_WINDOWS = ("tumble", "hop", "session")


@dataclass(frozen=True)
class GroupFunction:
    """A function in GROUP BY."""

    usage: str
    window: Callable[..., Window]
    """Makes the window of the arguments besides the time."""
    time: int = 0
    """The place of the time among the arguments."""


def time_bucket(node: Any, width: Length, offset: Length = None) -> Window:
    """Return the window of `time_bucket(width, ts, offset)`. Its buckets count from January 2000, not from 1970.

    >>> time_bucket(None, "5m"), time_bucket(None, "1w"), time_bucket(None, "7h"), time_bucket(None, "6h", "1h")
    (tumbling("5m"), tumbling("168h", offset="96h"), tumbling("7h", offset="5h"), tumbling("6h", offset="1h"))
    """
    length = read_duration(width, "width", months=True)
    if length.months:
        if ORIGIN_MONTHS % length.months or offset is not None:
            fail(
                node,
                "Buckets of months count from January 2000. Use a number of months that divides 360, without an offset.",
            )
        return windows.tumbling(width, tz="UTC")  # in every zone, as those of days
    if not length.is_time:
        fail(
            node,
            "time_bucket needs a duration, as in time_bucket(INTERVAL '5 minutes', ts). For numbers, use [TUMBLE 5 ON t].",
        )
    shift = 0 if offset is None else read_duration(offset, "offset", at_least=-(2**62)).amount
    origin = round(BUCKET_ORIGIN.timestamp()) * NANOSECONDS
    begin = (origin + shift) % length.amount
    unit = next(
        (unit for unit, ticks in WHOLE_UNITS.items() if length.amount % ticks == 0 and begin % ticks == 0), None
    )
    if unit is None:
        fail(node, "time_bucket takes whole microseconds.")
    ticks = WHOLE_UNITS[unit]
    return windows.tumbling(f"{length.amount // ticks}{unit}", offset=f"{begin // ticks}{unit}" if begin else None)


def date_trunc(node: Any, unit: Length, tz: str | None = None) -> Window:
    """Return the window of `date_trunc('hour', ts)`.

    >>> date_trunc(None, "hour"), date_trunc(None, "WEEK"), date_trunc(None, "month", "Europe/Berlin")
    (tumbling("1h"), tumbling("7d", offset="4d"), tumbling("1mo", tz="Europe/Berlin"))
    """
    name = str(unit).lower()
    if name == "week":
        return windows.tumbling("1w", tz=tz) if tz else windows.tumbling("7d", offset=MONDAY)
    if name not in TRUNCATED:
        fail(node, f"date_trunc takes {', '.join(TRUNCATED)} or week.")
    if tz is not None and name in ("second", "minute", "hour"):
        _check_whole_hours(tz)
        tz = None
    return windows.tumbling(TRUNCATED[name], tz=tz)


def _check_whole_hours(tz: str) -> None:
    """Raise ValueError if hours of a zone are not hours of UTC."""
    times = [datetime(year, month, 1, tzinfo=ZoneInfo(tz)) for year in (1970, 2000, 2025) for month in (1, 7)]
    if any((time.utcoffset() or BUCKET_ORIGIN - BUCKET_ORIGIN).total_seconds() % 3600 for time in times):
        problem = f"Hours of the session's zone {tz} do not begin with those of UTC"
        raise ValueError(f"{problem}. Write the offset: FROM t [TUMBLE 1 HOUR OFFSET 30 MINUTES ON ts].")


def _hop(slide: Length, size: Length, offset: Length = None) -> Window:
    return windows.time(size, slide=slide, offset=offset)


def _window(size: Length, slide: Length = None, offset: Length = None) -> Window:
    return windows.time(size, slide=slide or size, offset=offset)


def _tumble(size: Length, offset: Length = None) -> Window:
    return windows.tumbling(size, offset=offset)


GROUP_FUNCTIONS = {
    "window": GroupFunction("window(ts, '1 hour')", _window),
    "session_window": GroupFunction("session_window(ts, '10 minutes')", windows.session),
    "tumble": GroupFunction("TUMBLE(ts, INTERVAL '1' HOUR)", _tumble),
    "hop": GroupFunction("HOP(ts, INTERVAL '1' MINUTE, INTERVAL '1' HOUR)", _hop),
    "session": GroupFunction("SESSION(ts, INTERVAL '10' MINUTE)", windows.session),
    "time_bucket": GroupFunction("time_bucket(INTERVAL '5 minutes', ts)", time_bucket, time=1),
    "date_trunc": GroupFunction("date_trunc('hour', ts)", date_trunc, time=1),
}
"""Functions in GROUP BY by name."""
STRUCTS = ("window", "session_window")
"""Functions that return a struct with the bounds of the window."""
PARTS = {
    **{f"{name}_start": START for name in GROUP_WINDOWS},
    **{f"{name}_end": END for name in GROUP_WINDOWS},
    **{f"{name}_rowtime": ROWTIME for name in GROUP_WINDOWS},
}
"""What functions of the select list return, by name: columns of the results, or SQL over them."""


def is_group_function(node: Any) -> bool:
    """Return whether a node is `window(…)` or another function that makes windows in GROUP BY."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in GROUP_FUNCTIONS


def group_functions(group: Iterable[Any]) -> list[Any]:
    """Return the members of GROUP BY that make windows."""
    return list(filter(is_group_function, group))


def of_group_function(node: exp.Anonymous) -> Clause:
    """Return the clause of a function in GROUP BY."""
    name = node.name.lower()
    function = GROUP_FUNCTIONS[name]
    if len(node.expressions) <= function.time:
        fail(node, f"{node.name} needs the time column, as in {function.usage}.")
    arguments = list(node.expressions)
    time = arguments.pop(function.time)
    if name in TRUNCATING and not is_name(time):
        fail(time, f"{node.name} takes a column. Compute the time in a subquery: FROM (SELECT *, … AS t FROM …).")  # noqa: S608 — a message
    for one in arguments:
        if name == "date_trunc" and not (isinstance(one, exp.Literal) and one.is_string):
            fail(one, "date_trunc takes a unit in quotes, then the time, as in date_trunc('hour', ts).")
        if isinstance(one, exp.Cast):  # TIMESTAMP '2025-01-01'
            fail(
                one,
                f"{node.name} takes an offset, not an origin, as in time_bucket(INTERVAL '1 day', ts, INTERVAL '6 hours').",
            )
    lengths = [literal(one) if name == "date_trunc" else length_of(one) for one in arguments]
    with errors_at(node):
        try:
            own = (node,) if name in TRUNCATING else ()
            window = function.window(*own, *lengths)
        except TypeError as error:
            if "argument" not in str(error):
                raise
            fail(node, f"{node.name} has other arguments. Use {function.usage}.")
    in_zone = (lambda zone: date_trunc(node, lengths[0], zone)) if name == "date_trunc" else None
    return Clause({window.kind: window}, time=column_name(time), in_zone=in_zone)


def window_time(source: SourceText, node: Any) -> Expression | None:
    """Return SQL for Flink's column `window_time`; None for other columns."""
    is_named = isinstance(node, exp.Column) and len(node.parts) == 1 and node.name.lower() == "window_time"
    return Expression(ROWTIME.format(end=source.quoted(END))) if is_named else None


def part_of(source: SourceText, node: Any, functions: Iterable[Any]) -> str | Expression | None:
    """Return what a function of the select list stands for: a column of the results, or SQL over them; None for other nodes.

    `functions` are those in GROUP BY. Raise NodeError if the arguments are not those of GROUP BY.
    """
    if not isinstance(node, exp.Anonymous):
        return None
    name, kinds = node.name.lower(), {function.name.lower() for function in functions}
    if name in TRUNCATING and source.normal(node) in map(source.normal, functions):
        return START
    if name == "window_time" and [one.name.lower() for one in node.expressions] == ["window"] and "window" in kinds:
        return Expression(WINDOW_TIME.format(end=source.quoted(END)))
    kind = name.rpartition("_")[0]
    if name not in PARTS or kind not in kinds:
        return None
    function = next(function for function in functions if function.name.lower() == kind)
    if [*map(source.normal, node.expressions)] != [*map(source.normal, function.expressions)]:
        fail(node, f"{node.name} needs the arguments of {function.name} in GROUP BY.")
    part = PARTS[name]
    return part if part in (START, END) else Expression(part.format(end=source.quoted(END)))
