"""The table of cases: a result per row and one per window, over 32 M rows of 10,000 keys, with 256 MB."""

from __future__ import annotations

from benchmarks.larger_than_memory.case import MEASURES, FileCase, FileQuestion

ROWS = 32_000_000
FRAMES = """\
SELECT *, max(x) OVER (PARTITION BY key ORDER BY ts ROWS BETWEEN 99 PRECEDING AND CURRENT ROW) AS high FROM '{path}'"""
PER_ROW = FileQuestion(
    name="the highest of the last 100 rows of a key",
    window="rows(100)",
    sash=FRAMES,
    duckdb=FRAMES,
    identify="ts",
    answers=("high",),
)
PER_WINDOW = FileQuestion(
    name="a day, every 6 hours, by key",
    window='time("1d", slide="6h")',
    sash="SELECT key, max(x) AS high, avg(y) AS mean FROM '{path}' [RANGE 1 DAY SLIDE 6 HOURS ON ts] GROUP BY key",
    duckdb="""\
WITH copies AS (
  SELECT key, x, y, unnest([time_bucket(INTERVAL 6 HOURS, ts) - i * INTERVAL 6 HOURS for i in range(4)]) AS window_start FROM '{path}')
SELECT key, window_start, max(x) AS high, avg(y) AS mean FROM copies GROUP BY key, window_start""",
    identify="window_start",
    answers=("high", "mean"),
)
QUESTIONS = (PER_ROW, PER_WINDOW)
CASES: tuple[FileCase, ...] = tuple(
    FileCase(
        name=f"{question.name}, {shown}",
        aggregate="max" if question is PER_ROW else "max, mean",
        question=question,
        measure=measure,
        rows=ROWS,
    )
    for question in QUESTIONS
    for shown, measure in MEASURES.items()
)
