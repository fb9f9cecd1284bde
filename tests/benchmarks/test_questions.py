from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from benchmarks import report
from benchmarks.case import Contestant
from benchmarks.flights import cases as flights
from benchmarks.flights.data import MOST, of_known_planes
from benchmarks.flights.data import flights as all_flights
from benchmarks.h2o import cases as h2o
from benchmarks.h2o import rolling
from benchmarks.h2o.data import large, series
from benchmarks.measure import measure
from benchmarks.pages.details import page_of
from benchmarks.questions import summary
from benchmarks.questions.case import PEERS, QuestionCase
from benchmarks.questions.field import compare
from benchmarks.questions.libraries import LIBRARIES, BySash, recomputed
from benchmarks.results import Reading, reading

IN_PROCESS = [name for name in LIBRARIES if name != "Spark"]
CASES = (*h2o.CASES, *flights.CASES)
FEW = 150
A_WEEK = 6_000
"""Flights: more than a session of each plane."""
pytestmark = pytest.mark.full


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile nothing: what is compiled is tested elsewhere, and 30 kernels take a minute."""
    monkeypatch.setattr(BySash, "compiled", False)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_way_gives_the_answers_that_plain_python_gives(case: QuestionCase) -> None:
    question = case.question
    right = recomputed(question, FEW)
    for name in IN_PROCESS:
        if name not in question.cannot:
            library = LIBRARIES[name]
            answers = library.answers(question, library.load(question.rows_of, FEW))
            compare(question, answers, right, case.tolerance if name == "Sash" else case.peer_tolerance)


@pytest.mark.full
@pytest.mark.parametrize("case", flights.CASES, ids=lambda case: case.name)
def test_every_way_agrees_with_duckdb_about_a_week_of_flights(case: QuestionCase) -> None:
    question = case.question
    answers = {
        name: LIBRARIES[name].answers(question, LIBRARIES[name].load(question.rows_of, A_WEEK))
        for name in IN_PROCESS
        if name not in question.cannot
    }
    for given in answers.values():
        compare(question, given, answers["DuckDB"], case.peer_tolerance)


def in_this_process(case: QuestionCase) -> QuestionCase:
    return replace(case.at_most(FEW), contestants=tuple(one for one in case.contestants if one.name != "Spark"))


def test_a_question_is_checked_and_timed() -> None:
    case = in_this_process(flights.CASES[0])
    found = measure(case, repeats=1)
    assert [one.contestant for one in found] == IN_PROCESS
    assert {one.rows for one in found} == {FEW}
    assert len(report.judge([case], found)) == len(case.targets) == 1


def test_a_wrong_answer_is_never_timed() -> None:
    case = in_this_process(flights.CASES[0])
    wrong = replace(case.question, polars=lambda frame: frame.select("id", mean="dep_delay"))
    with pytest.raises(AssertionError, match=r"Polars is wrong on 150 rows. \d+ answers: .* is mean at \{'id'"):
        measure(replace(case, question=wrong), repeats=1)
    missing = replace(case.question, polars=lambda frame: frame.select("id", mean="dep_delay").head(3))
    with pytest.raises(AssertionError, match="3 answers where 150 are right, or others: they differ in id"):
        measure(replace(case, question=missing), repeats=1)


def test_a_null_where_a_number_is_right_is_wrong() -> None:
    question = flights.CASES[0].question
    right = pa.table({"id": [1, 2], "mean": [1.0, 2.0]})
    with pytest.raises(AssertionError, match="nan is mean"):
        compare(question, pa.table({"id": [2, 1], "mean": [None, 1.0]}), right, 1e-9)
    compare(question, pa.table({"id": [2, 1], "mean": [2.0, 1.0]}), right, 1e-9)


def test_the_tables_are_those_that_they_claim_to_be() -> None:
    assert all_flights(MOST + 1).num_rows == MOST == 336_776
    assert of_known_planes(MOST).num_rows == MOST - 2_512
    assert large(10).column_names == ["id1", "id2", "id3", "v2", "v2_millionths"]
    assert len(set(large(10_000)["id3"].to_pylist())) == 10_000
    dense, sparse = (series(10**6)[name][-1].as_py() for name in ("id2", "id3"))
    assert 1_090_000 < dense <= 1_100_000
    assert 1_990_000 < sparse <= 2_000_000


def made_up(case: QuestionCase) -> list[Reading]:
    slow = {"Sash": 20.0, "DuckDB": 200.0, "Polars": 10.0 if "median" in case.name else 30.0}
    return [reading(case, one, [slow.get(one.name, 90.0)], one.rows or case.rows, None) for one in case.contestants]


def test_the_page_shows_wins_losses_and_who_cannot_answer() -> None:
    for name, cases in {"h2o": h2o.CASES, "flights": flights.CASES}.items():
        text = page_of(name, [one for case in cases for one in made_up(case)])
        for case in cases:
            assert f"| {case.name} | {case.question.window} |" in text
        assert "| **20 ns** | 200 ns | 30 ns | 90 ns | " in text
        assert "| 20 ns | 200 ns | **10 ns** |" in text  # a loss
        assert "0.5 × |" in text
    assert "pandas cannot answer *distinct planes" in text
    assert "Sash is the fastest in 6 of 8 questions" in text


def test_pandas_has_wrong_correlations_as_the_page_says() -> None:
    rows = series(10**6)
    frame = rows.to_pandas()
    by_pandas = (frame["v2"].rolling(rolling.WIDTH, min_periods=2).corr(frame["v1"]) ** 2).to_numpy()
    by_polars = LIBRARIES["Polars"].answers(h2o.ROLLING[-1].question, pl.from_arrow(rows))["answer"].to_numpy()
    off = np.abs(by_pandas - by_polars)[2:]
    assert np.mean(off > 0.001) > 1 / 7
    assert off.max() > 0.5
    for row in (10**6 - 1, int(off.argmax()) + 2):  # Polars is right
        x, y = (rows[name].to_numpy()[row - rolling.WIDTH + 1 : row + 1] for name in ("v1", "v2"))
        assert by_polars[row] == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2, rel=1e-6)


def test_slow_contestants_are_marked() -> None:
    case = h2o.CASES[0]
    found = made_up(case)
    few = replace(found[1], rows=10)
    lines = list(summary.page([case], [found[0], few]))
    assert any(r"200 ns \* |" in line for line in lines)
    assert r"- \* DuckDB on 10 rows: rolling mean" in lines


def test_each_question_has_all_peers_or_says_why_not() -> None:
    for case in CASES:
        asked = {one.name for one in case.contestants if isinstance(one, Contestant)}
        assert asked | set(case.question.cannot) == {"Sash", *PEERS}
        assert ("pandas" in asked) == (case.question.pandas is not None)
