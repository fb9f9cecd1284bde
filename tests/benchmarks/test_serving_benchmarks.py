from __future__ import annotations

import pytest

from benchmarks import report
from benchmarks.measure import measure
from benchmarks.serving.case import ServingCase
from benchmarks.serving.cases import CASES
from benchmarks.serving.field import compare

KEYS = 200


@pytest.mark.full
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_case_runs_and_its_answers_are_checked(case: ServingCase) -> None:
    readings = measure(case.at_most(KEYS), repeats=1)
    assert [one.contestant for one in readings] == [contestant.name for contestant in case.contestants]
    assert len(report.judge([case], readings)) == len(case.targets) > 0


def test_a_wrong_answer_is_an_error() -> None:
    compare({"n": 1, "spent": None, "largest": 0.1 + 0.2}, {"n": 1, "spent": None, "largest": 0.3}, 1e-9)
    for wrong in ({"n": 2}, {"n": 1.001}, {"m": 1}, {}):
        with pytest.raises(AssertionError):
            compare(wrong, {"n": 1}, 1e-9)
