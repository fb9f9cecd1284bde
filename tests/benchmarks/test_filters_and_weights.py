from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.cases import SOAK

from benchmarks import report
from benchmarks.case import Case
from benchmarks.filters_and_weights.case import WeightCase
from benchmarks.filters_and_weights.cases import CASES
from benchmarks.measure import measure

ROWS = 300
SAMPLED = ("where, max, rows(1000)", "ewm_mean, half_life, expanding()", "ewm_mean, alpha, expanding()")
"""The others take long to compile: make soak runs them, and make bench."""


@pytest.mark.full
@pytest.mark.parametrize("case", [case for case in CASES if SOAK or case.name in SAMPLED], ids=lambda case: case.name)
def test_every_case_runs_and_its_answers_are_checked(case: Case) -> None:
    readings = measure(case.at_most(ROWS), repeats=1)
    assert [one.contestant for one in readings] == [contestant.name for contestant in case.contestants]
    assert len(report.judge([case], readings)) == len(case.targets) > 0


def test_a_wrong_answer_is_never_timed() -> None:
    case = CASES[0]
    assert isinstance(case, WeightCase)
    wrong = replace(case.contestants[1], prepare=lambda table: lambda: np.zeros(len(table)))
    with pytest.raises(AssertionError, match=r"where answers 0.0 at row \d+, which is"):
        measure(replace(case, contestants=(wrong,)).at_most(ROWS), repeats=1)


def test_each_target_has_a_case() -> None:
    targets = {case.name: {str(target) for target in case.targets} for case in CASES}
    for shown in ("rows(1000)", "1h per row"):
        assert all(targets[f"where, {name}, {shown}"] == {"≤ 1.5 × without"} for name in ("max", "sum", "mean"))
    for which in ("half_life", "alpha"):
        assert targets[f"ewm_mean, {which}, rows(1000)"] == {"≤ 2 × mean"}
        assert targets[f"ewm_mean, {which}, expanding()"] == {"≤ 2 × mean", "≥ 1 × fastest peer"}
    assert len(targets) == len(CASES)
