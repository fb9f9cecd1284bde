"""The table of cases: ten rolling questions, then twelve window questions."""

from __future__ import annotations

from benchmarks.h2o import over, rolling
from benchmarks.h2o.data import MOST
from benchmarks.questions.case import QuestionCase, ask

ROLLING: tuple[QuestionCase, ...] = tuple(ask(question, MOST) for question in rolling.QUESTIONS)
OVER: tuple[QuestionCase, ...] = tuple(ask(question, MOST) for question in over.QUESTIONS)
CASES = (*ROLLING, *OVER)
