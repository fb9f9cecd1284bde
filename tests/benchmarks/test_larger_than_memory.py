"""The file of four times the memory: its rows, its answers, and what is measured."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.case import MEMORY, SECONDS
from benchmarks.larger_than_memory import data, field
from benchmarks.larger_than_memory.case import FileQuestion
from benchmarks.larger_than_memory.cases import CASES, PER_ROW, QUESTIONS
from benchmarks.larger_than_memory.data import parts_of, written
from benchmarks.larger_than_memory.field import FileRun, run
from benchmarks.measure import measure

ROWS = 5_000


def test_rows_come_in_no_order_and_no_time_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "PART", 2_000)
    parts = list(parts_of(ROWS))
    assert [len(part) for part in parts] == [2_000, 2_000, 1_000]
    times = np.concatenate([part["ts"].cast(pa.int64()).to_numpy() for part in parts])
    assert len(np.unique(times)) == ROWS
    assert (np.diff(times) < 0).any()
    assert {part.schema for part in parts} == {data.SCHEMA}


@pytest.mark.full
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_both_give_the_same_answers(question: FileQuestion) -> None:
    done = {name: run(name, question, ROWS) for name in ("Sash", "DuckDB")}
    field.check("Sash", done["Sash"].digest, done["DuckDB"].digest)
    results = done["Sash"].digest["rows"]
    assert results == ROWS if question is PER_ROW else results > ROWS / 100  # a window holds many rows
    assert all(one.seconds > 0 and one.megabytes > 10 for one in done.values())
    assert written(ROWS).exists()


def test_wrong_answers_are_no_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = {"Sash": FileRun(1.5, 300.0, {"rows": 2.0}), "DuckDB": FileRun(2.0, 200.0, {"rows": 2.0})}
    monkeypatch.setattr(field, "run", lambda name, *_: runs[name])
    values = {case.measure: [one.value for one in measure(case)] for case in CASES[:2]}
    assert values == {SECONDS: [1.5, 2.0], MEMORY: [300.0, 200.0]}
    runs["Sash"] = FileRun(1.5, 300.0, {"rows": 3.0})
    with pytest.raises(AssertionError, match=r"Sash has 3\.0 rows, where 2\.0 is right"):
        measure(CASES[0])
