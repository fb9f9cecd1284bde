from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from benchmarks import report
from benchmarks.measure import measure
from benchmarks.pages.details import page_of
from benchmarks.windows.case import AGGREGATES, TableCase, TableContestant, TimeWindow
from benchmarks.windows.cases import CASES
from benchmarks.windows.events import events
from benchmarks.windows.peers import group_by_dynamic
from benchmarks.windows.references import DAYS, Answers

ROWS = 300
HOUR = TimeWindow("1h", "7m")
pytestmark = pytest.mark.full


@pytest.mark.full
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_case_runs_and_its_answers_are_checked(case: TableCase) -> None:
    readings = measure(case.at_most(ROWS), repeats=1)
    assert [one.contestant for one in readings] == [contestant.name for contestant in case.contestants]
    assert all(one.rows == ROWS for one in readings)
    assert len(report.judge([case], readings)) == len(case.targets) > 0


@pytest.mark.parametrize("window", [HOUR, TimeWindow("24h", "1h"), TimeWindow("5m", "13m"), TimeWindow("1h")], ids=str)
def test_the_windows_expected_are_those_that_hold_a_row(window: TimeWindow) -> None:
    table = events("many keys", ROWS)
    rows = list(zip(table["household"].to_pylist(), table["ts"].cast("int64").to_pylist(), strict=True))
    expected = set(rows)
    if window.slide:
        starts = range(min(at for _, at in rows) // window.step - 200, max(at for _, at in rows) // window.step + 1)
        expected = {
            (key, start * window.step)
            for start in starts
            for key, at in rows
            if start * window.step <= at < start * window.step + window.length
        }
    answers = Answers(table)
    found = [(int(code // DAYS), int(code % DAYS + answers.origin)) for code in answers.places(window)]
    assert found == sorted(expected)


def _measure_altered(answers: pa.Table) -> None:
    contestant = TableContestant(
        name="Polars", prepare=lambda *_: lambda: answers, windows={"hour": HOUR}, events="by time"
    )
    measure(TableCase(name="an hour", contestants=(contestant,), rows=ROWS), repeats=1)


def _answers() -> pa.Table:
    return group_by_dynamic(pl.DataFrame(events("by time", ROWS)), HOUR).to_arrow()


@pytest.mark.parametrize("column", AGGREGATES)
def test_a_wrong_answer_is_never_timed(column: str) -> None:
    right = _answers()
    _measure_altered(right)
    wrong = right.set_column(right.schema.get_field_index(column), column, pa.array(np.full(len(right), 7.0)))
    with pytest.raises(AssertionError, match=rf"an hour, 1h every 7m: Polars is wrong. 7.0 is {AGGREGATES[column]} of"):
        _measure_altered(wrong)


def test_a_window_that_is_missing_or_given_twice_is_never_timed() -> None:
    right = _answers()
    with pytest.raises(AssertionError, match="1 missing, 0 of no window"):
        _measure_altered(right.slice(1))
    with pytest.raises(AssertionError, match="0 missing, 0 of no window"):
        _measure_altered(pa.concat_tables([right, right.slice(0, 1)]))


def test_the_page_shows_the_cases_over_tables_with_their_sql() -> None:
    written = page_of("windows", measure(CASES[0].at_most(ROWS), repeats=1))
    for text in ("| Polars group_by_dynamic |", "```sql\nWITH slices AS MATERIALIZED"):
        assert text in written
