from __future__ import annotations

from typing import Any

import pytest
from helpers.pairwise import some

from benchmarks.flights import delays
from benchmarks.h2o import over, rolling
from benchmarks.questions.case import TableQuestion
from benchmarks.questions.field import compare
from benchmarks.questions.libraries import LIBRARIES, recomputed

ROWS = 120
QUESTIONS = [
    *(question for question in (*delays.QUESTIONS, *rolling.QUESTIONS) if question.spark),
    delays.HOURS_BEFORE,
    delays.SESSIONS,
    rolling.QUESTIONS[-1],
    over.QUESTIONS[-1],
]
"""Where Spark's SQL differs from DuckDB's, or is most likely to mean something else."""


@pytest.mark.parametrize("question", some(QUESTIONS, 4), ids=lambda question: question.name)
def test_spark_gives_the_answers_that_plain_python_gives(spark: Any, question: TableQuestion) -> None:
    rows = spark.createDataFrame(question.rows_of(ROWS))
    rows = rows.selectExpr(
        *(f"CAST({name} AS TIMESTAMP_NTZ)" if name == "departure" else name for name in rows.columns)
    )
    compare(question, LIBRARIES["Spark"].answers(question, rows), recomputed(question, ROWS), 1e-9)
