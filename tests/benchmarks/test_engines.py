from __future__ import annotations

import functools
import os
import re
import tempfile
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
from benchmarks.engines.case import EngineContestant, SiteCase, StreamQuestionCase
from benchmarks.engines.cases import (
    BYTEWAX,
    CASES,
    ENGINES,
    FLINK,
    LATENCIES,
    NEXMARK,
    ON_SPARK,
    PACED,
    PATHWAY,
    SASH,
    SPARK,
    TIMES,
)
from benchmarks.engines.events import FIRST, Events
from benchmarks.engines.field import EngineField
from benchmarks.engines.flink_sql import select, sink, source
from benchmarks.engines.job import Job
from benchmarks.engines.latency import LatencyField
from benchmarks.engines.nexmark import flink_sql as nexmark_sql
from benchmarks.engines.nexmark import sash_run
from benchmarks.engines.nexmark.events import FIRST_ID, PLACES, TABLES, AuctionEvents, columns_of, sql_of, sql_of_time
from benchmarks.engines.pace import PacedJob, paced_job_of, summary
from benchmarks.engines.questions import QUESTIONS, SECOND, TUMBLING, StreamQuestion
from benchmarks.engines.workers import Worker, missing
from benchmarks.measure import measure
from benchmarks.nexmark.generator import newest_auction
from benchmarks.pages import front
from benchmarks.pages.details import page_of
from benchmarks.plots.dots import draw_latencies
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


def sash_alone(question: StreamQuestion) -> StreamQuestionCase:
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


def test_products_of_events_are_not_int_in_flink() -> None:
    """MOD has the type of the divisor there, and the product of two INT overflows."""
    texts = [*Events(1).sql.values(), *(text for table in TABLES for text in sql_of(table).values())]
    assert not [text for text in texts if re.search(r", \d+\)", text)]


def test_numbers_and_sql_give_the_same_auctions() -> None:
    """Around the first events, and where the hash has come around."""
    events = AuctionEvents(0, per_second=10_000)
    for begin in (0, 1_000_000):
        n = np.arange(begin, begin + 4_000)
        for table, (first, last) in PLACES.items():
            sql = ", ".join([*sql_of(table).values(), sql_of_time(events.per_second)])
            asked = f"SELECT {sql} FROM (SELECT range AS n FROM range({begin}, {begin + 4_000})) WHERE n % 50 >= {first} AND n % 50 < {last}"
            rows = duckdb.connect().execute(f"{asked} ORDER BY n").fetchall()
            made = sash_run.table_of(events, table, n, TABLES[table])
            columns = [column.to_pylist() for column in made.columns[:-1]]
            times = made["dateTime"].cast("int64").to_pylist()
            assert list(map(list, zip(*rows, strict=True))) == [*columns, times]


