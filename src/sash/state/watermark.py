"""Watermarks of streams in this process: which rows are late, and up to which time windows are complete."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from sash.columns.buffers import as_arrow
from sash.columns.read_column import to_arrow
from sash.engine.failures import name_row, shown
from sash.engine.group_ids import as_hashable, number_keys
from sash.engine.prepare import Prepared
from sash.engine.stream_plan import stream_plan
from sash.engine.time_column import TimeColumn
from sash.state.late_rows import LateRows
from sash.windows.base import FOREVER, NEVER, Flags, Ints, LoopCompiler


@dataclass(frozen=True)
class MicroBatch:
    """Rows that arrived together, without those that are late for all windows, and the watermark."""

    table: pa.Table
    after: int
    """The watermark before: windows that end by then are closed."""
    watermark: int
    """The watermark now: windows that end by then are complete."""
    by_keys: bool = False
    """Whether keys arrive one after the other, so that all but the newest are complete."""
    marks: Ints | None = None
    """By row: the watermark when it arrived, by which some windows may be closed for it; None if no row can be late."""
    is_last: bool = False
    """Whether no more rows arrive."""

    def by_key(self, keys: int) -> tuple[Ints, Ints]:
        """Return the watermark of each key, before and now."""
        after = np.full(keys, self.after, np.int64)
        now = np.full(keys, self.watermark, np.int64)
        if self.by_keys:  # the first key is that of the micro-batch before, the only one that is not new
            now[:-1] = FOREVER
            after[1:] = NEVER
        return after, now

    def ended(self, keys: int) -> Flags:
        """Return for which keys no more rows arrive."""
        ended = np.full(keys, self.is_last)
        if self.by_keys:
            ended[:-1] = True
        return ended


class Watermark:
    """Makes micro-batches of rows, without late rows."""

    watermark: int = NEVER
    """The watermark now; NEVER for those that do not follow times."""
    seen: int = NEVER
    """The time of the newest row so far."""

    def start_at(self, watermark: int, seen: int) -> None:
        """Continue from the watermark of another stream. It never goes back."""

    def split(self, table: pa.Table) -> list[MicroBatch]:
        """Return the micro-batches of rows that arrived together; mostly one."""
        raise NotImplementedError

    def last(self, table: pa.Table) -> MicroBatch:
        """Return the micro-batch that ends a stream, without rows."""
        raise NotImplementedError

    def after(self, newest: int) -> int:  # noqa: ARG002 — for those that follow times
        """Return the watermark after rows up to a time: by default, all rows are final at once."""
        return FOREVER


class EventTimeWatermark(Watermark):
    """The watermark of a row is the largest earlier time minus `lateness`, however rows are batched.

    A row is late if all its windows are closed at its watermark. If `strict`, a row that misses a window is an error.

        times       0   9   16  8   17      time(10, slide=5), lateness=5
        watermark   -   -5  4   11  11      of each row, from the rows before it
        windows                 [0,10) is closed, [5,15) is open: 8 is not late, but [0,10) is emitted before it is added
    """

    def __init__(self, prepared: Prepared, lateness: int, late_rows: LateRows, *, strict: bool) -> None:
        assert prepared.time is not None
        self.prepared = prepared
        self.late_rows = late_rows
        self.time = prepared.time
        self.lateness = lateness
        self.strict = strict
        self.first = NEVER
        """The watermark at which the stream starts."""

    def start_at(self, watermark: int, seen: int) -> None:
        """Continue from the watermark of another stream. It never goes back."""
        self.watermark = self.first = watermark
        self.seen = seen

    def after(self, newest: int) -> int:
        """Return the watermark after rows up to a time."""
        seen = max(self.seen, newest)
        return self.first if seen == NEVER else max(seen - self.lateness, self.first)

    def split(self, table: pa.Table) -> list[MicroBatch]:
        """Return micro-batches without late rows.

        A row that some windows are closed for, but not all, must not change the closed ones. So a new micro-batch begins
        with it, unless these windows were emitted before.
        """
        times = self.time.read(table[self.time.name])
        if not len(times):
            return [MicroBatch(table, self.watermark, self.watermark, marks=times)]
        self.prepared.check_times(times)
        newest = np.maximum.accumulate(np.concatenate([np.array([self.seen], np.int64), times]))
        marks = np.maximum(np.where(newest == NEVER, NEVER, newest - self.lateness), self.first)
        late_from = stream_plan(self.prepared).late_from(times)
        late = late_from <= marks[:-1]
        missed = stream_plan(self.prepared).missed_from(times) <= marks[:-1]
        if self.strict:
            self._check_order(table, missed, marks)
        # A row in no window, as the slide may be longer than the range, is left out, but it is not late.
        self.late_rows.add(table, late & (late_from > NEVER))
        cuts = [0]
        emitted = self.watermark
        for row in np.flatnonzero(~late & missed).tolist():
            if marks[row] > emitted:
                cuts.append(row)
                emitted = int(marks[row])
        batches = []
        for begin, end in pairwise([*cuts, len(times)]):
            rows, own_marks = table.slice(begin, end - begin), marks[begin:end]
            in_time = ~late[begin:end]
            if not in_time.all():
                rows, own_marks = rows.filter(as_arrow(in_time)), own_marks[in_time]
            watermark = int(marks[end])
            batches.append(MicroBatch(rows, self.watermark, watermark, marks=own_marks))
            self.watermark = watermark
        self.seen = int(newest[-1])
        return batches

    def last(self, table: pa.Table) -> MicroBatch:
        """Return the micro-batch that ends a stream."""
        return MicroBatch(table, self.watermark, FOREVER, marks=np.empty(0, np.int64), is_last=True)

    def _check_order(self, table: pa.Table, missed: Flags, marks: Ints) -> None:
        """Raise ValueError if a window was emitted without one of its rows."""
        if not missed.any():
            return
        row = int(np.argmax(missed))
        newest = shown(self.time.write(marks[row : row + 1])[0])
        late = shown(table[self.time.name][row])
        raise ValueError(
            f"A row with {self.time.name}={late} arrived after rows up to {newest}, whose windows are closed. Set "
            'Query(lateness=…) to accept rows out of order, run with late="drop" or late="keep" to continue without it, run with '
            'order="keys" if rows are sorted by key, or with order="any" to sort all rows first, on disk if need be.'
        )


class RowOrderWatermark(Watermark):
    """Without a time column: rows arrive in order, and each is final at once."""

    def split(self, table: pa.Table) -> list[MicroBatch]:
        """Return the micro-batch."""
        return [MicroBatch(table, NEVER, FOREVER)]

    def last(self, table: pa.Table) -> MicroBatch:
        """Return the micro-batch that ends a stream."""
        return MicroBatch(table, NEVER, FOREVER, is_last=True)


class KeyOrderWatermark(Watermark):
    """For rows sorted by key and then time: all keys but the newest are complete."""

    def __init__(
        self, by: tuple[str, ...], time: TimeColumn | None, run: LoopCompiler, *, is_checked: bool = True
    ) -> None:
        self.by = by
        self.run = run
        self.time = time
        self.known: set[tuple[Hashable, ...]] | None = set() if is_checked else None
        """All keys so far, none of which may come again; None if the rows were sorted here: many keys take memory."""
        self.newest: tuple[Hashable, ...] | None = None
        self.watermark = NEVER

    def split(self, table: pa.Table) -> list[MicroBatch]:
        """Return the micro-batch: only its last key continues."""
        if not len(table):
            return [MicroBatch(table, self.watermark, self.watermark, by_keys=True)]
        codes, _ = number_keys(table, self.by, self.run)
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        first, last = self._keys(table, starts[[0, -1]])
        goes_on = first == self.newest
        self._check_keys(table, starts[int(goes_on) :])
        times = self._check_order(table, starts, self.watermark if goes_on else NEVER)
        before = self.watermark
        self.newest = last
        self.watermark = int(times[-1]) if self.time is not None else FOREVER
        return [MicroBatch(table, before, self.watermark, by_keys=True)]

    def last(self, table: pa.Table) -> MicroBatch:
        """Return the micro-batch that ends a stream."""
        return MicroBatch(table, self.watermark, FOREVER, is_last=True)

    def _keys(self, table: pa.Table, rows: Ints) -> list[tuple[Hashable, ...]]:
        """Return the keys of some rows."""
        heads = table.select(list(self.by)).take(as_arrow(rows))
        return list(zip(*(as_hashable(to_arrow(heads[name])) for name in self.by), strict=True))

    def _check_keys(self, table: pa.Table, starts: Ints) -> None:
        """Raise ValueError if a key that begins in a row has come before."""
        if self.known is None:
            return
        for start, key in zip(starts.tolist(), self._keys(table, starts), strict=True):
            if key in self.known:
                named = name_row(table, self.by, start)
                raise ValueError(
                    f"Rows of {named} arrived again after rows of another key. Sort the rows by key, run with "
                    'order="any", which sorts them, or leave order= out.'
                )
            self.known.add(key)

    def _check_order(self, table: pa.Table, starts: Ints, after: int) -> Ints:
        """Return the times. Raise ValueError if the rows of a key are not in order of time."""
        if self.time is None:
            return np.empty(0, np.int64)
        times = self.time.read(table[self.time.name])
        back = np.flatnonzero(np.diff(times) < 0) + 1
        wrong = sorted(set(back.tolist()) - set(starts.tolist()))
        if wrong or (len(times) and times[0] < after):
            row = wrong[0] if wrong else 0
            raise ValueError(
                f'With order="keys" the rows of a key must be in order of {self.time.name}, but '
                f'{shown(table[self.time.name][row])} arrived after a later time. Sort the rows, or run with order="any", which sorts them.'
            )
        return times
