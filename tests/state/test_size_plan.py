"""What `sash size` plans, held against real states and against itself."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import agg, window
from sash.engine.prepare import Prepared, prepare
from sash.state.declared_size import declared_sizes
from sash.state.size_plan import (
    RETAINED,
    Coefficients,
    MicroBatchSize,
    SizePlan,
    measured_coefficients,
    size_of,
)
from sash.state.stream_state import StreamState

SCHEMA = pa.schema({"card": pa.int64(), "at": pa.timestamp("us"), "amount": pa.float64()})
SUM = {"spent": agg.sum("amount"), "n": agg.count()}
SECOND = 1_000_000
KEYS, INTERVAL = 300, 60.0
KNOWN = Coefficients(
    batch_seconds=0.25,
    row_seconds=1e-6,
    change_seconds=2e-6,
    slice_seconds=1e-7,
    result_seconds=1e-6,
    key_bytes=20,
    written_share=0.5,
    stored_share=0.6,
    java_bytes=1e9,
    worker_bytes=4e8,
    row_bytes=300,
    result_bytes=400,
    restart_seconds=5,
    restart_slice_seconds=2e-7,
    most_slices=1e6,
    most_rows=1e5,
)


def prepared_of(windows: Any, aggregates: Any = SUM) -> Prepared:
    return prepare(sash.Query(aggregates, windows, by="card", time="at")._declared, SCHEMA)


def planned(windows: Any, rate: float, keys: float = KEYS, interval: float = INTERVAL) -> MicroBatchSize:
    return size_of(prepared_of(windows), SCHEMA, rate=rate, keys=keys, interval=interval)


def streamed(windows: Any, rate: float, batches: int) -> tuple[Any, float]:
    """The size of a state after some micro-batches of rows that come evenly, and the mean results of the last two."""
    state, random, results = StreamState(prepared_of(windows)), np.random.default_rng(2), [0]
    rows = int(rate * INTERVAL)
    for batch in range(batches):
        begin = (28_000_000 * 60 + batch * 60) * SECOND
        times = np.sort(random.integers(begin, begin + 60 * SECOND, rows))
        columns = [random.integers(0, KEYS, rows), pa.array(times, pa.timestamp("us")), random.normal(0, 1, rows)]
        emitted = state.advance(pa.table(columns, schema=SCHEMA), int(begin))
        results.append(0 if emitted.results is None else len(emitted.results))
    return state.size, sum(results[-2:]) / 2


@pytest.mark.parametrize("rate", [1.0, 10.0, 100.0])
@pytest.mark.parametrize(
    "windows",
    [
        window.time("20m", slide="1m"),
        {"long": window.time("30m", slide="2m"), "short": window.time("10m", slide="1m")},
        window.time("10m"),
        window.time("20m", tail="1m"),
        window.expanding(),
    ],
    ids=str,
)
def test_a_state_is_as_large_as_planned(windows: Any, rate: float) -> None:
    size, results = streamed(windows, rate, 80)
    plan = planned(windows, rate)
    assert 0.75 * plan.slices <= size.slices + size.rows <= 1.15 * plan.slices + 3 * rate * INTERVAL
    assert 0.85 * plan.results <= results <= 1.15 * plan.results


def test_many_rows_have_the_bytes_that_explain_declares() -> None:
    windows = window.time("7d", slide="1h")
    [declared] = declared_sizes(prepared_of(windows), SCHEMA)
    plan = planned(windows, 1e6)
    assert plan.slice_bytes / KEYS == pytest.approx(declared.total(), rel=0.01)
    assert plan.most_bytes == declared.total()
    few = planned(windows, 1e-3)
    assert few.slice_bytes < 0.1 * plan.slice_bytes
    assert few.most_bytes == plan.most_bytes


def test_windows_of_rows_store_rows() -> None:
    plan = planned(window.rows(100), 10)
    assert plan.slices == 99 * KEYS
    assert plan.results == plan.rows == 600
    assert plan.most_bytes == 99 * 24


def test_numbers_as_times_have_no_plan_but_for_windows_of_rows() -> None:
    schema = SCHEMA.set(1, pa.field("at", pa.int64()))
    for windows, works in ((window.rows(5), True), (window.time(60, slide=10), False)):
        prepared = prepare(sash.Query(SUM, windows, by="card", time="at")._declared, schema)
        if works:
            assert size_of(prepared, schema, rate=1, keys=2, interval=3).slices == 8
        else:
            with pytest.raises(ValueError, match=r"'at' holds numbers.* Use a column of times"):
                size_of(prepared, schema, rate=1, keys=2, interval=3)


@pytest.mark.parametrize("windows", [window.session("5m"), window.tumbling("1mo")], ids=str)
def test_windows_whose_state_depends_on_rows_have_no_plan(windows: Any) -> None:
    with pytest.raises(ValueError, match=r"depends on the rows, so there is no plan\. Use windows of a fixed length"):
        planned(windows, 1)


SIZE = planned(window.time("1h", slide="1m"), 1e6, 1e8)
PLAN = SizePlan.with_enough_cores(SIZE, INTERVAL, KNOWN)


def test_cores_are_busy_for_the_share_that_is_asked_for() -> None:
    for busy in (0.3, 0.7, 1.0):
        plan = SizePlan.with_enough_cores(SIZE, INTERVAL, KNOWN, busy)
        assert plan.batch_seconds <= busy * plan.cores * INTERVAL
        fewer = replace(plan, cores=plan.cores - 1)
        assert fewer.batch_seconds > busy * fewer.cores * INTERVAL


def test_an_interval_that_is_too_short_says_which_is_long_enough() -> None:
    with pytest.raises(
        ValueError, match=r"takes 0\.25 s of a core .* every 0\.3 s\. Use an interval of more than 0\.36 s"
    ):
        SizePlan.with_enough_cores(SIZE, 0.3, KNOWN)


def test_numbers_of_a_plan() -> None:
    assert PLAN.state_bytes == pytest.approx(SIZE.slice_bytes + 20 * SIZE.keys)
    changed = SIZE.changes * SIZE.slice_bytes / SIZE.slices
    assert PLAN.checkpoint_bytes == pytest.approx(0.6 * PLAN.state_bytes + RETAINED * 0.5 * changed)
    assert PLAN.memory_bytes == pytest.approx(PLAN.cores * 1.4e9 + 60e6 * 300 + SIZE.most_results * 400)
    assert SIZE.most_results == SIZE.results
    often = planned(window.time("1h", slide="1m"), 1e6, 1e8, interval=10)
    assert often.most_results == pytest.approx(6 * often.results)
    assert PLAN.restart_seconds == pytest.approx(5 + SIZE.slices * 2e-7 / PLAN.cores)


def test_each_line_says_whether_it_was_measured() -> None:
    bases = {what: basis for what, _, basis in PLAN.lines()}
    assert bases["rows"] == "given"
    assert "explain()" in bases["state"]
    for what in ("cores", "memory", "checkpoint", "restart"):
        assert bases[what].startswith("extrapolated: 1,365 × the largest measured stream")
    small = SizePlan.with_enough_cores(planned(window.time("1h", slide="1m"), 100, 1000), INTERVAL, KNOWN)
    assert {basis for what, _, basis in small.lines() if what in ("cores", "memory", "restart")} == {"measured"}


def test_coefficients_are_read_from_lines() -> None:
    assert Coefficients.from_lines(KNOWN.lines()) == KNOWN
    with pytest.raises(ValueError, match=r"The coefficients lack batch_seconds.*python -m benchmarks sizing"):
        Coefficients.from_lines(["# nothing", "name,value"])
    with pytest.raises(ValueError, match="'rows' is not a coefficient"):
        Coefficients.from_lines(["rows,3"])


def test_the_package_has_coefficients() -> None:
    known = measured_coefficients()
    assert all(getattr(known, field.name) >= 0 for field in fields(known))
    assert known.most_rows > 1e5
