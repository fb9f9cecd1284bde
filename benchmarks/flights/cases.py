"""The table of cases."""

from __future__ import annotations

from benchmarks.flights.data import MOST
from benchmarks.flights.delays import QUESTIONS
from benchmarks.questions.case import QuestionCase, ask

CASES: tuple[QuestionCase, ...] = tuple(ask(question, MOST) for question in QUESTIONS)
