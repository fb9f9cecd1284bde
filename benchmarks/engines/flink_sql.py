"""How Flink is asked: its SQL.

Windows of time are window table functions, which share slices. PyFlink's own aggregates work only with the older GROUP BY HOP(…).
"""

# ruff: noqa: S608 — the names in the SQL are our own

from __future__ import annotations

from datetime import datetime

from benchmarks.engines.events import Events
from benchmarks.engines.questions import OWN, SECOND, StreamQuestion

RATE = 1_000_000_000
"""Events a second: more than there can be."""
COLUMNS = {"peak": "MAX(x)", "mean": "AVG(x)", "n": "COUNT(*)", "middle": "geometric_mean(x)"}
BLOCK_OF_EVENTS = 100
"""The events of a line, where events arrive on a socket."""
SAMPLED = 8
"""Of results with so many or twice, three times, … so many events, the time is written: one in eight or so."""
TYPES = {"peak": "DOUBLE", "mean": "DOUBLE", "n": "BIGINT", "middle": "DOUBLE"}


def source(events: Events) -> str:
    """Return the table of events."""
    computed = ", ".join(f"`{name}` AS {expression}" for name, expression in columns(events).items())
    return f"""CREATE TEMPORARY TABLE events (
  n BIGINT, {computed},
  WATERMARK FOR ts AS ts - {interval(events.delay)}
) WITH ({datagen(events.count)})"""


def datagen(count: int) -> str:
    """Return the connector that has the numbers from 0 on."""
    return f"""'connector' = 'datagen', 'rows-per-second' = '{RATE}',
  'fields.n.kind' = 'sequence', 'fields.n.start' = '0', 'fields.n.end' = '{count - 1}'"""


def columns(events: Events) -> dict[str, str]:
    """Return the columns that are computed from n."""
    sql = events.sql
    return {"key": sql["key"], "x": sql["x"], "ts": f"TO_TIMESTAMP_LTZ({sql['ms']}, 3)"}


def numbers_of_blocks() -> str:
    """Return the numbers of the events of blocks, whose own numbers are text.

    >>> numbers_of_blocks()[:64]
    'SELECT CAST(f0 AS BIGINT) * 100 + i AS n FROM (SELECT f0, ARRAY['
    """
    places = ", ".join(map(str, range(BLOCK_OF_EVENTS)))
    blocks = f"(SELECT f0, ARRAY[{places}] AS places FROM blocks)"
    return f"SELECT CAST(f0 AS BIGINT) * {BLOCK_OF_EVENTS} + i AS n FROM {blocks} CROSS JOIN UNNEST(places) AS place(i)"


def sink(question: StreamQuestion, path: str) -> str:
    """Return the table of results: nowhere, or CSV files."""
    columns = ", ".join(f"{name} {TYPES[name]}" for name in question.columns)
    places = "span BIGINT, `key` BIGINT, begins TIMESTAMP(3), ends TIMESTAMP(3)"
    return f"CREATE TEMPORARY TABLE results ({places}, {columns}) WITH ({where_results_go(path)})"


def where_results_go(path: str) -> str:
    """Return the connector of results: nowhere, or CSV files."""
    files = f"'connector' = 'filesystem', 'path' = 'file://{path}', 'format' = 'csv'"
    return files if path else "'connector' = 'blackhole'"


def sink_of_times(path: str) -> str:
    """Return the table of the ends of windows, each with the time at which a result was emitted."""
    return f"CREATE TEMPORARY TABLE results (ends TIMESTAMP(3), emitted TIMESTAMP(3)) WITH ({where_results_go(path)})"


def results_with_times(question: StreamQuestion) -> str:
    """Return the query whose results have times. The filter needs the results: it cannot move to the events."""
    answers = ", ".join(["span", "`key`", "begins", "ends", *question.columns])
    now = "CAST(CURRENT_TIMESTAMP AS TIMESTAMP(3))"
    return f"SELECT ends, {now} FROM ({select(question)}) AS answers({answers}) WHERE MOD(n, {SAMPLED}) = 0"


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


def milliseconds(text: str) -> int:
    """Return a time of Flink's CSV in milliseconds.

    >>> milliseconds("1970-01-01 00:01:00.5")
    60500
    """
    return int(datetime.fromisoformat(f"{text.partition('.')[0]}+00:00").timestamp()) * SECOND + int(
        text.partition(".")[2].ljust(3, "0")
    )
