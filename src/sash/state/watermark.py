"""How far a stream has come: which rows of a piece are too late, and up to when its windows are complete."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sash.aggregator.columns import to_arrow
from sash.engine.keys import number_keys
from sash.engine.names import name_row, shown
from sash.engine.nested_keys import as_hashable
from sash.engine.row_block import Block
from sash.engine.time_column import TimeType
from sash.windows.base import FOREVER, NEVER, Ints, Run


@dataclass(frozen=True)
class Piece:
    """Rows that came together, and how far the stream has come with them."""

    table: pa.Table
    after: int
    """The watermark before."""
    watermark: int
    """Nothing older than this comes any more."""
    seen_before: int
    """The newest time before."""
    seen: int
    """The newest time."""
    by_keys: bool = False
    """Whether keys come one behind the other, so that all but the newest are complete."""

    def by_key(self, block: Block) -> tuple[Ints, Ints]:
        """Return the watermarks of each key, before and now."""
        after = np.full(block.keys, self.after, np.int64)
        now = np.full(block.keys, self.watermark, np.int64)
        if self.by_keys:  # the key of the piece before is the first, and the only one that was seen before
            now[:-1] = FOREVER
            after[1:] = NEVER
        return after, now


class Pace:
    """What all paces have: how many rows came too late."""

    late = 0

    def next(self, table: pa.Table) -> Piece:
        """Return the piece that rows are."""
        raise NotImplementedError

    def last(self, table: pa.Table) -> Piece:
        """Return the piece that ends a stream, without rows."""
        raise NotImplementedError


class PaceOfTime(Pace):
    """By time: what is older than the newest time less `lateness` is too late; an error if that is `strict`."""

    def __init__(self, time: TimeType, lateness: int, *, strict: bool) -> None:
        self.time = time
        self.lateness = lateness
        self.strict = strict
        self.seen = NEVER
        self.watermark = NEVER

    def next(self, table: pa.Table) -> Piece:
        """Return the piece without the rows that are too late."""
        times = self.time.read(table[self.time.name])
        in_time = times >= self.watermark
        if not in_time.all():
            self._refuse_or_count(table, times, in_time)
            table = table.filter(pa.array(in_time))
        seen = max(self.seen, int(times.max(initial=NEVER)))
        watermark = self.watermark if seen == NEVER else max(self.watermark, seen - self.lateness, NEVER)
        piece = Piece(table, self.watermark, watermark, self.seen, seen)
        self.seen, self.watermark = seen, watermark
        return piece

    def last(self, table: pa.Table) -> Piece:
        """Return the piece that ends a stream."""
        return Piece(table, self.watermark, FOREVER, self.seen, FOREVER)

    def _refuse_or_count(self, table: pa.Table, times: Ints, in_time: Any) -> None:
        self.late += int(len(times) - np.count_nonzero(in_time))
        if not self.strict:
            return
        row = int(np.argmin(in_time))
        newest = self.time.write(np.array([self.watermark], np.int64))[0].as_py()
        own = table[self.time.name][row].as_py()
        message = (
            f"A row of {self.time.name}={own} comes after rows up to {newest}, whose windows were given already: give "
            'Query(lateness=…) for rows that come late, run with order="keys" if rows come by key, or read all of it into '
            "a table (reader.read_all()), which is sorted."
        )
        raise ValueError(message)


class PaceOfRows(Pace):
    """Without time: rows come in their order."""

    def next(self, table: pa.Table) -> Piece:
        """Return the piece: all rows are final at once."""
        return Piece(table, NEVER, FOREVER, NEVER, FOREVER)

    def last(self, table: pa.Table) -> Piece:
        """Return the piece that ends a stream."""
        return Piece(table, NEVER, FOREVER, NEVER, FOREVER)


class PaceOfKeys(Pace):
    """By key: the rows of one key come together, in order of time; all keys but the newest are complete."""

    def __init__(self, by: tuple[str, ...], time: TimeType | None, run: Run) -> None:
        self.by = by
        self.run = run
        self.time = time
        self.known: set[tuple[Hashable, ...]] = set()
        self.newest: tuple[Hashable, ...] | None = None
        self.watermark = NEVER

    def next(self, table: pa.Table) -> Piece:
        """Return the piece: its last key goes on, the others don't."""
        starts, keys = self._runs(table)
        if not keys:
            return Piece(table, self.watermark, self.watermark, NEVER, NEVER, by_keys=True)
        for start, key in list(zip(starts.tolist(), keys, strict=True))[keys[0] == self.newest :]:
            if key in self.known:
                named = name_row(table, self.by, start)
                message = (
                    f'Rows of {named} come again after those of another key: leave order="keys" out, or sort them.'
                )
                raise ValueError(message)
            self.known.add(key)
        times = self._check(table, starts, self.watermark if keys[0] == self.newest else NEVER)
        before = self.watermark
        self.newest = keys[-1]
        self.watermark = int(times[-1]) if self.time is not None else FOREVER
        return Piece(table, before, self.watermark, NEVER, FOREVER, by_keys=True)

    def last(self, table: pa.Table) -> Piece:
        """Return the piece that ends a stream."""
        return Piece(table, self.watermark, FOREVER, NEVER, FOREVER)

    def _runs(self, table: pa.Table) -> tuple[Ints, list[tuple[Hashable, ...]]]:
        """Return where the rows of each key begin, and the keys, one behind the other."""
        codes, _ = number_keys(table, self.by, self.run)
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        heads = table.select(list(self.by)).take(pa.array(starts))
        return starts, list(zip(*(as_hashable(to_arrow(heads[name])) for name in self.by), strict=True))

    def _check(self, table: pa.Table, starts: Ints, after: int) -> Ints:
        """Return the times, or say where a key's rows are not in order."""
        if self.time is None:
            return np.empty(0, np.int64)
        times = self.time.read(table[self.time.name])
        back = np.flatnonzero(np.diff(times) < 0) + 1
        wrong = sorted(set(back.tolist()) - set(starts.tolist()))
        if wrong or (len(times) and times[0] < after):
            row = wrong[0] if wrong else 0
            message = (
                f'With order="keys" a key\'s rows must be in order of {self.time.name}, and '
                f"{shown(table[self.time.name][row])} comes after a later one: sort them, or read all into a table."
            )
            raise ValueError(message)
        return times
