"""The table of cases: each question, its time and its memory."""

from __future__ import annotations

from benchmarks.questions.case import QuestionCase, ask
from benchmarks.workloads.asked import QUESTIONS
from benchmarks.workloads.case import MemoryCase

ROWS = 4_000_000
IN_PROCESS = ("Sash", "DuckDB", "Polars", "pandas")
TIMES: tuple[QuestionCase, ...] = tuple(ask(question, ROWS) for question in QUESTIONS)
MEMORIES: tuple[MemoryCase, ...] = tuple(
    MemoryCase(
        name=f"{case.name}, memory",
        aggregate=case.aggregate,
        question=case.question,
        contestants=[one for one in case.contestants if one.name in IN_PROCESS],
        rows=ROWS,
    )
    for case in TIMES
)
CASES = (*TIMES, *MEMORIES)
