"""How Flink is asked: its SQL.

Windows of time are window table functions, which share slices. PyFlink's own aggregates work only with the older GROUP BY HOP(…).
"""

# ruff: noqa: S608 — the names in the SQL are our own

from __future__ import annotations

from benchmarks.engines.events import Events
from benchmarks.engines.questions import OWN, SECOND, StreamQuestion

RATE = 1_000_000_000
"""Events a second: more than there can be."""
COLUMNS = {"peak": "MAX(x)", "mean": "AVG(x)", "n": "COUNT(*)", "middle": "geometric_mean(x)"}
TYPES = {"peak": "DOUBLE", "mean": "DOUBLE", "n": "BIGINT", "middle": "DOUBLE"}


def source(events: Events) -> str:
    """Return the table of events."""
    sql = events.sql
    return f"""CREATE TEMPORARY TABLE events (
  n BIGINT, key AS {sql["key"]}, x AS {sql["x"]}, ts AS TO_TIMESTAMP_LTZ({sql["ms"]}, 3),
  WATERMARK FOR ts AS ts - {interval(events.delay)}
) WITH ('connector' = 'datagen', 'rows-per-second' = '{RATE}',
  'fields.n.kind' = 'sequence', 'fields.n.start' = '0', 'fields.n.end' = '{events.count - 1}')""".replace(
        " key ", " `key` "
    )


def sink(question: StreamQuestion, path: str) -> str:
    """Return the table of results: nowhere, or CSV files."""
    columns = ", ".join(f"{name} {TYPES[name]}" for name in question.columns)
    where = (
        f"'connector' = 'filesystem', 'path' = 'file://{path}', 'format' = 'csv'"
        if path
        else "'connector' = 'blackhole'"
    )
    return f"CREATE TEMPORARY TABLE results (span BIGINT, `key` BIGINT, begins TIMESTAMP(3), ends TIMESTAMP(3), {columns}) WITH ({where})"


def interval(milliseconds: int) -> str:
    """Return an interval.

    >>> interval(3_600_000), interval(100)
    ("INTERVAL '1:00:00.000' HOUR TO SECOND(3)", "INTERVAL '0:00:00.100' HOUR TO SECOND(3)")
    """
    seconds, rest = divmod(milliseconds, SECOND)
    return f"INTERVAL '{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:03}' HOUR TO SECOND(3)"


def select(question: StreamQuestion) -> str:
    """Return the query."""
    return " UNION ALL ".join(_select(question, length) for length in question.lengths)


def first_select(question: StreamQuestion) -> str:
    """Return the query for the first window alone."""
    return _select(question, question.lengths[0])


def _select(question: StreamQuestion, length: int) -> str:
    answers = ", ".join(COLUMNS[name] for name in question.columns)
    slide = interval(question.slide)
    if question.per_row:
        frame = (
            f"ROWS BETWEEN {length - 1} PRECEDING AND CURRENT ROW"
            if question.form == "rows"
            else f"RANGE BETWEEN {interval(length - 1)} PRECEDING AND CURRENT ROW"  # without the row at its beginning
        )
        answers = ", ".join(f"{COLUMNS[name]} OVER w" for name in question.columns)
        return f"""SELECT {length}, `key`, CAST(ts AS TIMESTAMP(3)), CAST(ts AS TIMESTAMP(3)), {answers}
FROM events WINDOW w AS (PARTITION BY `key` ORDER BY ts {frame})"""
    if question.columns == OWN:
        hop = f"HOP(ts, {slide}, {interval(length)})"
        start, end = (hop.replace("HOP", f"HOP_{edge}") for edge in ("START", "END"))
        return f"SELECT {length}, `key`, {start}, {end}, {answers} FROM events GROUP BY `key`, {hop}"
    if question.form == "session":
        windows = f"SESSION(TABLE events PARTITION BY `key`, DESCRIPTOR(ts), {interval(length)})"
    elif question.slide == length:
        windows = f"TUMBLE(TABLE events, DESCRIPTOR(ts), {interval(length)})"
    else:
        windows = f"HOP(TABLE events, DESCRIPTOR(ts), {slide}, {interval(length)})"
    return f"""SELECT {length}, `key`, window_start, window_end, {answers}
FROM TABLE({windows}) GROUP BY `key`, window_start, window_end"""
