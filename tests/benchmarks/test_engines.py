from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from benchmarks.engines import field as fields
from benchmarks.engines import in_sash, paced_sash, workers
from benchmarks.engines.answers import collect, compare, read, recomputed
from benchmarks.engines.case import EngineCase, EngineContestant
from benchmarks.engines.cases import BYTEWAX, ENGINES, FLINK, LATENCIES, PACED, PATHWAY, SASH, TIMES
from benchmarks.engines.events import FIRST, Events
from benchmarks.engines.field import EngineField
from benchmarks.engines.flink_sql import select, sink, source
from benchmarks.engines.job import Job
from benchmarks.engines.latency import LatencyField
from benchmarks.engines.pace import PacedJob, paced_job_of, summary
from benchmarks.engines.questions import QUESTIONS, SECOND, TUMBLING, StreamQuestion
from benchmarks.engines.workers import Worker, missing
from benchmarks.measure import measure
from benchmarks.pages import front
from benchmarks.pages.details import page_of
from benchmarks.plots.lines import draw_engines
from benchmarks.results import ROOT, Reading, reading

FEW = Events(200, keys=3, step=30_000)


class InThisProcess:
    """A worker that answers here, and may change the answers on the way."""

    def __init__(self, spoil: Callable[[list[str]], list[str]] = lambda lines: lines) -> None:
        self.spoil = spoil

    def run(self, job: Job) -> float:
        seconds = in_sash.run(job)
        if job.results:
            path = Path(job.results)
            path.write_text("\n".join(self.spoil(path.read_text().splitlines())), encoding="utf-8")
        return seconds


def sash_alone(question: StreamQuestion) -> EngineCase:
    case = next(case for case in TIMES if case.question == question)
    return replace(case, contestants=[ENGINES[SASH]])


def test_numbers_tuples_and_sql_give_the_same_events() -> None:
    events = Events(3_000)
    numbers = [column.tolist() for column in events.columns_of(np.arange(events.count))]
    assert list(map(list, zip(*events.tuples(), strict=True))) == numbers
    sql = ", ".join(events.sql.values())
    asked = f"SELECT {sql} FROM (SELECT range AS n FROM range({events.count})) ORDER BY n"
    rows = duckdb.connect().execute(asked).fetchall()
    assert list(map(list, zip(*rows, strict=True))) == numbers


def test_events_are_late_by_less_than_the_delay_and_have_different_times() -> None:
    keys, times, values = Events(2_000_000).columns_of(np.arange(2_000_000))
    lateness = np.maximum.accumulate(times) - times
    assert 0 < lateness.max() < Events(1).delay
    assert len(np.unique(times)) == len(times)
    counts = np.bincount(keys)
    assert len(counts) == 1_000
    assert counts.min() > 0.8 * counts.mean()
    assert values.min() > 0


def test_the_last_watermark_is_that_of_all_events() -> None:
    for count in (1, 9, 25):
        events = Events(count, step=3)
        assert events.final_watermark == max(ts for _, ts, _ in events.tuples()) - events.delay


def test_a_stream_ends_in_the_middle_of_a_batch() -> None:
    events = Events(in_sash.BATCH + 5)
    batches = list(in_sash.batches_of(events))
    assert [len(batch) for batch in batches] == [in_sash.BATCH, 5]
    assert [line for batch in batches for line in batch["key"].to_pylist()] == [key for key, _, _ in events.tuples()]


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=list(QUESTIONS))
def test_sash_answers_as_the_oracle(question: StreamQuestion, tmp_path: Path) -> None:
    events = Events(60, keys=2, step=60_000) if question.slide == SECOND else FEW
    job = Job(question, events, str(tmp_path / "answers.csv"))
    in_sash.run(job)
    compare("Sash", collect("Sash", read([Path(job.results)]), events.final_watermark), recomputed(job))


def test_a_case_is_checked_and_timed() -> None:
    case = sash_alone(TUMBLING).at_most(2_000)
    times = EngineField(case, lambda *_: InThisProcess()).measure(2)  # type: ignore[arg-type]
    assert list(times) == [SASH]
    assert len(times[SASH]) == 2


def change_value(lines: list[str]) -> list[str]:
    first, *others = lines
    *places, peak, mean, n = first.split(",")
    return [",".join([*places, str(float(peak) + 0.001), mean, n]), *others]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (change_value, "is right"),
        (lambda lines: lines[1:], "has None for"),
        (lambda lines: [*lines, lines[0]], "two answers"),
        (lambda lines: [*lines, "60000,99,1772323200000,1772323260000,1.0,1.0,1"], "where None is right"),
        (lambda lines: lines[:0], "has None for"),
    ],
    ids=["a value", "one less", "twice", "one more", "none"],
)
def test_wrong_answers_are_not_timed(spoil: Callable[[list[str]], list[str]], message: str) -> None:
    field = EngineField(sash_alone(TUMBLING), lambda *_: InThisProcess(spoil))  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match=message):
        field.measure(1)


def test_a_missing_engine_is_left_out_and_the_target_of_make_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(workers, "ROOT", tmp_path)
    monkeypatch.setattr(fields, "_told", set())
    assert fields.present([ENGINES[SASH], ENGINES[FLINK]]) == [ENGINES[SASH]]
    fields.present([ENGINES[FLINK]])
    assert capsys.readouterr().err == "Flink is left out: there is no .venv-flink. Run: make .venv-flink/ready\n"


