"""The table of cases: each question, its time and its memory."""

from __future__ import annotations

from benchmarks.questions.case import QuestionCase, ask
from benchmarks.workloads.asked import QUESTIONS

ROWS = 4_000_000
TIMES: tuple[QuestionCase, ...] = tuple(ask(question, ROWS) for question in QUESTIONS)
CASES = TIMES
