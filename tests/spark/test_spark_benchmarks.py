from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from helpers.cases import SOAK
from pyspark.sql import SparkSession

from benchmarks import report, results
from benchmarks.case import MEMORY
from benchmarks.never_slower import cases as never_slower
from benchmarks.nexmark import cases as nexmark
from benchmarks.pages.details import page_of
from benchmarks.spark_batch import native
from benchmarks.spark_batch.answers import compare, compare_sums
from benchmarks.spark_batch.case import Question, SparkCase
from benchmarks.spark_batch.cases import CASES
from benchmarks.spark_batch.data import READINGS
from benchmarks.spark_batch.memory import most_of_a_worker
from benchmarks.spark_large.asked import QUESTIONS as LARGE_QUESTIONS
from benchmarks.spark_large.case import LargeRun
from benchmarks.spark_large.one_run import answer
from benchmarks.spark_streaming import cases as streaming
from benchmarks.spark_streaming.data import ARRIVALS
from benchmarks.spark_windows import cases as spark_windows

ROOT = Path(__file__).parents[2]
QUESTION = Question("rows(2)", partial(native.over_rows, 2), ("household",), ("peak",))


@pytest.mark.skipif(not SOAK, reason="it starts another Spark, and make soak has the time")
@pytest.mark.parametrize(
    ("suite", "case", "target"),
    [
        ("spark_batch", CASES[0], "≥ 4 × Spark, segment tree"),
        ("spark_streaming", streaming.CASES[0], "≤ 4 µs"),
        ("nexmark", nexmark.CASES[-1], "≥ 1 × Spark's window"),
        ("spark_windows", spark_windows.CASES[0], "≥ 1 × Spark, segment tree"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_a_case_is_checked_timed_and_written(suite: str, case: SparkCase, target: str, tmp_path: Path) -> None:
    """In a process of its own: the session is not that of other tests."""
    csv = tmp_path / "readings.csv"
    command = [sys.executable, "-m", "benchmarks", suite, "--quick", "--only", case.name, "--csv", str(csv)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    told = [
        line for line in done.stderr.splitlines() if line and "TransformWithState" not in line
    ]  # of its own workers
    assert told == []
    readings = results.read(csv)
    assert [one.contestant for one in readings] == [contestant.name for contestant in case.contestants]
    assert len(report.judge([case], readings)) == len(case.targets) > 0
    assert target in {str(one) for one in case.targets}
    assert case.name in page_of(suite, readings)


def test_each_target_has_a_case() -> None:
    targets = {str(target) for case in CASES for target in case.targets}
    wanted = ["≥ 20 × Spark", "≥ 4 × Spark, segment tree", "≤ 1.3 × running aggregate", "≥ 10 × Spark's window"]
    wanted += ["≤ 1.5 × tumbling minute", "≥ 100 × Spark's window", "≤ 1.3 × the widest", "≥ 30 × arrow_udf"]
    wanted += ["≥ 100 × arrow_udf", "≥ 100 × pandas_udf", "≥ 1 × Spark's percentile", "≤ 3 × 1 K keys × 10 K rows"]
    wanted += ["≤ 1.5 × 1 K keys", "≤ 1.1 × 1 K keys"]
    assert targets >= set(wanted)
    assert any(case.measure == MEMORY for case in CASES)
    assert len({case.name for case in CASES}) == len(CASES)


def test_what_must_not_be_slower_runs_in_both_sessions() -> None:
    named = {case.name: case for case in never_slower.CASES}
    assert len(named) == len(never_slower.CASES)
    frames = [*never_slower.of_readings(), *never_slower.of_other_suites()]
    elsewhere = {f"Nexmark, {case.name}" for case in nexmark.CASES}
    elsewhere |= {f"WindowBenchmark, {case.name}" for case in spark_windows.CASES}
    assert len(frames) > len(nexmark.QUERIES)
    for case in frames:
        assert (case.name in named) != (case.name in elsewhere)
        plain = named[f"plain session: {case.name}"]
        assert all(one.conf.items() >= never_slower.PLAIN.items() for one in plain.contestants)
        assert {target.at_least for target in (*case.targets, *plain.targets)} == {never_slower.EVEN}


def test_each_target_on_streams_has_a_case() -> None:
    targets = {case.name: {str(target) for target in case.targets} for case in streaming.CASES}
    assert targets["20 K keys × 25 rows, 1h every 1m"] >= {"≤ 4000", "≥ 10 × Spark's window", "≥ 1 × slices by Spark"}
    assert targets["100 keys × 2000 rows, 1h every 1m"] >= {"≤ 6666.67", "≥ 1 × slices by Spark"}
    assert targets["10 K keys × 1 row, 1h every 1m"] == {"≤ 100000"}  # 1 s for a batch
    assert targets["ten windows beside one, 20 K keys × 25 rows"] == {"≤ 2 × one window"}
    assert len(targets) == len(streaming.CASES)


@pytest.mark.parametrize("case", streaming.CASES, ids=lambda case: case.name)
def test_the_rows_of_a_batch_are_whole_keys(case: SparkCase) -> None:
    for one in case.contestants:
        data = ARRIVALS[one.readings]
        for rows in (one.rows or case.rows, case.checked):
            assert data.keys(rows) * data.rows_of_a_key == rows


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_rows_of_the_slow_are_whole_keys(case: SparkCase) -> None:
    for one in case.contestants:
        data = READINGS[one.readings]
        rows = one.rows or case.rows
        assert not data.has_keys or data.keys(rows) * data.rows_of_a_key == rows


def test_answers_are_compared_by_what_identifies_them() -> None:
    right = pa.table({"household": [1, 2], "peak": [3.0, None]})
    compare(QUESTION, right.take([1, 0]), right, 1e-9)
    with pytest.raises(AssertionError, match=r"differ in household"):
        compare(QUESTION, right.set_column(0, "household", pa.array([1, 3])), right, 1e-9)
    with pytest.raises(AssertionError, match="1 answers where 2 are right"):
        compare(QUESTION, right.slice(1), right, 1e-9)
    with pytest.raises(AssertionError, match=r"0\.0 is peak at \{'household': 2\}, which is None"):
        compare(QUESTION, right.set_column(1, "peak", pa.array([3.0, 0.0])), right, 1e-9)


def test_sums_are_compared() -> None:
    compare_sums(np.array([3.0, 1.5]), np.array([3.0, 1.5 + 1e-12]), 1e-9)
    with pytest.raises(AssertionError, match=r"come to \[3\.0, 1\.5\], those of another contestant to \[3\.0, 1\.6\]"):
        compare_sums(np.array([3.0, 1.5]), np.array([3.0, 1.6]), 1e-9)


def test_memory_without_workers_is_none() -> None:
    assert most_of_a_worker(lambda: None) >= 0


@pytest.mark.full
@pytest.mark.parametrize("name", LARGE_QUESTIONS)
def test_all_ways_to_answer_a_question_of_many_rows_agree(name: str, spark: SparkSession) -> None:
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    digests = [answer(spark, LargeRun(name, way, 4_000), 4_000) for way in LARGE_QUESTIONS[name].ways]
    spark.conf.set("spark.sql.session.timeZone", str(zone))
    assert digests[0]["results"] > 0
    for digest in digests[1:]:
        assert digest == pytest.approx(digests[0], rel=1e-9)
