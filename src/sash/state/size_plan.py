"""How large a stream on Spark gets: cores, memory, checkpoint and restart, from a rate, a number of keys and a query.

    query, rate, keys ──► MicroBatchSize ──► SizePlan ──► lines
      declared_size.py    rows, slices,      ▲
                          results            └ Coefficients, which benchmarks/sizing measures

A key has as many slices as `declared_size` says at most, just before windows end. Where rows are few, it has fewer: rows are taken to come evenly over keys and time,
so a slice that expects n rows exists with the probability 1 - exp(-n).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import NamedTuple, Self

import pyarrow as pa

from sash.engine.prepare import Prepared
from sash.engine.stream_plan import stream_plan
from sash.plan.expected import bytes_to_text
from sash.state.declared_size import SECOND, DeclaredSize, declared_sizes

RETAINED = 100
"""Spark retains the changes of so many micro-batches (`spark.sql.streaming.minBatchesToRetain`)."""
BUSY = 0.7
"""The share of the time that cores should be busy: the rest is for rates that vary, and for catching up."""
ROUNDED = 10


@dataclass(frozen=True)
class Coefficients:
    """What was measured of a stream on Spark. Seconds are processor time, of Java and Python together; "a slice" is one of one key."""

    batch_seconds: float
    """Of a micro-batch on each core, however few rows it has."""
    row_seconds: float
    change_seconds: float
    """Of a slice that a micro-batch changes."""
    slice_seconds: float
    """Of a slice in the state, in each micro-batch."""
    result_seconds: float
    key_bytes: float
    """Of a key in the state, besides its slices."""
    written_share: float
    """Bytes of a checkpoint that a micro-batch writes for each byte of the slices that it changes."""
    stored_share: float
    """Bytes of a checkpoint for each byte of the state, without these changes."""
    java_bytes: float
    """Memory of Java for each core."""
    worker_bytes: float
    """Memory of the Python worker of each core."""
    row_bytes: float
    """Memory of a row of a micro-batch."""
    result_bytes: float
    """Memory of a result of a micro-batch."""
    restart_seconds: float
    """Of the first micro-batch on each core, beyond a usual one."""
    restart_slice_seconds: float
    """The same, of each slice."""
    most_slices: float
    """How many slices the largest measured stream had on a core."""
    most_rows: float
    """How many rows a micro-batch of it had on a core."""

    @classmethod
    def from_lines(cls, lines: Iterable[str]) -> Self:
        """Return the coefficients of a CSV with the columns name and value. Raise ValueError if it has others."""
        values: dict[str, float] = {}
        names = [field.name for field in fields(cls)]
        for line in lines:
            name, _, value = line.strip().partition(",")
            if name in names:
                values[name] = float(value)
            elif name not in ("", "name") and not name.startswith("#"):
                raise ValueError(f"{name!r} is not a coefficient. The coefficients are {', '.join(names)}.")
        if missing := [name for name in names if name not in values]:
            raise ValueError(
                f"The coefficients lack {', '.join(missing)}. python -m benchmarks sizing measures all of them."
            )
        return cls(**values)

    def lines(self) -> Iterator[str]:
        """Yield the lines of a CSV."""
        yield "name,value"
        yield from (f"{field.name},{getattr(self, field.name):.4g}" for field in fields(self))


@cache
def measured_coefficients() -> Coefficients:
    """Return the coefficients that come with Sash."""
    from pkgutil import get_data  # noqa: PLC0415 — from a zip file too, and lighter than importlib.resources

    text = get_data("sash.state", "coefficients.csv")
    assert text is not None
    return Coefficients.from_lines(text.decode().splitlines())


@dataclass(frozen=True)
class MicroBatchSize:
    """What a micro-batch of a stream has, and the state that it leaves."""

    rows: float
    changes: float
    """Slices of keys that it changes."""
    results: float
    most_results: float
    """Of a micro-batch in which windows end, if that is not in each."""
    keys: float
    """Keys with a state."""
    slices: float
    """Slices of all keys, and rows that are stored in their place."""
    slice_bytes: float
    """Of all slices."""
    most_bytes: float
    """Of a key at most, as `explain()` says."""

    def state_bytes(self, coefficients: Coefficients) -> float:
        """Return the bytes of the state, not compressed."""
        return self.slice_bytes + self.keys * coefficients.key_bytes

    def changed_bytes(self) -> float:
        """Return the bytes of the slices that a micro-batch changes."""
        return self.changes * self.slice_bytes / self.slices


def size_of(prepared: Prepared, schema: pa.Schema, *, rate: float, keys: float, interval: float) -> MicroBatchSize:
    """Return the size of the micro-batches of a query.

    `rate` is in rows a second, `interval` in seconds between two micro-batches. Raise ValueError if the windows do not tell how many slices
    or rows they need.
    """
    declared = declared_sizes(prepared, schema)
    states = [
        _state_of(group, size, rate / keys, interval)
        for group, size in zip(stream_plan(prepared).groups, declared, strict=True)
    ]
    windows = prepared.plan.windows.values()
    if any(window.per_row for window in windows):
        results = most_results = rate * interval
    else:
        ends = [(keys * share_with_rows(rate / keys * one.length), interval / one.every) for one in _cycles(prepared)]
        results = sum(each * times for each, times in ends)
        most_results = sum(each * max(1, times) for each, times in ends)
    most = [
        size.total(math.ceil(one.items) if size.kind == "rows" else 0)
        for size, one in zip(declared, states, strict=True)
    ]
    return MicroBatchSize(
        rate * interval,
        keys * sum(one.changes for one in states),
        results,
        most_results,
        keys * sum(one.keys for one in states),
        keys * sum(one.items for one in states),
        keys * sum(one.items * one.item_bytes for one in states),
        sum(filter(None, most)),
    )


class _KeyState(NamedTuple):
    """What is expected of one key, for windows that share a state."""

    keys: float
    """The probability that it has a state."""
    items: float
    """Slices or rows."""
    item_bytes: int
    changes: float
    """Slices or rows that a micro-batch changes."""


def _state_of(group: Prepared, declared: DeclaredSize, rate: float, interval: float) -> _KeyState:
    """Return what is expected of a key with so many rows a second."""
    if declared.kind == "rows" and declared.rows is not None:
        return _KeyState(1, declared.rows, declared.row_bytes, rate * interval)
    if group.unit.tick is None:
        problem = f"The column {group.unit.column!r} holds numbers, so a rate in rows per second does not tell how many rows a window has."
        raise ValueError(f"{problem} Use a column of times.")
    # The slices of a window are stored until it ends. So there are most before windows end, and on average half of a slide less.
    longest = max(_cycles(group), default=_Seconds(declared.stretch_seconds, 0))
    stretch = longest.length + longest.every / 2
    if declared.kind == "rows" and stretch:
        return _KeyState(share_with_rows(rate * stretch), rate * stretch, declared.row_bytes, rate * interval)
    if declared.kind == "rows" or declared.slices is None:
        shown = ", ".join(map(repr, group.plan.windows.values()))
        problem = f"How many slices or rows of a key {shown} needs depends on the rows, so there is no plan."
        advice = "Use windows of a fixed length, or run the stream with some of the keys and read sash.spark.counts."
        raise ValueError(f"{problem} {advice}")
    if not stretch:  # all rows of a key, in one slice
        return _KeyState(1, declared.slices, declared.slice_bytes, share_with_rows(rate * interval))
    length = (longest.length + longest.every) / declared.slices
    step = min(interval, length)
    items, changes = stretch / length * share_with_rows(rate * length), interval / step * share_with_rows(rate * step)
    return _KeyState(share_with_rows(rate * stretch), items, declared.slice_bytes, changes)


class _Seconds(NamedTuple):
    """How long windows are, and the time between their ends, in seconds."""

    length: float
    every: float


def _cycles(group: Prepared) -> list[_Seconds]:
    """Return those of windows that repeat and have a result each."""
    unit, tick = group.unit, (group.unit.tick or 0) / SECOND
    windows = [one for one in group.plan.windows.values() if one.cuts is not None and not one.per_row]
    cycles = [one.cuts.cycle(unit) for one in windows if one.cuts is not None and not one.by_calendar]
    return [_Seconds(cycle.length * tick, cycle.every * tick) for cycle in cycles if cycle is not None]


def share_with_rows(expected: float) -> float:
    """Return the share of slices that have rows, if each is expected to have so many.

    >>> round(share_with_rows(0.01), 5), share_with_rows(100)
    (0.00995, 1.0)
    """
    return -math.expm1(-expected)


@dataclass(frozen=True)
class SizePlan:
    """The cores, the memory and the checkpoint of a stream."""

    size: MicroBatchSize
    interval: float
    coefficients: Coefficients
    cores: int
    retained: int = RETAINED

    @classmethod
    def with_enough_cores(
        cls, size: MicroBatchSize, interval: float, coefficients: Coefficients, busy: float = BUSY
    ) -> SizePlan:
        """Return a plan whose cores are busy for a share of the time. Raise ValueError if no number of cores would do."""
        share = busy - coefficients.batch_seconds / interval
        if share <= 0:
            least = coefficients.batch_seconds / busy
            raise ValueError(
                f"A micro-batch takes {coefficients.batch_seconds:.2g} s of a core however few rows it has, "
                f"and there is one every {interval:g} s. Use an interval of more than {least:.2g} s."
            )
        one = cls(size, interval, coefficients, 1)
        return replace(one, cores=math.ceil(sum(one.seconds_by_cause().values()) / interval / share))

    def seconds_by_cause(self) -> dict[str, float]:
        """Return the processor seconds of a micro-batch, besides those that each has however few rows come."""
        size, known = self.size, self.coefficients
        return {
            "rows": size.rows * known.row_seconds,
            "changed slices": size.changes * known.change_seconds,
            "the state": size.slices * known.slice_seconds,
            "results": size.results * known.result_seconds,
        }

    @property
    def batch_seconds(self) -> float:
        """Processor seconds of a micro-batch."""
        return sum(self.seconds_by_cause().values()) + self.cores * self.coefficients.batch_seconds

    @property
    def memory_bytes(self) -> float:
        """The memory of all executors."""
        size, known = self.size, self.coefficients
        of_batch = size.rows * known.row_bytes + size.most_results * known.result_bytes
        return self.cores * (known.java_bytes + known.worker_bytes) + of_batch

    @property
    def state_bytes(self) -> float:
        """The bytes of the state, not compressed: also those of its copies on the disks of workers."""
        return self.size.state_bytes(self.coefficients)

    @property
    def checkpoint_bytes(self) -> float:
        """The bytes of the checkpoint: the state, and the changes of the micro-batches that Spark retains."""
        changed = self.retained * self.size.changed_bytes() * self.coefficients.written_share
        return self.state_bytes * self.coefficients.stored_share + changed

    @property
    def restart_seconds(self) -> float:
        """The seconds until the first micro-batch after a restart is done, beyond those of a usual one."""
        known = self.coefficients
        return known.restart_seconds + self.size.slices * known.restart_slice_seconds / self.cores

    @property
    def basis(self) -> str:
        """Whether a stream as large as this one was measured; if not, how many times as many slices or rows it has, in all and on a core."""
        known = self.coefficients
        most = max(self.size.slices / known.most_slices, self.size.rows / known.most_rows)
        in_all, on_a_core = most / MEASURED_CORES, most / self.cores
        if max(in_all, on_a_core) <= 1:
            return "measured"
        by_core = f", and {say_times(on_a_core)} on each core" if on_a_core > 1 else ""
        return f"extrapolated: {say_times(in_all)} the largest measured stream{by_core}"

    def lines(self) -> Iterator[tuple[str, str, str]]:
        """Yield what is planned, how much of it, and whether that was measured."""
        size, known = self.size, self.coefficients
        basis = self.basis
        causes = ", ".join(
            f"{seconds / self.interval:.2g} for {cause}"
            for cause, seconds in self.seconds_by_cause().items()
            if seconds
        )
        yield "rows", f"{say_number(size.rows)} a micro-batch", "given"
        yield (
            "state",
            f"{bytes_to_text(self.state_bytes)} in {say_number(size.slices)} slices or rows; at most {bytes_to_text(size.most_bytes)} a key",
            "computed, as by explain()",
        )
        yield "results", f"{say_number(size.results / self.interval)} a second", "computed"
        yield "cores", f"{self.cores:,}; in use: {causes}", basis
        yield (
            "memory",
            f"{bytes_to_text(self.memory_bytes)}, of which {bytes_to_text(self.cores * known.java_bytes)} for Java",
            basis,
        )
        yield (
            "checkpoint",
            f"{bytes_to_text(self.checkpoint_bytes)}, with the changes of {self.retained} micro-batches",
            basis,
        )
        yield "restart", f"{say_seconds(self.restart_seconds)} more for the first micro-batch", basis


MEASURED_CORES = 2
"""The cores of the measured streams."""


def say_number(number: float) -> str:
    """Write a number with its unit.

    >>> say_number(950), say_number(60e6), say_number(2.71e9)
    ('950', '60 M', '2.7 G')
    """
    for unit, size in (("G", 1e9), ("M", 1e6), ("K", 1e3)):
        if number >= size:
            return f"{number / size:,.{0 if number >= ROUNDED * size else 1}f} {unit}"
    return f"{number:,.0f}"


def say_seconds(seconds: float) -> str:
    """Write a time.

    >>> say_seconds(7.25), say_seconds(150)
    ('7.2 s', '2.5 minutes')
    """
    return f"{seconds:.1f} s" if seconds < 2 * 60 else f"{seconds / 60:.1f} minutes"


def say_times(factor: float) -> str:
    """Write how many times as much.

    >>> say_times(1.62), say_times(3300)
    ('1.6 ×', '3,300 ×')
    """
    return f"{factor:,.0f} ×" if factor >= ROUNDED else f"{factor:.1f} ×"
