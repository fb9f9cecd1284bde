from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks import report
from benchmarks.features.case import NAMES
from benchmarks.features.cases import CASES, IN_PROCESS
from benchmarks.features.data import events, labels
from benchmarks.measure import measure
from benchmarks.pages.details import page_of

ROWS = 400


def test_every_way_gives_the_right_answers() -> None:
    readings = measure(IN_PROCESS.at_most(ROWS), repeats=1)
    assert [one.contestant for one in readings] == [contestant.name for contestant in IN_PROCESS.contestants]
    assert len(report.judge([IN_PROCESS], readings)) == len(IN_PROCESS.targets) > 0
    assert "DuckDB, *range join*" in page_of("features", readings)


def test_a_wrong_answer_is_never_timed() -> None:
    own = IN_PROCESS.contestants[0]
    right = own.prepare(events(ROWS), labels(ROWS))()
    wrong = right.set_column(right.schema.get_field_index(NAMES[0]), NAMES[0], right["id"])
    case = replace(IN_PROCESS, contestants=(replace(own, prepare=lambda *_: lambda: wrong),))
    with pytest.raises(AssertionError, match=r"Sash answers \d+ for n_1h of label \d+, which is \d+"):
        measure(case.at_most(ROWS), repeats=1)


def test_each_target_has_a_case() -> None:
    targets = [str(target) for case in CASES for target in case.targets]
    assert targets == [
        "≥ 5 × fastest peer",
        *2
        * [
            "≥ 20 × range join and groupBy",
            "≥ 0.95 × range join and groupBy",
            "≤ 2 × the same query without labels",
        ],
    ]
