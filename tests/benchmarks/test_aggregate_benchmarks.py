from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from helpers.cases import SOAK

from benchmarks import report
from benchmarks.aggregates.case import AggregateCase
from benchmarks.aggregates.cases import CASES
from benchmarks.case import Case
from benchmarks.measure import measure
from benchmarks.pages.details import page_of
from benchmarks.results import reading
from sash.aggregates import BUILT_IN

ROWS = 300
SAMPLED = ("collect, rows(200)", "top_k, 1d every 1h", "per_value, rows(200)", "last_n, rows(200) on a stream")
"""The others take long to compile: make soak runs them, and make bench."""


@pytest.mark.full
@pytest.mark.parametrize("case", [case for case in CASES if SOAK or case.name in SAMPLED], ids=lambda case: case.name)
def test_every_case_runs_and_its_answers_are_checked(case: Case) -> None:
    readings = measure(case.at_most(ROWS), repeats=1)
    assert [one.contestant for one in readings] == [contestant.name for contestant in case.contestants]
    assert len(report.judge([case], readings)) == len(case.targets) > 0


def test_a_wrong_answer_is_never_timed() -> None:
    case = next(case for case in CASES if case.name == "collect, rows(200)")
    assert isinstance(case, AggregateCase)
    nothing = [None] * ROWS
    wrong = replace(
        case.contestants[1],
        prepare=lambda table: lambda: table.append_column("answer", pa.array(nothing[: len(table)], pa.float64())),
    )
    with pytest.raises(AssertionError, match="Sash answers None at"):
        measure(replace(case, contestants=(wrong,)).at_most(ROWS), repeats=1)


def test_each_aggregate_has_its_targets() -> None:
    targets = {case.name: {str(target) for target in case.targets} for case in CASES}
    for name in BUILT_IN:
        assert targets[f"{name}, rows(200)"] >= {"≤ 20 × max", "≤ 20 × max with NumPy"}
        assert targets[f"{name}, 1d every 1h"] == {"≤ 20 × max", "≤ 20 × max with NumPy"}
        assert targets[f"{name}, rows(200) on a stream"] == {"≤ 20 × max"}
    assert "≥ 1 × DuckDB" in targets["collect, rows(200)"]
    assert len(targets) == len(CASES) == 3 * len(BUILT_IN)


def test_the_page_shows_aggregates() -> None:
    case = CASES[0]
    written = page_of("aggregates", [reading(case, one, [5.0], case.rows, None) for one in case.contestants])
    assert "# Every aggregate" in written
    assert f"| {case.name} | Sash | 5.0 ns |" in written
