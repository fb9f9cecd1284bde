"""Runs all streams, checks their results, makes coefficients of the smaller ones, and plans the largest one with these."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
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
from benchmarks.sizing.fit import MEGABYTE, Measured, StreamUse, coefficients_of, use_of
from benchmarks.stream_growth.data import FILES, arrivals, rows_of
from benchmarks.stream_growth.digest import expected
from benchmarks.stream_growth.field import check
from sash.engine.prepare import prepare
from sash.state.declared_size import declared_sizes
from sash.state.size_plan import Coefficients, MicroBatchSize, SizePlan, size_of

MODULE = "benchmarks.sizing.one_session"
RESTARTED = ["few_rows", "many_keys"]
"""The streams that are restarted twice where all processes run: the faster time counts."""
Place = tuple[str, str, int, str]
"""The folder of the rows of a stream, that of its checkpoint, the files of a micro-batch, and the length of windows."""
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
    """Run all streams in one session, and restart them in others."""
    with ExitStack() as stack:
        kernels = stack.enter_context(kernel_cache())
        places = {name: _place(one, stack) for name, one in streams.named.items()}
        told: Any = start(MODULE, kernels, json.dumps([*places.values()]))
        uses = {name: _checked(stream, one) for (name, stream), one in zip(streams.named.items(), told, strict=True)}
        del places["warm"], uses["warm"]
        for name in places:
            _show_last_files(Path(places[name][0]), uses[name].stream)
        # In the first session, the first restart starts all processes, and the others find them running.
        restarts = [
            *_restart(["few_keys", *RESTARTED * 2], uses, places, kernels),
            *_restart(["largest"], uses, places, kernels),
        ]
    largest = uses.pop("largest")
    fastest = {name: min(seconds for one, seconds in restarts if one == name) for name, _ in restarts}
    return result_of(Measured(**uses, restarts=fastest), largest)


def result_of(known: Measured, largest: StreamUse) -> SizingRun:
    """Return coefficients, and what they plan of the largest stream beside what it used."""
    prepared = prepare(query()._declared, SCHEMA)  # noqa: SLF001 — a part of Query
    [declared] = declared_sizes(prepared, SCHEMA)
    coefficients = coefficients_of(known, largest, declared.slice_bytes)
    size = size_of_stream(largest.stream)
    plan = SizePlan(size, INTERVAL, Coefficients(**coefficients), CORES, retained=len(largest.batches))
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
        "restart": known.restarts["largest"] - largest.usual_cpu,
    }
    return SizingRun(coefficients, planned, measured)


def size_of_stream(stream: SizedStream) -> MicroBatchSize:
    """Return what is planned of the micro-batches of a stream."""
    prepared = prepare(query(stream.window)._declared, SCHEMA)  # noqa: SLF001
    return size_of(prepared, SCHEMA, rate=stream.rows / INTERVAL, keys=stream.keys, interval=INTERVAL)


def _place(stream: SizedStream, stack: ExitStack) -> Place:
    """Return the arguments of a stream. The rows of its last micro-batch are hidden until it is restarted."""
    rows = arrivals(stream.keys, stream.rows, stream.batches + 1)
    rows_of.cache_clear()
    for file in rows.glob(f"{stream.batches:03}_*.parquet"):
        file.rename(file.with_name(f"_{file.name}"))
    return str(rows), stack.enter_context(tempfile.TemporaryDirectory(dir=folder())), FILES, stream.window


def _show_last_files(rows: Path, stream: SizedStream) -> None:
    for file in rows.glob(f"_{stream.batches:03}_*.parquet"):
        file.rename(file.with_name(file.name.removeprefix("_")))


def _checked(stream: SizedStream, told: dict[str, Any]) -> StreamUse:
    """Return what a stream used, if its results are right."""
    name = f"The stream of {stream.keys:,} keys"
    check(name, told["digest"], expected(stream.keys, stream.rows, stream.batches, stream.slices, 1))
    rows_of.cache_clear()
    use = use_of(stream, told)
    print(  # noqa: T201
        f"{name}, {stream.rows:,} rows: {use.usual_cpu:.2f} s of processor time, {use.checkpoint_bytes / 1e6:,.0f} MB in files,"
        f" {use.java_megabytes:,.0f} + {use.worker_megabytes:,.0f} MB of memory",
        file=sys.stderr,
        flush=True,
    )
    return use


def _restart(
    names: Sequence[str], uses: Mapping[str, StreamUse], places: Mapping[str, Place], kernels: str
) -> list[tuple[str, float]]:
    """Return the processor seconds of the first micro-batch of streams that are restarted in one session, from copies of their checkpoints."""
    with ExitStack() as stack:
        copies = []
        for name in names:
            rows, checkpoint, *others = places[name]
            copy = stack.enter_context(tempfile.TemporaryDirectory(dir=folder()))
            shutil.copytree(checkpoint, copy, dirs_exist_ok=True)
            copies.append((rows, copy, *others))
        told: Any = start(MODULE, kernels, json.dumps(copies))
    seconds = []
    for name, one in zip(names, told, strict=True):
        check(f"The restart of {name}", one["digest"], _last_results(uses[name].stream))
        seconds.append((name, float(one["batches"][0]["cpu"])))
        print(f"The restart of {name}: {seconds[-1][1]:.2f} s of processor time", file=sys.stderr, flush=True)  # noqa: T201
    return seconds


@cache
def _last_results(stream: SizedStream) -> dict[str, float]:
    """Return what the results of the last micro-batch come to."""
    before, after = (expected(stream.keys, stream.rows, stream.batches + more, stream.slices, 1) for more in (0, 1))
    rows_of.cache_clear()
    return {name: after[name] - before[name] for name in after}
