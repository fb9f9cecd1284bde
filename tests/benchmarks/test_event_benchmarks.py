from __future__ import annotations

from dataclasses import replace

import pytest
from helpers.cases import SOAK

from benchmarks import report
from benchmarks.case import Case
from benchmarks.measure import measure
from benchmarks.single_events.case import EventCase
from benchmarks.single_events.cases import CASES

ROWS = 400
SAMPLED = ("max, one event", "max, worst event")
"""The others compile more: make soak runs them, and make bench."""


@pytest.mark.full
@pytest.mark.parametrize("case", [case for case in CASES if SOAK or case.name in SAMPLED], ids=lambda case: case.name)
def test_every_case_runs_and_its_answers_are_checked(case: Case) -> None:
    readings = measure(case.at_most(ROWS), repeats=1)
    assert [one.contestant for one in readings] == [contestant.name for contestant in case.contestants]
    assert len(report.judge([case], readings)) == len(case.targets) > 0


def test_a_wrong_answer_is_never_timed() -> None:
    case = CASES[0]
    assert isinstance(case, EventCase)
    wrong = replace(case.contestants[0], role="peer", prepare=lambda values, _: lambda: [0.0] * len(values))
    with pytest.raises(AssertionError, match=r"Sash answers 0.0 at \d+, which is"):
        measure(replace(case, contestants=(wrong,)).at_most(ROWS), repeats=1)