def test_every_environment_can_be_made() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (engines,) = (line for line in makefile.splitlines() if line.startswith("ENGINES :="))
    for name in workers.ENVIRONMENTS.values():
        assert name in engines.split()
        assert (ROOT / "tools" / f"requirements-{name}.txt").exists()


def test_a_worker_that_fails_shows_its_error() -> None:
    worker = Worker("in_spark", "neither")
    with pytest.raises(RuntimeError, match="KeyError: 'neither'"):
        worker.run(Job(TUMBLING, FEW))


def test_a_worker_runs_job_after_job(tmp_path: Path) -> None:
    worker = Worker("in_sash")
    job = Job(TUMBLING, FEW, str(tmp_path / "answers.csv"))
    assert worker.run(replace(job, results="")) > 0
    assert worker.run(job) > 0
    compare("Sash", collect("Sash", read([Path(job.results)]), FEW.final_watermark), recomputed(job))
    worker.stop()


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=list(QUESTIONS))
def test_flink_is_asked_in_sql(question: StreamQuestion) -> None:
    asked = select(question)
    assert asked.count("SELECT") == len(question.lengths)
    assert "blackhole" in sink(question, "")
    assert f"'{FEW.count - 1}'" in source(FEW)


@pytest.mark.skipif("SASH_SOAK" not in os.environ, reason="starts other engines; make soak runs it")
@pytest.mark.parametrize("name", [name for name in ENGINES if name != SASH])
def test_every_engine_answers_as_the_oracle(name: str) -> None:
    if why := missing(ENGINES[name].worker):
        pytest.skip(why)
    for case in TIMES:
        only: list[EngineContestant] = [one for one in case.contestants if one.name == name]
        if only:
            (reading,) = measure(replace(case, contestants=only).at_most(2_000), repeats=1)
            assert reading.version.split()[0] in ("sash", only[0].package)


def readings() -> list[Reading]:
    """Sash takes 400 ns, the other engines 10 µs."""
    return [
        reading(case, one, [400.0 if one.role == "sash" else 10_000.0], one.rows or case.rows, None)
        for case in TIMES
        for one in case.contestants
        if not missing(one.worker)
    ]


def test_the_first_page_compares_streams_with_each_engine() -> None:
    measured = [one for one in readings() if one.contestant not in (PATHWAY, BYTEWAX, FLINK)]
    flink = [replace(one, contestant=FLINK) for one in measured if one.contestant == SASH]
    written = "\n".join(front.streams([*measured, *(replace(one, value=10_000.0) for one in flink)]))
    assert "| tumbling 1m | 400 ns | 400 ns | **25 ×** | **25 ×** |  |  |" in written
    assert "| last 100 rows, per row | 400 ns | 400 ns | **25 ×** |  |  |  |" in written


def test_the_curve_is_drawn(tmp_path: Path) -> None:
    draw_engines(readings(), tmp_path / "engines.svg")
    text = (tmp_path / "engines.svg").read_text("utf-8")
    assert all(name in text for name in ("10m", "1s", "Sash on Spark"))


def test_the_page_of_details_has_the_sql_of_flink() -> None:
    page = page_of("engines", readings())
    assert "Flink, *1h every 1m*" in page
    assert "HOP(TABLE events" in page


class Paced:
    """A worker that sustains 70,000 events a second."""

    def __init__(self) -> None:
        self.asked: list[float] = []

    def ask(self, line: str) -> dict[str, Any]:
        rate = paced_job_of(line).rate
        self.asked.append(rate)
        return {"sustained": rate <= 70_000, "median": 0.2, "p99": 0.5}


def test_latency_is_that_of_half_the_sustained_rate_and_measured_once() -> None:
    engine = Paced()
    of_question = [replace(case, contestants=PACED[:1]) for case in LATENCIES if case.question == TUMBLING]
    start: Any = functools.partial(lambda one, *_: one, engine)
    values = [LatencyField(case, start).measure(1)[SASH] for case in of_question]
    rate = engine.asked[-1] * 2
    assert values == [[rate], [0.2], [0.5]]
    assert 50_000 < rate <= 70_000
    assert len(engine.asked) == len(set(engine.asked))


def test_results_wait_for_the_event_that_closes_their_window() -> None:
    job = PacedJob(TUMBLING, 1_000.0, 60.0)
    times = [ts for _, ts, _ in job.events.tuples()]
    for minute in (1, 2, 9):
        end = FIRST + minute * 60_000
        n = job.closing(end)
        assert max(times[: n + 1]) - job.events.delay >= end
        assert max(times[:n]) - job.events.delay < end


def test_sash_answers_while_events_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paced_sash, "WARM", 2_000)
    told = paced_sash.run(PacedJob(TUMBLING, 50_000.0, 2.0))
    assert set(told) == {"sustained", "median", "p99"}
    assert 0 < told["median"] <= told["p99"]


def test_an_engine_that_falls_behind_does_not_sustain_the_rate() -> None:
    job = PacedJob(TUMBLING, 60_000.0, 8.0)
    ends = [FIRST + minute * 60_000 for minute in range(1, 79)]
    behind = [(end, job.closing(end) / job.rate * 1.2) for end in ends]
    assert not summary(job, behind, job.events.count)["sustained"]
    assert not summary(job, [], job.events.count)["sustained"]
    in_time = [(end, job.closing(end) / job.rate + 0.3) for end in ends]
    assert summary(job, in_time, job.events.count) == {"sustained": True, "median": 0.3, "p99": 0.3}
