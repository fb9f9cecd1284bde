"""A stream in this process: a RecordBatchReader in, a RecordBatchReader out.

    micro-batch ──► watermark: late rows left out ──► state + micro-batch ──► complete windows ──► results
                                                      ▲                           │
                                                      └── rows or slices that later windows need

A micro-batch may hold rows in any order, and rows older than those before, as long as they are not older than the watermark: the
newest time minus `lateness`. A window is emitted when the watermark passes its end.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import chain
from typing import Unpack

import pyarrow as pa

from sash.columns.buffers import as_arrow
from sash.columns.read_column import readable
from sash.engine.assemble import CHANGE
from sash.engine.executors.bind import compile_ahead
from sash.engine.prepare import Prepared
from sash.engine.stream_plan import stream_plan
from sash.options import ReaderOptions, read_options
from sash.plan.query_spec import QuerySpec
from sash.state.codec import as_schema
from sash.state.erased_keys import erased_keys, is_among
from sash.state.key_epochs import read_forget
from sash.state.key_states import KeyStates, key_layout
from sash.state.late_rows import LateRows, check_late
from sash.state.watermark import EventTimeWatermark, KeyOrderWatermark, RowOrderWatermark, Watermark
from sash.state.window_states import WindowStates
from sash.windows.base import FOREVER, NEVER

MOST_ROWS = 1 << 16
"""Small batches wait together while no result is due, up to this many rows."""


class LateRowsWarning(UserWarning):
    """Rows arrived later than `lateness` allows, and were dropped."""


class Stream:
    """A query over rows that arrive in micro-batches.

    >>> from sash import agg, window
    >>> from sash.engine.prepare import prepare
    >>> from sash.plan.query_spec import parse_query
    >>> query = parse_query({"n": agg.count()}, window.tumbling(10), time="at")
    >>> stream = Stream(prepare(query, pa.schema({"at": pa.int64()}), compiled=False))
    >>> stream.add(pa.table({"at": [1, 7, 12]})).to_pylist()
    [{'window_start': 0, 'window_end': 10, 'n': 2}]
    >>> stream.finish().to_pylist()
    [{'window_start': 10, 'window_end': 20, 'n': 1}]
    """

    def __init__(self, prepared: Prepared, **given: Unpack[ReaderOptions]) -> None:
        options = read_options(ReaderOptions, given)
        late, mode, order = options["late"], options["mode"], options["order"]
        is_sorted = order == "any"  # rows that were in any order have been sorted by key and time
        if is_sorted:
            order = "keys" if prepared.query.by else "time"
        check_late(prepared.query, late, prepared.schema.names)
        forgets = read_forget(prepared, options["forget"], order)
        self.late_rows = LateRows(prepared.query, prepared.schema, late or "drop")
        self.prepared = prepared = compile_ahead(prepared)
        self.empty = prepared.no_rows
        self.mode = mode
        self.watermark = make_watermark(prepared, mode, order, late, self.late_rows, is_sorted=is_sorted)
        self.layout = key_layout(prepared, forgets) if options["emit"] == "state" else None
        """The layout of the states of keys; None if the stream emits results."""
        self.states = WindowStates(prepared, mode, order, forgets)
        if self.layout is not None:
            self.states = KeyStates(prepared, self.layout, forgets)
        self.erased = erased_keys(prepared.query, options["erase"], prepared.schema)
        """Keys whose rows are dropped."""
        self.due = FOREVER
        """The earliest watermark at which the state emits something."""

    @property
    def late(self) -> int:
        """The number of late rows so far."""
        return self.late_rows.count

    @property
    def forgotten(self) -> int:
        """How often a key was forgotten so far."""
        return self.states.forgotten

    def add(self, table: pa.Table) -> pa.Table:
        """Add rows. Return the results that are complete now."""
        if self.erased is not None:
            table = table.filter(as_arrow(~is_among(table, self.erased, self.prepared.query.by)))
            self.states.erase(self.erased)
        results = pa.concat_tables(
            [self.states.advance(batch) for batch in self.watermark.split(table)], promote_options="permissive"
        )
        time = self.prepared.time
        self.due = FOREVER if time is None else self.states.due(self.watermark.after(NEVER))
        return self.late_rows.beside(results)

    def start_at(self, watermark: int, newest: int) -> None:
        """Continue at a watermark, after rows up to a time. The states are those of this watermark."""
        self.watermark.start_at(watermark, newest)
        if self.prepared.time is not None:
            self.due = self.states.due(self.watermark.after(NEVER))

    def emit_all(self) -> None:
        """Emit the states of all keys with the next micro-batch, if the stream emits states: no store has those of a history."""
        self.states.emit_all()

    def close(self) -> None:
        """Do what remains when the input has ended and all results are read: by default nothing."""

    def may_wait(self, rows: pa.Table) -> bool:
        """Return whether no result is due with these rows, so that they can wait for more."""
        time = self.prepared.time
        if self.mode == "update" or self.layout is not None or time is None:
            return False
        times = time.read(rows[time.name])
        if not len(times):
            return True
        return self.watermark.after(int(times.max())) < min(self.due, stream_plan(self.prepared).due_from(times))

    def finish(self) -> pa.Table:
        """Return the remaining results: no more rows arrive."""
        return self.late_rows.beside(self.states.advance(self.watermark.last(self.empty)))


def make_watermark(
    prepared: Prepared, mode: str, order: str, late: str | None, late_rows: LateRows, *, is_sorted: bool = False
) -> Watermark:
    """Return the watermark of a stream. Raise ValueError if the options do not fit the query."""
    query, time = prepared.query, prepared.time
    check_mode(query, mode)
    if mode == "update" and order == "keys":
        raise ValueError('mode="update" needs rows in order of time. Leave order="keys" out.')
    if order == "keys" and query.lateness is not None:
        raise ValueError('lateness applies to rows in order of time. Leave it out, or leave order="keys" out.')
    if late is not None and (time is None or (order == "keys" and query.by)):
        raise ValueError(
            f"late={late!r} applies to rows in order of time, but rows of this stream are never late. Leave late= out."
        )
    if time is None and query.order_by:
        raise ValueError(
            "Sash cannot sort a stream. Name the column that orders its rows with time=, or leave order_by out."
        )
    if order == "keys" and query.by:
        return KeyOrderWatermark(query.by, time, prepared.loops, is_checked=not is_sorted)
    if time is None:
        return RowOrderWatermark()
    lateness = 0 if query.lateness is None else query.lateness.in_ticks(time.unit)
    return EventTimeWatermark(
        prepared, lateness, late_rows, strict=query.lateness is None and late not in ("drop", "keep")
    )


def check_mode(query: QuerySpec, mode: str) -> None:
    """Raise ValueError if the query cannot emit results in this mode."""
    others = [str(window) for window in query.windows.values() if not window.is_time]
    if mode == "update" and others:
        raise ValueError(
            f'mode="update" supports periodic windows and sessions, but rows end the windows of {others[0]}. Use mode="append".'
        )
    if mode == "update" and CHANGE in (*query.by, *query.aggregates):
        raise ValueError(
            f'mode="update" adds a column {CHANGE!r} to the results. Rename the key or aggregate of that name.'
        )


def check_stream(query: QuerySpec) -> None:
    """Raise ValueError if a window cannot be evaluated on a stream."""
    for window in query.windows.values():
        if window.emits_empty:
            raise ValueError(
                f"{window}: empty=True does not work on a stream, because an empty window has a result only if its key has a later row, "
                "however late that is. Leave empty=True out, or run the query on a table."
            )


def read_results(stream: Stream, reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Return the results of a stream as a RecordBatchReader.

    Its schema is needed first, so this evaluates micro-batches until every column of the results has a type.
    """
    tables: Iterator[pa.Table] = _results(stream, reader)
    if stream.prepared.query.computed:
        tables = (_visible(stream, table) for table in tables)
    first: list[pa.Table] = []
    for table in tables:
        first.append(table)
        if pa.null() not in table.schema.types:  # a column of nulls has no type yet: read on
            break
    whole = pa.unify_schemas([table.schema for table in first] or [_visible(stream, stream.finish()).schema])

    def batches() -> Iterator[pa.RecordBatch]:
        for table in chain(first, tables):
            yield from (batch for batch in _with_types(table, whole).to_batches() if len(batch))
        stream.close()

    return pa.RecordBatchReader.from_batches(whole, batches())


