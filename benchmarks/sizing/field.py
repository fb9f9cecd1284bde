"""Runs all streams, checks their results, makes coefficients of the smaller ones, and plans the largest one with these."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.case import Contestant
from benchmarks.first_answer.data import folder
from benchmarks.first_answer.processes import kernel_cache, start
from benchmarks.sizing.case import (
    COEFFICIENTS,
    CORES,
    INTERVAL,
    MEASURED,
    PLAN,
    SizedStream,
    SizingCase,
    Streams,
    query,
)
from benchmarks.sizing.fit import MEGABYTE, StreamUse, coefficients_of, use_of
from benchmarks.stream_growth.data import FILES, arrivals, rows_of
from benchmarks.stream_growth.digest import expected
from benchmarks.stream_growth.field import check
from sash.engine.prepare import prepare
from sash.state.declared_size import declared_sizes
from sash.state.size_plan import Coefficients, MicroBatchSize, SizePlan, size_of

MODULE = "benchmarks.sizing.one_session"
SLICES = 5
RESTARTS = 2
"""The first of two is sometimes slower; the faster one counts."""
SCHEMA = pa.schema({"key": pa.int64(), "ts": pa.timestamp("us", "UTC"), "x": pa.float64()})


@dataclass(frozen=True)
class SizingRun:
    """What came of all streams."""

    coefficients: dict[str, float]
    planned: dict[str, float]
    measured: dict[str, float]


class SizingField:
    """The numbers of a run."""

    def __init__(self, case: SizingCase) -> None:
        self.case = case
        self.compiled: dict[str, float] = {}

    def counted(self, contestant: Contestant) -> int:  # noqa: ARG002 — all cases are of one run
        """Return the rows of a micro-batch of the largest stream."""
        return self.case.streams.largest.rows

    def measure(self, repeats: int) -> dict[str, list[float]]:  # noqa: ARG002 — a stream has many micro-batches
        """Return the number of the case."""
        done, name = run(self.case.streams), self.case.name
        if name in COEFFICIENTS:
            return {"Sash": [done.coefficients[name]]}
        what = name.removeprefix("plan, ")
        return {MEASURED: [done.measured[what]], PLAN: [done.planned[what]]}


@cache
def run(streams: Streams) -> SizingRun:
    """Run all streams in one session, and restart three of them in sessions of their own."""
    with ExitStack() as stack:
        kernels = stack.enter_context(kernel_cache())
        arguments = [_arguments(one, stack) for one in streams.all]
        told: Any = start(MODULE, kernels, json.dumps(arguments))
        uses = [_checked(stream, one) for stream, one in zip(streams.all, told, strict=True)]
        _, few_rows, few_keys, many_keys, largest = uses
        again = [_restart(one, place, kernels) for one, place in zip(uses[2:], arguments[2:], strict=True)]
    return result_of(few_rows, few_keys, many_keys, largest, again)


def result_of(
    few_rows: StreamUse, few_keys: StreamUse, many_keys: StreamUse, largest: StreamUse, again: Sequence[float]
) -> SizingRun:
    """Return coefficients, and what they plan of the largest stream beside what it used."""
    prepared = prepare(query()._declared, SCHEMA)  # noqa: SLF001 — a part of Query
    [declared] = declared_sizes(prepared, SCHEMA)
    known = coefficients_of(few_rows, few_keys, many_keys, again[:2], largest.stream, declared.slice_bytes)
    known["most_slices"] = largest.slices / CORES
    size = size_of_stream(largest.stream)
    plan = SizePlan(size, INTERVAL, Coefficients(**known), CORES, retained=len(largest.batches))
    planned = {
        "processor time": plan.batch_seconds,
        "memory": plan.memory_bytes,
        "checkpoint": plan.checkpoint_bytes,
        "restart": plan.restart_seconds * CORES,
    }
    measured = {
        "processor time": largest.usual_cpu,
        "memory": (largest.java_megabytes + largest.worker_megabytes) * MEGABYTE,
        "checkpoint": largest.checkpoint_bytes,
        "restart": again[2] - largest.usual_cpu,
    }
    return SizingRun(known, planned, measured)


def size_of_stream(stream: SizedStream) -> MicroBatchSize:
    """Return what is planned of the micro-batches of a stream."""
    prepared = prepare(query()._declared, SCHEMA)  # noqa: SLF001
    return size_of(prepared, SCHEMA, rate=stream.rows / INTERVAL, keys=stream.keys, interval=INTERVAL)


def _arguments(stream: SizedStream, stack: ExitStack) -> list[Any]:
    """Return the arguments of a stream. The rows of its last micro-batch are hidden until it is restarted."""
    rows = arrivals(stream.keys, stream.rows, stream.batches + 1)
    rows_of.cache_clear()
    for file in _last_files(rows, stream, "*"):
        file.rename(file.with_name(f"_{file.name}"))
    return [str(rows), stack.enter_context(tempfile.TemporaryDirectory(dir=folder())), FILES]


def _last_files(rows: Path, stream: SizedStream, before: str) -> list[Path]:
    return sorted(rows.glob(f"{before.removesuffix('*')}{stream.batches:03}_*.parquet"))


def _checked(stream: SizedStream, told: dict[str, Any]) -> StreamUse:
    """Return what a stream used, if its results are right."""
    name = f"The stream of {stream.keys:,} keys"
    check(name, told["digest"], expected(stream.keys, stream.rows, stream.batches, SLICES, 1))
    rows_of.cache_clear()
    use = use_of(stream, told)
    print(  # noqa: T201
        f"{name}, {stream.rows:,} rows: {use.usual_cpu:.2f} s of processor time, {use.checkpoint_bytes / 1e6:,.0f} MB in files,"
        f" {use.java_megabytes:,.0f} + {use.worker_megabytes:,.0f} MB of memory",
        file=sys.stderr,
        flush=True,
    )
    return use


def _restart(use: StreamUse, arguments: list[Any], kernels: str) -> float:
    """Return the processor seconds of the first micro-batch after a restart."""
    stream, rows = use.stream, Path(arguments[0])
    for file in _last_files(rows, stream, "_*"):
        file.rename(file.with_name(file.name.removeprefix("_")))
    seconds = []
    for _ in range(RESTARTS):
        with tempfile.TemporaryDirectory(dir=folder()) as copy:
            shutil.copytree(arguments[1], copy, dirs_exist_ok=True)
            streams: Any = start(MODULE, kernels, json.dumps([[arguments[0], copy, arguments[2]]]))
        [told] = streams
        seconds.append(float(told["batches"][0]["cpu"]))
    before, after = (expected(stream.keys, stream.rows, stream.batches + more, SLICES, 1) for more in (0, 1))
    rows_of.cache_clear()
    check(f"The restart of {stream.keys:,} keys", told["digest"], {name: after[name] - before[name] for name in after})
    shown = ", ".join(f"{one:.2f}" for one in seconds)
    print(f"The restart of {stream.keys:,} keys: {shown} s of processor time", file=sys.stderr, flush=True)  # noqa: T201
    return min(seconds)
