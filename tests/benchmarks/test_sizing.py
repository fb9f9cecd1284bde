"""Coefficients of a stream, the plan that is made of them, and their page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks import report
from benchmarks.measure import field_of
from benchmarks.pages import sizing as page
from benchmarks.process_tree import MostMemory, cpu_seconds
from benchmarks.results import SIZING, Reading, read, reading
from benchmarks.sizing import case, field
from benchmarks.sizing.case import COEFFICIENTS, CORES, INTERVAL, PLANNED, SizedStream, Streams
from benchmarks.sizing.cases import CASES
from benchmarks.sizing.field import SCHEMA, SizingRun, result_of, size_of_stream
from benchmarks.sizing.fit import MEGABYTE, Measured, StreamUse, processor_times
from sash.engine.prepare import prepare
from sash.state.declared_size import declared_sizes
from sash.state.size_plan import Coefficients, SizePlan

REWRITE = "run: python -m benchmarks.pages"
SECONDS = {
    "batch_seconds": 0.2,
    "row_seconds": 1e-6,
    "change_seconds": 2e-6,
    "slice_seconds": 1e-7,
    "result_seconds": 5e-7,
}
"""What the made-up streams use."""
KEY_BYTES, WRITTEN, STORED = 20, 0.5, 0.6
SLICE_BYTES = declared_sizes(prepare(case.query()._declared, SCHEMA), SCHEMA)[0].slice_bytes


def used(stream: SizedStream) -> StreamUse:
    """What a stream uses whose state grows for some micro-batches, and which has results in every second one."""
    size = size_of_stream(stream)
    batches = []
    for number in range(stream.batches):
        slices, results = size.slices * min(1, (number + 1) / 10), 2 * size.results * (number % 2)
        parts = (CORES, stream.rows, size.changes, slices, results)
        cpu = sum(part * seconds for part, seconds in zip(parts, SECONDS.values(), strict=True))
        written = size.changes * SLICE_BYTES * WRITTEN
        batches.append({"rows": stream.rows, "slices": slices, "results": results, "cpu": cpu, "written": written})
    state = size.slices * SLICE_BYTES + size.keys * KEY_BYTES
    checkpoint = STORED * state + sum(one["written"] for one in batches)
    workers = 800 + (stream.rows * 300 + size.most_results * 400) / MEGABYTE
    return StreamUse(stream, batches, 2048, workers, checkpoint, STORED * state, size.keys, size.slices, state)


def made_up() -> tuple[Measured, StreamUse]:
    """All streams but the largest, and that one."""
    uses = {name: used(one) for name, one in Streams().named.items() if name != "warm"}
    restarts = {name: one.usual_cpu + one.slices * 3e-7 for name, one in uses.items()}
    for name in ("few_keys", "largest"):  # with new processes
        restarts[name] += CORES * 5
    largest = uses.pop("largest")
    return Measured(**uses, restarts=restarts), largest


def done() -> SizingRun:
    return result_of(*made_up())


def test_coefficients_are_those_that_streams_were_made_of() -> None:
    found = done().coefficients
    expected = {
        **SECONDS,
        "key_bytes": KEY_BYTES,
        "written_share": WRITTEN,
        "stored_share": STORED,
        "row_bytes": 300,
        "result_bytes": 400,
    }
    expected |= {"worker_bytes": 400 * MEGABYTE, "java_bytes": 1 << 30, "restart_seconds": 5}
    for name, value in (expected | {"restart_slice_seconds": 3e-7}).items():
        assert found[name] == pytest.approx(value, rel=0.02), name
    assert found.keys() == COEFFICIENTS.keys()


def test_a_plan_of_the_largest_stream_holds() -> None:
    run = done()
    assert run.planned.keys() == run.measured.keys() == PLANNED.keys()
    for name, planned in run.planned.items():
        assert planned == pytest.approx(run.measured[name], rel=0.1), name


def test_a_few_slow_micro_batches_change_little() -> None:
    uses = [used(one) for name, one in Streams().named.items() if name not in ("warm", "largest")]
    for use in uses:
        use.batches[9]["cpu"] *= 4
    found = processor_times(uses)
    assert found["row_seconds"] == pytest.approx(1e-6, rel=0.1)
    assert found["change_seconds"] == pytest.approx(2e-6, rel=0.1)


def test_no_time_is_negative() -> None:
    uses = [used(one) for name, one in Streams().named.items() if name not in ("warm", "largest")]
    for use in uses:
        for batch in use.batches:
            batch["cpu"] -= 9e-7 * batch["results"]
    assert min(processor_times(uses).values()) == 0


def test_processor_time_and_memory_are_those_of_this_process() -> None:
    before = cpu_seconds(alone=True)
    with MostMemory(b"python", b"no such program") as memory:
        np.sort(np.random.default_rng(1).normal(0, 1, 3_000_000))
    assert cpu_seconds(alone=True) - before > 0.05
    assert memory.megabytes[b"python"] > 20
    assert memory.megabytes[b"no such program"] == 0


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """What sessions tell: wrong results, unless a test changes them."""
    answers: list[Any] = []
    field.run.cache_clear()
    monkeypatch.setattr(field, "start", lambda *_: answers)
    yield answers
    field.run.cache_clear()


def test_a_stream_with_wrong_results_is_not_measured(told: list[Any]) -> None:
    quick = CASES[0].at_most(10)
    told += [{"digest": {"windows": 0, "n": 7, "total": 0.0}}] * len(quick.streams.named)
    with pytest.raises(AssertionError, match="The stream of 3 keys has 0 of windows, the raw rows come to"):
        field_of(quick).measure(1)


def readings() -> list[Reading]:
    run = done()
    made = []
    for one in CASES:
        for contestant in one.contestants:
            numbers = {"Sash": run.coefficients, case.MEASURED: run.measured, case.PLAN: run.planned}[contestant.name]
            value = numbers[one.name.removeprefix("plan, ")]
            made.append(reading(one, contestant, [value], one.rows, None))
    return made


def test_targets_are_within_a_third() -> None:
    verdicts = report.judge(CASES, readings())
    assert len(verdicts) == 2 * len(PLANNED)
    assert all(one.is_met for one in verdicts)


def test_the_page_has_each_coefficient_and_a_plan() -> None:
    made = readings()
    text = page.page_of(made)
    assert "{{" not in text
    assert all(f"| {of} | " in text for _, of in COEFFICIENTS.values())
    plan = page.worked_plan(made)
    assert f"| cores | {plan.cores:,}; " in text
    assert f"1.0 × |\n{''}" in text or "1 × |" in text
    assert Coefficients.from_lines(page.file_of(made).splitlines()) == page.coefficients_of(made)


def test_a_quick_run_has_few_rows() -> None:
    quick = CASES[0].at_most(2_000)
    assert max(one.rows for one in quick.streams.named.values()) <= 5_000
    assert {one.batches for one in quick.streams.named.values()} == {case.FEWEST_BATCHES}
    assert quick.streams.largest.keys > quick.streams.many_keys.keys


def test_the_largest_stream_is_beyond_the_others() -> None:
    streams = Streams()
    smaller = (streams.few_rows, streams.few_keys, streams.many_keys)
    assert all(streams.largest.keys > 3 * one.keys for one in smaller)
    assert streams.largest.rows * streams.largest.batches >= 10_000_000
    assert replace(streams).largest.rows / INTERVAL == 20_000


@pytest.mark.skipif(not SIZING.exists(), reason="nothing was measured")
def test_the_page_and_the_coefficients_are_those_of_the_csv() -> None:
    measured = read(SIZING)
    assert page.PAGE.read_text("utf-8") == page.page_of(measured), REWRITE
    assert page.FILE.read_text("utf-8") == page.file_of(measured), REWRITE
    plan = SizePlan(size_of_stream(Streams().largest), INTERVAL, page.coefficients_of(measured), CORES)
    planned = {one.case: one.value for one in measured if one.contestant == case.PLAN}
    assert planned["plan, processor time"] == pytest.approx(plan.batch_seconds, rel=0.01)
    assert all(one.is_met for one in report.judge(CASES, measured))
