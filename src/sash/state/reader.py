"""A plan, run piece by piece: what windows may still need is kept from one piece to the next, and nothing else.

    piece ──► late rows out ──► kept + piece ──► windows that are complete now ──► results
                                    ▲                     │
                                    └── rows or slices that later windows reach back to

A piece may hold rows in any order, and rows older than those of the pieces before, as long as they are not older than the
watermark: the newest time seen, less `lateness`. A window is given when the watermark passes its end.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pyarrow as pa

from sash.engine.column_types import readable, readable_schema
from sash.engine.local import Local
from sash.plan.declared import Declared
from sash.state.row_state import KeptRows
from sash.state.slice_state import KeptSlices, keeps_slices
from sash.state.watermark import Pace, PaceOfKeys, PaceOfRows, PaceOfTime

LEAST_ROWS = 1 << 16
"""A piece has at least so many rows, and as many as are kept: then what is kept is looked at once for each row."""


class LateRowsWarning(UserWarning):
    """Rows came later than `lateness` allows, and were left out."""


class Stream:
    """A query over rows that come in pieces.

    >>> from sash import agg, window
    >>> from sash.plan.declared import declare
    >>> declared = declare({"n": agg.count()}, window.tumbling(10), (), "at", (), "auto", "throughput", "auto", None)
    >>> stream = Stream(Local(declared, pa.schema({"at": pa.int64()}), compiled=False))
    >>> stream.add(pa.table({"at": [1, 7, 12]})).to_pylist()
    [{'window_start': 0, 'window_end': 10, 'n': 2}]
    >>> stream.finish().to_pylist()
    [{'window_start': 10, 'window_end': 20, 'n': 1}]
    """

    def __init__(self, local: Local, *, mode: str = "append", order: str = "time") -> None:
        self.local = local
        self.empty = local.schema.empty_table()
        local.settle()
        self.pace = make_pace(local, mode, order)
        self.kept = new_kept(local, mode, order)

    @property
    def late(self) -> int:
        """How many rows came too late."""
        return self.pace.late

    def add(self, table: pa.Table) -> pa.Table:
        """Take rows, and return the results that are complete now."""
        return self.kept.take(self.pace.next(table))

    def finish(self) -> pa.Table:
        """Return the rest of the results: nothing more comes."""
        return self.kept.take(self.pace.last(self.empty))


def new_kept(local: Local, mode: str, order: str = "time") -> KeptRows | KeptSlices:
    """Return what keeps what windows may still need, and has nothing yet: slices where that will do, or else rows."""
    slices = mode == "append" and order == "time" and keeps_slices(local)
    return KeptSlices(local) if slices else KeptRows(local, update=mode == "update")


def make_pace(local: Local, mode: str, order: str) -> Pace:
    """Return what tells how far a stream has come, or say what can't be."""
    declared = local.declared
    refuse_mode(declared, mode)
    if order not in ("time", "keys"):
        message = f'order={order!r}: rows come in order of "time", or by "keys" and then in order of time.'
        raise ValueError(message)
    if mode == "update" and order == "keys":
        message = 'mode="update" needs rows in order of time: leave order="keys" out.'
        raise ValueError(message)
    if order == "keys" and declared.lateness is not None:
        message = 'lateness is for rows that come in order of time: leave it or order="keys" out.'
        raise ValueError(message)
    if order == "keys" and declared.by:
        return PaceOfKeys(declared.by, local.time, local.run_loop)
    if local.time is None and declared.order_by:
        message = (
            "A stream has no end to be sorted at: name the column that orders its rows in time=, or leave order_by out."
        )
        raise ValueError(message)
    if local.time is None:
        return PaceOfRows()
    lateness = 0 if declared.lateness is None else declared.lateness.in_ticks(local.time.tick, local.time.name)
    return PaceOfTime(local.time, lateness, strict=declared.lateness is None)


def refuse_mode(declared: Declared, mode: Any) -> None:
    """Say so if results can't be given in this way."""
    if mode not in ("append", "update"):
        message = (
            f'mode={mode!r}: it is "append" (a window once, when it is final) or "update" (again when it changes).'
        )
        raise ValueError(message)
    timeless = [str(window) for window in declared.windows.values() if not window.is_time]
    if mode == "update" and timeless:
        message = (
            f'mode="update" is for windows of time that end by themselves, and {timeless[0]} is none: use "append".'
        )
        raise ValueError(message)


def read(
    declared: Declared, reader: pa.RecordBatchReader, *, mode: str = "append", order: str = "time", **options: Any
) -> pa.RecordBatchReader:
    """Return the results of a stream as a stream: each batch is computed when it is asked for."""
    schema = readable_schema(reader.schema)
    stream = Stream(Local(declared, schema, **options), mode=mode, order=order)
    tables = _results(stream, reader)
    first: list[pa.Table] = []
    for table in tables:
        first.append(table)
        if not any(pa.types.is_null(kind) for kind in table.schema.types):  # nulls only, so far, have no type
            break
    whole = pa.unify_schemas([table.schema for table in first] or [stream.finish().schema])
    batches = (batch for table in chain(first, tables) for batch in table.cast(whole).to_batches())
    return pa.RecordBatchReader.from_batches(whole, batches)


def _results(stream: Stream, reader: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """Yield results as they become complete; tables without rows are left out."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in reader:
        waiting.append(batch)
        rows += len(batch)
        if rows >= max(LEAST_ROWS, len(stream.kept)):
            results = stream.add(readable(pa.Table.from_batches(waiting, reader.schema)))
            waiting, rows = [], 0
            if len(results):
                yield results
    for results in (stream.add(readable(pa.Table.from_batches(waiting, reader.schema))), stream.finish()):
        if len(results):
            yield results
    if stream.late:
        lateness = stream.local.declared.lateness
        message = f"{stream.late} row(s) came more than {lateness} later than newer ones, and are in no window."
        warnings.warn(message, LateRowsWarning, stacklevel=2)
