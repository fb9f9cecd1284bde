"""Watermarks of streams in this process: which rows are late, and up to which time windows are complete."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sash.aggregator.columns import to_arrow
from sash.engine.failures import name_row, shown
from sash.engine.keys import number_keys
from sash.engine.nested_keys import as_hashable
from sash.engine.time_column import TimeColumn
from sash.windows.base import FOREVER, NEVER, Ints, Run


@dataclass(frozen=True)
class MicroBatch:
    """Rows that arrived together, without late ones, and the watermark."""

    table: pa.Table
    after: int
    """The watermark before."""
    watermark: int
    """Rows that arrive later and are older than this are late."""
    seen_before: int = FOREVER
    """The newest time before."""
    seen: int = FOREVER
    """The newest time."""
    by_keys: bool = False
    """Whether keys arrive one after the other, so that all but the newest are complete."""

    def by_key(self, keys: int) -> tuple[Ints, Ints]:
        """Return the watermark of each key, before and now."""
        after = np.full(keys, self.after, np.int64)
        now = np.full(keys, self.watermark, np.int64)
        if self.by_keys:  # the first key is that of the micro-batch before, the only one that is not new
            now[:-1] = FOREVER
            after[1:] = NEVER
        return after, now


class Watermark:
    """Makes micro-batches of rows, and counts late rows."""

    late = 0

    def next(self, table: pa.Table) -> MicroBatch:
        """Return the micro-batch of some rows."""
        raise NotImplementedError

    def last(self, table: pa.Table) -> MicroBatch:
        """Return the micro-batch that ends a stream, without rows."""
        raise NotImplementedError


class EventTimeWatermark(Watermark):
    """The newest time minus `lateness`. Older rows are late; if `strict`, they are an error."""

    def __init__(self, time: TimeColumn, lateness: int, *, strict: bool) -> None:
        self.time = time
        self.lateness = lateness
        self.strict = strict
        self.seen = NEVER
        self.watermark = NEVER

    def next(self, table: pa.Table) -> MicroBatch:
        """Return the micro-batch without late rows."""
        times = self.time.read(table[self.time.name])
        in_time = times >= self.watermark
        if not in_time.all():
            self._count_late(table, times, in_time)
            table = table.filter(pa.array(in_time))
        seen = max(self.seen, int(times.max(initial=NEVER)))
        watermark = self.watermark if seen == NEVER else max(self.watermark, seen - self.lateness, NEVER)
        batch = MicroBatch(table, self.watermark, watermark, self.seen, seen)
        self.seen, self.watermark = seen, watermark
        return batch

    def last(self, table: pa.Table) -> MicroBatch:
        """Return the micro-batch that ends a stream."""
        return MicroBatch(table, self.watermark, FOREVER, self.seen, FOREVER)

    def _count_late(self, table: pa.Table, times: Ints, in_time: Any) -> None:
        self.late += int(len(times) - np.count_nonzero(in_time))
        if not self.strict:
            return
        row = int(np.argmin(in_time))
        newest = self.time.write(np.array([self.watermark], np.int64))[0].as_py()
        own = table[self.time.name][row].as_py()
        message = (
            f"A row with {self.time.name}={own} arrived after rows up to {newest}, whose windows are closed. Set "
            'Query(lateness=…) to accept rows out of order, run with order="keys" if rows are sorted by key, or read the '
            "whole stream into a table (reader.read_all()), which is sorted."
        )
        raise ValueError(message)


class RowOrderWatermark(Watermark):
    """Without a time column: rows arrive in order, and each is final at once."""

    def next(self, table: pa.Table) -> MicroBatch:
        """Return the micro-batch."""
        return MicroBatch(table, NEVER, FOREVER, NEVER)

    def last(self, table: pa.Table) -> MicroBatch:
        """Return the micro-batch that ends a stream."""
        return self.next(table)


class KeyOrderWatermark(Watermark):
    """For rows sorted by key and then time: all keys but the newest are complete."""

    def __init__(self, by: tuple[str, ...], time: TimeColumn | None, run: Run) -> None:
        self.by = by
        self.run = run
        self.time = time
        self.known: set[tuple[Hashable, ...]] = set()
        self.newest: tuple[Hashable, ...] | None = None
        self.watermark = NEVER

    def next(self, table: pa.Table) -> MicroBatch:
        """Return the micro-batch: only its last key continues."""
        starts, keys = self._runs(table)
        if not keys:
            return MicroBatch(table, self.watermark, self.watermark, NEVER, NEVER, by_keys=True)
        for start, key in list(zip(starts.tolist(), keys, strict=True))[keys[0] == self.newest :]:
            if key in self.known:
                named = name_row(table, self.by, start)
                message = (
                    f"Rows of {named} arrived again after rows of another key. Sort the rows by key, or leave "
                    'order="keys" out.'
                )
                raise ValueError(message)
            self.known.add(key)
        times = self._check_order(table, starts, self.watermark if keys[0] == self.newest else NEVER)
        before = self.watermark
        self.newest = keys[-1]
        self.watermark = int(times[-1]) if self.time is not None else FOREVER
        return MicroBatch(table, before, self.watermark, NEVER, by_keys=True)

    def last(self, table: pa.Table) -> MicroBatch:
        """Return the micro-batch that ends a stream."""
        return MicroBatch(table, self.watermark, FOREVER, NEVER)

    def _runs(self, table: pa.Table) -> tuple[Ints, list[tuple[Hashable, ...]]]:
        """Return where the rows of each key begin, and the keys in this order."""
        codes, _ = number_keys(table, self.by, self.run)
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        heads = table.select(list(self.by)).take(pa.array(starts))
        return starts, list(zip(*(as_hashable(to_arrow(heads[name])) for name in self.by), strict=True))

    def _check_order(self, table: pa.Table, starts: Ints, after: int) -> Ints:
        """Return the times. Raise ValueError if the rows of a key are not in order of time."""
        if self.time is None:
            return np.empty(0, np.int64)
        times = self.time.read(table[self.time.name])
        back = np.flatnonzero(np.diff(times) < 0) + 1
        wrong = sorted(set(back.tolist()) - set(starts.tolist()))
        if wrong or (len(times) and times[0] < after):
            row = wrong[0] if wrong else 0
            message = (
                f'With order="keys" the rows of a key must be in order of {self.time.name}, but '
                f"{shown(table[self.time.name][row])} arrived after a later time. Sort the rows, or read them into a table."
            )
            raise ValueError(message)
        return times
