"""Where a stream in this process starts: from nothing, from the file of the run before, or from a history."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from sash.columns.buffers import as_arrow
from sash.columns.read_column import readable
from sash.engine.bad_times import usable, warn_of_dropped
from sash.engine.check_columns import check_columns
from sash.engine.labels import as_type
from sash.engine.needed_columns import with_computed
from sash.engine.prepare import Prepared
from sash.options import ReaderOptions
from sash.state.codec import as_schema
from sash.state.history import HistoryRows, add_history, check_length, read_until, split_overlap, text_of
from sash.state.reader import Stream
from sash.state.resume_file import ResumedStream, resume_file

APART = ("wide", "history", "until", "partial", "resume", "memory")
"""The options that a stream does not have."""


class OverlapWarning(UserWarning):
    """Rows of a stream are older than `until`, and were ignored: the history has them."""


def start_stream(prepared: Prepared, options: ReaderOptions) -> tuple[Stream, int | None]:
    """Return a stream, and the time from which on it takes rows, if there is one."""
    given: Any = {name: value for name, value in options.items() if name not in APART}
    until = None if options["until"] is None else read_until(prepared.time, options["until"])
    path, has_history = options["resume"], options["history"] is not None
    if until is not None and options["order"] == "keys":
        raise ValueError('history= and until= need rows in order of time. Leave order="keys" out.')
    if path is None:
        stream, is_new = Stream(prepared, **given), True
    else:
        more = {} if until is None or prepared.time is None else {"until": text_of(prepared.time, until)}
        stream = ResumedStream(prepared, resume_file(path, **more), **given)
        is_new = stream.is_new
    if until is not None and is_new:
        if not has_history:
            raise TypeError("until= is where a history ends, but there is none. Pass history=, or leave until= out.")
        _add_history(stream, options["history"], until, options)
    return stream, until


def _add_history(stream: Stream, history: Any, until: int, options: ReaderOptions) -> None:
    """Start a stream from the rows of a history before a time."""
    from sash.backends.registry import backend_of  # noqa: PLC0415 — the registry imports all backends

    try:
        backend = backend_of(history)
    except TypeError as error:
        raise TypeError(f"history: {error}") from error
    rows = HistoryRows(stream.prepared, until)
    tables: Iterator[pa.Table] = (_as_in_stream(stream.prepared, table) for table in backend.tables(history))
    if options["on_bad_time"] == "drop":
        tables = _with_usable_times(stream.prepared, tables)
    add_history(stream.states, (_select(rows, table) for table in tables), until)
    if not options["partial"]:
        check_length(stream.prepared, rows.oldest, until)
    stream.start_at(until, rows.newest)
    stream.emit_all()


def _select(rows: HistoryRows, table: pa.Table) -> pa.Table:
    """Return the rows of a history that matter. Raise ValueError for a row without a usable time."""
    try:
        return rows.select(table)
    except ValueError as error:
        raise ValueError(f"history: {error}") from error


def _with_usable_times(prepared: Prepared, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield the rows that have a usable time. At the end, a warning counts the others."""
    assert prepared.time is not None
    dropped = 0
    for table in tables:
        kept = usable(table[prepared.time.name])
        dropped += len(table) - int(kept.sum())
        yield table if kept.all() else table.filter(as_arrow(kept))
    warn_of_dropped(dropped, prepared.time.name, "row(s) of the history")


def _as_in_stream(prepared: Prepared, table: pa.Table) -> pa.Table:
    """Return a table of a history with the columns and types of the stream."""
    query, schema = prepared.query, prepared.schema
    try:
        check_columns(query, table.column_names)
        table = readable(with_computed(query, readable(table)) if query.computed else table)
        waits = any(window.frame is not None and window.frame.looks_ahead for window in query.windows.values())
        missing = [name for name in schema.names if name not in table.column_names]
        if waits and missing:
            _refuse_missing(missing[0])
        for name in missing:  # results do not show rows that are context only
            table = table.append_column(name, pa.nulls(len(table), schema.field(name).type))
        columns = [
            as_type(table[name], name, schema.field(name).type, data="history", other="stream") for name in schema.names
        ]
        return as_schema(pa.table(columns, names=schema.names), schema)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise type(error)(f"history: {error}") from error


def without_overlap(reader: pa.RecordBatchReader, stream: Stream, until: int) -> pa.RecordBatchReader:
    """Return the rows of a reader from a time on. At its end, a warning counts the others."""
    time = stream.prepared.time
    assert time is not None

    def batches() -> Iterator[pa.RecordBatch]:
        ignored = 0
        for batch in reader:
            rows, count = split_overlap(pa.Table.from_batches([batch]), time, until)
            ignored += count
            yield from [batch] if not count else rows.to_batches()
        if ignored:
            message = f"{ignored:,} row(s) of the stream are older than until={text_of(time, until)}. They were ignored, as the history has them."
            warnings.warn(message, OverlapWarning, stacklevel=2)

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def _refuse_missing(name: str) -> None:
    raise ValueError(f"column {name!r} is missing, and results of its rows need it, as windows look ahead.")