def test_auctions_are_shaped_as_those_of_nexmark() -> None:
    """The generator of benchmarks/nexmark draws; here the same shares are computed."""
    n = np.arange(1_000_000)
    bids = n[n % 50 >= 4]
    bid = columns_of("bid", bids, TABLES["bid"])
    newest = newest_auction(bids)
    people = bids // 50
    assert np.mean(bid["auction"] - FIRST_ID == newest // 100 * 100) == pytest.approx(0.5, abs=0.02)
    assert np.mean(bid["bidder"] - FIRST_ID == people // 100 * 100 + 1) == pytest.approx(0.75, abs=0.02)
    lead = bid["auction"] - FIRST_ID - newest
    assert (lead.min(), lead.max()) == (-100, 10)
    lead = bid["bidder"] - FIRST_ID - people
    assert (lead.min(), lead.max()) == (-999, 10)
    assert len(np.unique(bid["price"])) > 0.99 * len(bids)
    decades = np.bincount(np.log10(bid["price"]).astype(int) - 6)
    assert decades[:6].min() > 0.15 * len(bids)
    auctions = n[(n % 50 > 0) & (n % 50 < 4)]
    sellers = columns_of("auction", auctions, ["seller"])["seller"]
    assert np.mean(sellers - FIRST_ID == auctions // 50 // 100 * 100) == pytest.approx(0.75, abs=0.02)


def test_each_window_that_is_checked_has_one_hottest_auction_and_one_highest_bid() -> None:
    """Engines differ in which of several they show."""
    for case in NEXMARK:
        if case.query.number in (5, 7):
            ends = [line[0] for line in case.right()]
            assert len(ends) == len(set(ends)) > 4


@pytest.mark.parametrize("case", NEXMARK, ids=lambda case: case.name)
def test_sash_answers_nexmark_as_the_raw_rows(case: SiteCase, tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    right = case.right()
    sash_run.run(case.checked_job(str(path)))
    case.compare("Sash", path, right)
    path.write_text("\n".join(path.read_text().splitlines()[1:]), encoding="utf-8")
    with pytest.raises(AssertionError, match="where 1 × is right"):
        case.compare("Sash", path, right)


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


@pytest.mark.parametrize("case", NEXMARK, ids=lambda case: case.name)
def test_flink_is_asked_for_nexmark_in_sql(case: SiteCase) -> None:
    assert "FROM" in nexmark_sql.SELECTS[case.query.number]
    assert "blackhole" in nexmark_sql.sink(case.query, "")
    table, *views = nexmark_sql.sources(case.checked)
    assert f"'{case.checked.count - 1}'" in table
    assert [view.split()[3] for view in views] == list(TABLES)


@pytest.mark.skipif("SASH_SOAK" not in os.environ, reason="starts other engines; make soak runs it")
@pytest.mark.parametrize("name", [name for name in ENGINES if name != SASH])
def test_every_engine_answers_as_the_oracle(name: str) -> None:
    if why := missing(ENGINES[name].worker):
        pytest.skip(why)
    for case in (*TIMES, *NEXMARK):
        only: list[EngineContestant] = [one for one in case.contestants if one.name == name]
        if only:
            (reading,) = measure(replace(case, contestants=only).at_most(2_000), repeats=1)
            assert reading.version.split()[0] in ("sash", only[0].package)


@pytest.mark.skipif("SASH_SOAK" not in os.environ, reason="starts other engines; make soak runs it")
@pytest.mark.skipif(bool(missing("paced_flink")), reason=missing("paced_flink"))
def test_flink_answers_while_events_arrive() -> None:
    worker = Worker("paced_flink")
    told = worker.ask(PacedJob(TUMBLING, 20_000.0, 4.0).to_json())
    worker.stop()
    assert told["sustained"]
    assert 0 < told["median"] <= told["p99"] < 4


@pytest.mark.skipif("SASH_SOAK" not in os.environ, reason="starts other engines; make soak runs it")
@pytest.mark.skipif(bool(missing("in_flink")), reason=missing("in_flink"))
def test_flink_counts_the_same_keys_in_many_events() -> None:
    """The hash of the first events has small products: those of many would not fit into an INT."""
    case = replace(sash_alone(TUMBLING), contestants=[ENGINES[FLINK]])
    few = replace(case.checked, count=60_000, step=10, keys=1_000)
    with tempfile.TemporaryDirectory() as folder:
        job = Job(TUMBLING, few, f"{folder}/answers.csv")
        Worker("in_flink").run(job)
        compare("Flink", collect("Flink", read([Path(job.results)]), few.final_watermark), recomputed(job))


def readings() -> list[Reading]:
    """Sash takes 400 ns and sustains 400 events a second, the other engines 10 µs and 10,000. They need not be installed."""
    return [
        reading(
            case, replace(one, package="sash"), [400.0 if one.role == "sash" else 10_000.0], one.rows or case.rows, None
        )
        for case in (*CASES, *LATENCIES)
        for one in case.contestants
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
    assert "Flink, *Nexmark query 5: hot items, 10s every 2s*" in page


def test_latencies_are_shown_beside_flink_and_spark(tmp_path: Path) -> None:
    written = page_of("latency", readings())
    assert "| tumbling 1m | Flink | 10,000 events a second | 10000 s | 10000 s |" in written
    draw_latencies(readings(), tmp_path / "latency.svg")
    text = (tmp_path / "latency.svg").read_text("utf-8")
    assert all(f"1h every 1m   {name}" in text for name in (SASH, FLINK, ON_SPARK, SPARK))
    with pytest.raises(SystemExit, match="latency"):
        draw_latencies([], tmp_path / "latency.svg")


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
