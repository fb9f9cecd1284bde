from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from helpers.cases import SOAK

from benchmarks import report
from benchmarks.case import Case
from benchmarks.measure import measure
from benchmarks.pages.details import page_of
from benchmarks.query_overhead.case import OverheadCase
from benchmarks.query_overhead.cases import CASES, WARM
from benchmarks.query_overhead.warm import WarmField
from benchmarks.results import reading

ROWS = 300


SAMPLED = (
    "max, no key, rows(1000)",
    "max, sorted keys and time, rows(1000)",
    "rows by key, 1h per row",
    "nulls and min_rows, mean, 1h per row",
    "closed, max, 1h per row",
)
"""The others take long to compile: make soak runs them, and make bench."""


@pytest.mark.full
@pytest.mark.parametrize("case", [case for case in CASES if SOAK or case.name in SAMPLED], ids=lambda case: case.name)
def test_every_case_runs_and_its_answers_are_checked(case: Case) -> None:
    readings = measure(case.at_most(ROWS), repeats=1)
    assert [one.contestant for one in readings] == [contestant.name for contestant in case.contestants]
    assert len(report.judge([case], readings)) == len(case.targets) > 0


def test_a_wrong_answer_is_never_timed() -> None:
    case = CASES[0]
    assert isinstance(case, OverheadCase)
    wrong = replace(case.contestants[0], prepare=lambda table: lambda: pa.array(np.zeros(len(table))))
    with pytest.raises(AssertionError, match=r"Query, 1 thread answers 0.0 at row 0, which is \d+"):
        measure(replace(case, contestants=(wrong,)).at_most(ROWS), repeats=1)


def test_the_queries_of_few_rows_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    field = WarmField(replace(WARM, contestants=WARM.contestants[2:3], rows=ROWS))
    (seconds,) = field.measure(repeats=4).values()
    assert len(seconds) == 4
    monkeypatch.setattr("benchmarks.query_overhead.warm.recomputed", lambda *_: {"rows": 1})
    with pytest.raises(AssertionError, match=r"max over rows\(1000\) comes to"):
        field.measure(repeats=1)


def test_each_target_has_a_case() -> None:
    targets = {case.name: {str(target) for target in case.targets} for case in CASES}
    for aggregate in ("max", "sum", "mean", "stddev"):
        for keys in ("no key", "sorted keys", "sorted keys and time"):
            assert "≤ 1.5 × slide" in targets[f"{aggregate}, {keys}, rows(1000)"]
    assert targets["rows by time, 24h every 1m"] == {"≤ 60", "≥ 1 × fastest peer"}
    for slide in ("7m", "11m", "13m"):
        assert targets[f"rows by time, 24h every {slide}"] == {"≥ 1 × fastest peer"}
    assert "≤ 120" in targets["rows by time, 1h per row"]
    assert "≤ 25" in targets["rows by key, 1h per row"]
    assert targets["1 K rows, warm"] == {"≤ 0.0004"}
    assert len(targets) == len(CASES)


def test_the_page_shows_times_of_calls() -> None:
    written = page_of("query_overhead", [reading(WARM, one, [0.0007], WARM.rows, None) for one in WARM.contestants])
    assert "| 1 K rows, warm | max over rows(1000) | 700 µs | 1,000 |  |" in written
