"""The suites of many rows, which `make bench` leaves out."""

from __future__ import annotations

import subprocess
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from benchmarks import command
from benchmarks.growth import large as growth
from benchmarks.growth.asked import ASK
from benchmarks.growth.case import SweepPoint
from benchmarks.growth.data import rows_of
from benchmarks.h2o import large as h2o
from benchmarks.h2o import large_field
from benchmarks.h2o.data import MOST, large, series
from benchmarks.measure import field_of
from benchmarks.pages.details import page_of
from benchmarks.results import Reading, reading
from benchmarks.spark_large import asked, cases, field
from benchmarks.spark_large.case import LargeRun
from benchmarks.suites import SUITES
from benchmarks.workloads.one_answer import measure as answer_once

GROUP = [name for name, suite in SUITES.items() if suite.group == "large"]
LARGE = [name for name in GROUP if name.endswith("_large")]


def test_the_large_suites_run_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []

    def run(call: list[str], **_: Any) -> Mock:
        started.append(call[3:])
        return Mock(returncode=0)

    monkeypatch.setattr(subprocess, "run", run)
    assert command.main(["large", "--quick"]) == 0
    assert (
        started
        == [[name, "--quick"] for name in GROUP]
        == [
            [name, "--quick"]
            for name in ("stream_growth", "larger_than_memory", "h2o_large", "growth_large", "spark_large")
        ]
    )
    started.clear()
    assert command.main(["all"]) == 0
    assert not {name for [name] in started} & set(GROUP)


@pytest.mark.parametrize("name", LARGE)
def test_a_quick_run_has_few_rows(name: str) -> None:
    suite = SUITES[name]
    for case in suite.cases:
        quick = case.at_most(suite.quick_rows)
        assert quick.rows <= suite.quick_rows < case.rows
        assert all(field_of(quick).counted(one) <= suite.quick_rows for one in quick.contestants)
        assert any(one.role == "sash" for one in quick.contestants)


@pytest.mark.parametrize("name", LARGE)
def test_targets_name_contestants(name: str) -> None:
    for case in SUITES[name].cases:
        names = {one.name for one in case.contestants}
        assert all({target.contestant, target.against} <= names for target in case.targets)


def readings(name: str) -> list[Reading]:
    """Each contestant takes one second, or one megabyte; one thread takes 1.8 times as long as two."""
    return [
        reading(case, one, [1.8 if one.name.endswith((", 1", "one core")) else 1.0], case.rows, None)
        for case in SUITES[name].cases
        for one in case.contestants
    ]


@pytest.mark.parametrize("name", LARGE)
def test_the_page_has_all_that_was_measured(name: str) -> None:
    made = readings(name)
    text = page_of(name, made)
    assert all(f"| {one.case} | {one.contestant} | " in text for one in made)
    assert ("| 1.8 s | 1 s | 90% |" in text) == (name != "h2o_large")


def test_one_thread_and_two_give_the_same() -> None:
    answers = [
        ASK[library](SweepPoint(rows=500, keys=3, threads=threads), rows_of(500, 3))()
        for library in ("Sash", "DuckDB")
        for threads in (1, 2)
    ]
    sums = [float(np.nansum(one["max_a_1000"].to_numpy())) for one in answers]
    assert sums == pytest.approx([sums[0]] * 4)
    assert {one.point.threads for case in growth.CASES for one in case.contestants} == {0, 1, 2}
    assert {one.library for case in growth.CASES for one in case.contestants if one.point.threads} == {
        "Sash",
        "DuckDB",
        "Polars",
    }


def test_tables_of_more_than_a_million_rows_continue() -> None:
    rows = series(MOST + 3)
    for name in ("id1", "id2", "id3"):
        assert (np.diff(rows[name].to_numpy()) > 0).all(), name
    assert rows["v1"][MOST].as_py() == rows["v1"][0].as_py()
    assert series(5).equals(rows.slice(0, 5))


@pytest.mark.full
def test_the_large_table_of_joins_continues() -> None:
    more = large(MOST + 3)
    assert more.num_rows == MOST + 3
    assert more.slice(0, 5).equals(large(5))


@pytest.mark.full
def test_a_question_is_answered_in_a_process_of_its_own() -> None:
    told = [
        answer_once(library, "benchmarks.h2o.rolling:QUESTIONS", "rolling mean", 200) for library in ("Sash", "Polars")
    ]
    assert told[0]["digest"] == pytest.approx(told[1]["digest"])
    assert all(one["seconds"] > 0 for one in told)


def test_wrong_answers_of_many_rows_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: str, __: str, library: str, *___: str) -> dict[str, Any]:
        return {"seconds": 1.0, "megabytes": 2.0, "digest": {"rows": 7.0 if library == "Polars" else 8.0}}

    large_field.run.cache_clear()
    monkeypatch.setattr(large_field, "start", start)
    with pytest.raises(AssertionError, match=r"Polars has 7.0 rows, where 8.0 is right"):
        field_of(h2o.CASES[0].at_most(100)).measure(1)
    large_field.run.cache_clear()


def test_wrong_results_on_spark_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        field,
        "run",
        lambda run: {"seconds": 1.0, "megabytes": 2.0, "digest": {"results": float(len(run.way)), "peak": 1.0}},
    )
    with pytest.raises(AssertionError, match=r"Spark, 10 M has 5.0 results, where 4.0 is right"):
        field_of(cases.CASES[0].at_most(100)).measure(1)


def test_each_way_is_asked_once_in_a_quick_run() -> None:
    for case in cases.CASES:
        quick = case.at_most(1_000)
        runs = [one.run for one in quick.contestants]
        assert [run.way for run in runs] == list(asked.QUESTIONS[case.question].ways)
        assert {(run.rows, run.cores) for run in runs} == {(1_000, 2)}


def test_the_most_rows_are_asked_for_once() -> None:
    most = [one.run for case in cases.CASES for one in case.contestants if one.run.rows == 10**9]
    assert set(most) == {LargeRun(cases.HOURS, asked.SASH, 10**9)}
