from __future__ import annotations

import pytest
from helpers.cases import SOAK

from benchmarks import report
from benchmarks.case import Case
from benchmarks.frames.cases import CASES
from benchmarks.measure import measure
from benchmarks.pages.details import page_of
from benchmarks.results import reading

ROWS = 300
SAMPLED = ("look-ahead, max, no key", "exclude, centred, sum, sorted keys and time")
"""The others take long to compile: make soak runs them, and make bench."""


@pytest.mark.full
@pytest.mark.parametrize("case", [case for case in CASES if SOAK or case.name in SAMPLED], ids=lambda case: case.name)
def test_every_case_runs_and_its_answers_are_checked(case: Case) -> None:
    readings = measure(case.at_most(ROWS), repeats=1)
    assert [one.contestant for one in readings] == [contestant.name for contestant in case.contestants]
    assert len(report.judge([case], readings)) == len(case.targets) > 0


def test_each_target_has_a_case() -> None:
    targets = {case.name: {str(target) for target in case.targets} for case in CASES}
    for keys in ("no key", "sorted keys and time"):
        for aggregate in ("max", "sum", "mean", "stddev"):
            assert targets[f"look-ahead, {aggregate}, {keys}"] == {"≤ 1.3 × trailing"}
            assert targets[f"exclude, centred, {aggregate}, {keys}"] == {"≤ 2 × centred"}
    assert len(targets) == len(CASES)


def test_the_page_shows_frames() -> None:
    case = CASES[0]
    written = page_of("frames", [reading(case, one, [5.0], case.rows, None) for one in case.contestants])
    assert f"| {case.name} | " in written