def _with_types(results: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return results with the types of the first ones. Raise TypeError if a column does not fit the type that it had there."""
    try:
        return as_schema(results, schema)
    except pa.ArrowInvalid as error:
        pairs = ((field, schema.field(field.name).type) for field in results.schema)
        changed = [
            f"{field.name!r} is {field.type} now, and was {dtype}" for field, dtype in pairs if field.type != dtype
        ]
        problem = f"Results of a stream must keep their types, but {'; '.join(changed)}"
        raise TypeError(f"{problem}. Let lower return values of one type, such as float(…).") from error


def _visible(stream: Stream, results: pa.Table) -> pa.Table:
    """Return results without the computed columns of input rows; the states of keys have all their keys."""
    query = stream.prepared.query
    if not query.per_row or stream.layout is not None:
        return results
    computed = [str(name) for name in query.computed if name in results.column_names]
    return results.drop_columns(computed) if computed else results


def _results(stream: Stream, reader: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """Yield results as they become complete; tables without rows are left out."""
    waiting: list[pa.RecordBatch] = []
    for batch in reader:
        waiting.append(batch)
        rows = readable(pa.Table.from_batches(waiting, reader.schema))
        if len(rows) < MOST_ROWS and stream.may_wait(rows):
            continue
        waiting = []
        results = stream.add(rows)
        if len(results):
            yield results
    for results in (stream.add(readable(pa.Table.from_batches(waiting, reader.schema))), stream.finish()):
        if len(results):
            yield results
    if stream.late and stream.late_rows.choice != "keep":
        lateness = stream.prepared.query.lateness
        message = (
            f"{stream.late} row(s) arrived after all their windows were closed (lateness={lateness}). They were dropped. "
            'Increase Query(lateness=…) to accept such rows, or run with late="keep" to get them.'
        )
        warnings.warn(message, LateRowsWarning, stacklevel=2)
