from __future__ import annotations

from dataclasses import replace

import pytest
from rich.console import Console

from benchmarks import report
from benchmarks.case import Contestant
from benchmarks.first_answer import ask_duckdb, ask_pandas, ask_polars, ask_sash, ask_stream, data
from benchmarks.first_answer.answer import digest_of
from benchmarks.first_answer.case import Answer, FirstCase
from benchmarks.first_answer.cases import CASES, PEERS
from benchmarks.first_answer.field import FirstField, recomputed
from benchmarks.first_answer.processes import DIFFERENCE, EMPTY, FURTHER, STREAM, WARM
from benchmarks.first_answer.summary import show
from benchmarks.measure import measure
from benchmarks.pages.details import page_of
from benchmarks.results import reading

ROWS = 120
LIBRARIES = {"pandas": ask_pandas, "Polars": ask_polars, "DuckDB": ask_duckdb}


@pytest.mark.parametrize("query", ask_sash.QUESTIONS)
def test_all_libraries_answer_the_same(query: str) -> None:
    folder = str(data.written(ROWS))
    digests = {"recomputed": recomputed(query, ROWS)}
    digests["Sash"] = digest_of(ask_sash.columns(ask_sash.answer(query, ask_sash.load(folder))))
    for name, asked in LIBRARIES.items():
        if query in PEERS[name]:
            digests[name] = digest_of(asked.columns(asked.answer(query, asked.load(folder))))
    case = FirstCase(name=query, query=query, contestants=(), round=lambda *_: {})
    FirstField(case).check(digests)


@pytest.mark.parametrize("query", ask_sash.STREAMED)
def test_a_stream_has_the_results_of_a_table(query: str) -> None:
    rows = data.rows_of(ROWS)
    digests = [digest_of(asked.columns(asked.answer(query, rows))) for asked in (ask_sash, ask_stream)]
    assert digests[0] == pytest.approx(digests[1])


def test_each_library_has_the_queries_that_are_asked_of_it() -> None:
    assert {name: list(asked.QUERIES) for name, asked in LIBRARIES.items()} == PEERS


def test_fresh_processes_are_timed_and_their_results_are_compared() -> None:
    (case,) = (case for case in CASES if case.name == "max over rows(1000), 1 K rows")
    empty, warm, _, _, polars, _ = case.contestants
    case = replace(case, contestants=(empty, warm, polars), targets=case.targets[:1], rows=ROWS)
    readings = measure(case, repeats=1)
    assert [one.contestant for one in readings] == [EMPTY, WARM, "Polars"]
    assert all(one.value > 0 and one.rows == ROWS for one in readings)
    assert len(report.judge([case], readings)) == 1


def test_results_that_differ_are_not_timed() -> None:
    case = FirstCase(
        name="a case",
        query="mean, tumbling",
        rows=ROWS,
        contestants=(Contestant(name="Polars"),),
        round=lambda *_: {"Polars": Answer(0.1, {**recomputed("mean, tumbling", ROWS), "rows": 2})},
    )
    with pytest.raises(AssertionError, match="a case: Polars has 2 rows, the result recomputed from raw rows has"):
        measure(case, repeats=1)


def limits(contestant: str) -> dict[str, set[float | None]]:
    found: dict[str, set[float | None]] = {}
    for case in CASES:
        for target in case.targets:
            if target.contestant == contestant:
                found.setdefault(case.column, set()).add(target.at_most)
    return found


def test_each_target_has_a_case() -> None:
    assert limits(EMPTY) == {"≤ 10 K rows": {0.6}, "100 K rows": {1.2, 2}, "1 M rows": {2, 3}}
    assert limits(FURTHER) == {"≤ 10 K rows": {0.1}, "100 K rows": {0.5}, "1 M rows": {1}}
    assert limits(WARM) == {"≤ 10 K rows": {0.45}, "100 K rows": {0.5}, "1 M rows": {0.7}}
    assert limits(DIFFERENCE) == {"≤ 10 K rows": {2}, "100 K rows": {2}, "1 M rows": {3}}
    assert limits(STREAM) == {"≤ 10 K rows": {0.6}}
    assert len({case.name for case in CASES}) == len(CASES)


def test_with_few_rows_only_the_smallest_cases_run() -> None:
    few = [case for case in CASES if case.runs_with(1_000)]
    assert {case.rows for case in few if not case.at_any_rows} == {1_000}
    assert len(few) == len(ask_sash.QUESTIONS) + len(ask_sash.STREAMED) + 2  # one on a cluster, one on a stream


def test_the_table_and_the_page_show_the_slowest_query(capsys: pytest.CaptureFixture[str]) -> None:
    cases = [case for case in CASES if case.rows == 100_000 and case.name.startswith(("max", "five"))]
    slow = {"max over 1h/1m": 1.0, "max over rows(1000)": 1.1, "five over 1h/1m": 2.5}
    readings = [
        reading(case, one, [slow.get(case.query, 0.3)], case.rows, None) for case in cases for one in case.contestants
    ]
    show(cases, readings, Console(width=200))
    printed = capsys.readouterr().out
    assert "1.1 s ✓ (≤ 1.2 s; max over rows(1000))" in printed
    assert "2.5 s ✗ (≤ 2 s; five over 1h/1m)" in printed
    written = page_of("first_answer", readings)
    shown = "| 1.1 s ✓ (≤ 1.2 s; max over rows(1000))<br>2.5 s ✗ (≤ 2 s; five over 1h/1m) |  |"
    assert f"| first result, empty cache, imports included |  {shown}" in written
    assert "| max over 1h/1m | 1 s | 1 s | 1 s |  | 1 s | 1 s |" in written
