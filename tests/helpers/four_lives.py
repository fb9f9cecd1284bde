"""The four lives of a query over the events that a stream accepts: labels, a table, a stream with history, lookups from a store.

A stream here is a sequence of runs, each of which goes on from the file of the one before. Some runs are interrupted, and run again.
The model of what a stream accepts shares nothing with the engine.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

import sash
from sash.algorithms.base import alike
from sash.serve.store import Store

NEVER = -(10**9)
ROUNDED = {"sd", "weighted", "smooth", "slope", "moments"}
"""Aggregates that round, so that the order of steps shows; all others are equal bit for bit, as sums of quarters are exact."""
TIME = "t"
INTERRUPTED = 0.4
"""How many of all runs are interrupted."""


@dataclass
class Feed:
    """What a stream gets: the past as a table, in any order, and the rest in order of arrival, in batches."""

    past: pa.Table
    batches: list[pa.Table]
    until: int | None
    """Where the stream takes over, if it has a past."""
    lateness: int
    ticks: int = 1
    """Ticks of the time column in a unit of `until` and `lateness`."""

    def accepted(self, count: int) -> pa.Table:
        """Return the events that a stream has accepted after some batches, in order of arrival."""
        begin = NEVER if self.until is None else self.until
        older = times_of(self.past, self.ticks)
        found = (
            [self.past.filter(pa.array([time < begin for time in older], pa.bool_()))] if self.until is not None else []
        )
        newest = max((time for time in older if time < begin), default=NEVER) if found else NEVER
        for batch in self.batches[:count]:
            in_time = []
            for time in times_of(batch, self.ticks):
                in_time.append(time >= begin and time >= newest - self.lateness)
                newest = max(newest, time)
            found.append(batch.filter(pa.array(in_time, pa.bool_())))
        return pa.concat_tables([self.past.schema.empty_table(), *found])

    def watermark(self, count: int) -> int:
        """Return the watermark after some batches."""
        begin = NEVER if self.until is None else self.until
        times = [time for batch in self.batches[:count] for time in times_of(batch, self.ticks)]
        return max(begin, max(times, default=NEVER) - self.lateness)

    def start(self) -> dict[str, Any]:
        """Return the options that start a stream from its past."""
        if self.until is None:
            return {}
        until = pa.scalar(self.until * self.ticks, pa.int64()).cast(self.past.schema.field(TIME).type).as_py()
        return {"history": self.past, "until": until, "partial": True}

    def reader(self, first: int, last: int, taken: list[int]) -> pa.RecordBatchReader:
        """Return some batches as a stream, which counts in `taken` how many of all batches were read."""

        def batches() -> Iterator[pa.RecordBatch]:
            for number in range(first, last):
                taken[0] = number + 1
                yield from self.batches[number].combine_chunks().to_batches() or [
                    pa.RecordBatch.from_pylist([], self.past.schema)
                ]

        return pa.RecordBatchReader.from_batches(self.past.schema, batches())


def times_of(table: pa.Table, ticks: int) -> list[int]:
    """Return the times of rows."""
    return [time // ticks for time in table[TIME].cast(pa.int64()).to_pylist()]


@dataclass
class Lives:
    """One query, its options, and the four ways to its results. With `forget`, a key has another name after each long gap."""

    query: sash.Query
    keys: tuple[str, ...]
    feed: Feed
    forget: int | None = None
    span: Any = int

    def options(self) -> dict[str, Any]:
        """Return the options of the stream."""
        return {"late": "drop", **({} if self.forget is None else {"forget": self.span(self.forget)})}

    # -- (a) and (b) ---------------------------------------------------------------------------------------------------

    def labelled(self, accepted: pa.Table, labels: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
        """Return the features of labels, (…keys, time in units)."""
        schema = pa.schema([accepted.schema.field(name) for name in (*self.keys, TIME)])
        table, named = accepted, labels
        if self.forget is not None:
            table, epochs = named_by_epoch(accepted, self.keys[0], self.feed.ticks, self.forget)
            named = [(epoch_at(epochs, key, time, self.forget), time) for key, time in labels]
        columns = list(zip(*named, strict=True)) or [()] * len(schema)
        times = pa.array([time * self.feed.ticks for time in columns[-1]], pa.int64()).cast(schema.field(TIME).type)
        arrays = [pa.array(column, each.type) for column, each in zip(columns[:-1], schema, strict=False)]
        found = self.query.run(table, at=pa.table([*arrays, times], schema=schema))
        rows: list[dict[str, Any]] = found.drop_columns(schema.names).to_pylist()
        return rows

    def in_table(self, accepted: pa.Table) -> dict[int, dict[str, Any]]:
        """Return the features of each row by its id, from a run over a table."""
        table = accepted
        if self.forget is not None:
            table, _ = named_by_epoch(accepted, self.keys[0], self.feed.ticks, self.forget)
        return {row["id"]: features_of(row, accepted.schema.names) for row in self.query.run(table).to_pylist()}

    # -- (c) -----------------------------------------------------------------------------------------------------------

    def streamed(self) -> dict[int, dict[str, Any]]:
        """Return the features of each row by its id, from one run of a stream to its end."""
        reader = self.feed.reader(0, len(self.feed.batches), [0])
        return self._rows(self.query.run(reader, **self.options(), **self.feed.start()))

    def resumed(self, path: Path, ends: Sequence[int], chooser: random.Random) -> dict[int, dict[str, Any]]:
        """Return the features of each row by its id, from runs that end after some batches. Some are interrupted and run again."""
        found: dict[int, dict[str, Any]] = {}
        first = 0
        for last in ends:
            if chooser.random() < INTERRUPTED and next(self._resume(path, first, last), None) is None:
                first = last  # a run without results has ended
                continue
            rows = self._rows(self._resume(path, first, last))
            assert not found.keys() & rows.keys()
            found |= rows
            first = last
        return found

    def _resume(
        self, path: Path, first: int, last: int, taken: list[int] | None = None, **more: Any
    ) -> pa.RecordBatchReader:
        reader = self.feed.reader(first, last, [0] if taken is None else taken)
        return self.query.run(reader, resume=path, **self.options(), **self.feed.start(), **more)

    def _rows(self, results: Any) -> dict[int, dict[str, Any]]:
        rows = results.read_all().to_pylist()
        ids = [row["id"] for row in rows]
        assert len(set(ids)) == len(ids), f"rows of a stream come twice: {ids}"
        return {row["id"]: features_of(row, self.feed.past.schema.names) for row in rows}

    # -- (d) -----------------------------------------------------------------------------------------------------------

    def served(self, store: Store, path: Path, ends: Sequence[int], chooser: random.Random) -> Iterator[int]:
        """Write the states of a stream to a store. Yield the number of batches that it has read, whenever the store is up to date.

        A run that was interrupted emits its states once more.
        """
        first = number = 0
        for last in ends:
            for most in [1, None] if chooser.random() < INTERRUPTED else [None]:
                taken, following = [first], number
                for batch in islice(self._resume(path, first, last, taken, emit="state"), most):
                    following += 1
                    if store.write_next(batch, "features", "a stream", following - 1):
                        yield taken[0]
                if following == number:
                    break  # a run without states has ended
            number, first = following, last

    def looked_up(self, store: Store, keys: list[tuple[Any, ...]], now: int) -> list[dict[str, Any]]:
        """Return the features of keys at a time, from a store."""
        header = store.get("features").layout.header
        time = pa.scalar(now * self.feed.ticks, pa.int64()).cast(self.feed.past.schema.field(TIME).type).as_py()
        states = [store.state("features", dict(zip(self.keys, key, strict=True))) for key in keys]
        found: list[dict[str, Any]] = self.query.lookup(states, now=time, header=header)
        return found


def features_of(row: dict[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """Return the features in a row of results."""
    return {name: value for name, value in row.items() if name not in columns}


def named_by_epoch(
    events: pa.Table, key: str, ticks: int, forget: int
) -> tuple[pa.Table, dict[Any, list[tuple[int, int, str]]]]:
    """Return events whose keys have another name after each long gap, and by key the first time, last time and name of its epochs."""
    keys, times = events[key].to_pylist(), times_of(events, ticks)
    epochs: dict[Any, list[tuple[int, int, str]]] = {}
    names: dict[int, str] = {}
    for place in sorted(range(len(keys)), key=lambda place: times[place]):
        own = epochs.setdefault(keys[place], [])
        if own and times[place] - own[-1][1] < forget:
            own[-1] = (own[-1][0], times[place], own[-1][2])
        else:
            own.append((times[place], times[place], f"{keys[place]} {len(own)}"))
        names[place] = own[-1][2]
    index = events.schema.get_field_index(key)
    return events.set_column(index, key, pa.array([names[place] for place in range(len(keys))], pa.string())), epochs


def epoch_at(epochs: dict[Any, list[tuple[int, int, str]]], key: Any, time: int, forget: int) -> str:
    """Return the name of a key at a time; the name of none, if it is forgotten by then."""
    started = [epoch for epoch in epochs.get(key, []) if epoch[0] <= time]
    return started[-1][2] if started and time - started[-1][1] < forget else "nobody"


def assert_equal(found: dict[str, Any], expected: dict[str, Any], about: str) -> None:
    """Raise AssertionError unless features are equal, bit for bit but for aggregates that round."""
    assert list(found) == list(expected), about
    for name, value in found.items():
        other = expected[name]
        same = type(value) is type(other) and repr(value) == repr(other)
        may_round = (
            name.rpartition("_")[0] in ROUNDED
            or name in ROUNDED
            or any(name.startswith(f"{each}_") for each in ROUNDED)
        )
        assert same or (may_round and alike(value, other)), f"{about}: {name} is {value!r}, not {other!r}"
