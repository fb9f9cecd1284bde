"""BucketWorker: the rows of some keys in, their results out.

batches ──► they fit memory: one table, evaluated as a whole
└─► they do not: sorted on disk, evaluated as a stream, key by key
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.columns.buffers import as_arrow
from sash.columns.read_column import readable
from sash.engine.group_ids import number_keys
from sash.engine.labels import first_needed, run_labels
from sash.engine.needed_columns import needed_columns
from sash.engine.prepare import Prepared, prepare
from sash.engine.run_table import run_table
from sash.kernels.plain import compile_loop
from sash.plan.query_spec import QuerySpec
from sash.state.reader import Stream
from sash.workers.own_columns import LABEL
from sash.workers.spill import bytes_of, drain, sort_on_disk

MOST_BYTES = 1 << 26
"""Rows of up to this many bytes are evaluated as a whole, which takes several times as much memory."""
BATCH_ROWS = 100_000


def gather_table(batches: Iterator[pa.RecordBatch], most_bytes: int) -> pa.Table | Iterator[pa.RecordBatch]:
    """Return batches as one table; if they have more bytes than that, or if there are none, return the batches."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        waiting.append(batch)
        size += bytes_of(batch)
        if size > most_bytes:
            return chain(drain(waiting), batches)
    return pa.Table.from_batches(waiting) if waiting else iter(())


@dataclass(frozen=True)
class BucketWorker:
    """A query as it is sent to workers."""

    query: QuerySpec
    interpreted: Mapping[str, str]
    """What does not compile, so that no worker tries again."""
    results: pa.Schema
    """The columns of results; those of input rows included if every row has a result."""
    compiled: bool | None = None
    time: pa.DataType | None = None
    """The type of the time column, if it arrives as ticks."""
    most_bytes: int = MOST_BYTES

    @property
    def title(self) -> str:
        """What plans of Spark show."""
        return self.query.title

    def evaluate_group(self, _: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the results of a group: the rows of some keys, in no order, in at least one batch."""
        rows = gather_table(map(self._with_times, batches), self.most_bytes)
        for table in [self._run_whole(rows)] if isinstance(rows, pa.Table) else self._run_sorted(rows):
            yield from self.as_declared(table) if len(table) else ()

    def prepare(self, schema: pa.Schema, query: QuerySpec | None = None) -> Prepared:
        """Return the query for rows of a schema."""
        return prepare(query or self.query, schema, compiled=self.compiled, interpreted=self.interpreted)

    def readable_rows(self, table: pa.Table) -> pa.Table:
        """Return the columns that the query reads."""
        return readable(needed_columns(self.query, table))

    def _run_whole(self, table: pa.Table) -> pa.Table:
        needed = self.readable_rows(table)
        results = run_table(self.prepare(needed.schema), needed, threads=1)
        if self.query.per_row:  # beside their rows
            for name in table.column_names:
                results = results.append_column(name, table[name])
        return results

    def _run_sorted(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Yield the results of more rows than fit memory."""
        query = replace(self.query, lateness=None)
        stream: Stream | None = None
        with sort_on_disk(batches, query, self.most_bytes) as pieces:
            for piece in pieces:
                if stream is None:
                    in_order = query if query.time else replace(query, order_by=())
                    stream = Stream(self.prepare(piece.schema, in_order), order="any")
                yield stream.add(piece)
        if stream is not None:
            yield stream.finish()

    def _with_times(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch with times in place of ticks."""
        if self.time is None:
            return batch
        place = batch.schema.get_field_index(self.query.time)
        times = batch.column(place).cast(pa.int32()) if self.time.bit_width == 32 else batch.column(place)  # noqa: PLR2004
        return batch.set_column(place, self.query.time, times.cast(self.time))

    def as_declared(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """Yield results in the types that Spark expects."""
        columns = [self._cast(table[field.name], field) for field in self.results]
        yield from pa.table(columns, schema=self.results).to_batches(max_chunksize=BATCH_ROWS)

    def _cast(self, column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
        if column.type == field.type:
            return column
        try:
            return column.cast(field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise TypeError(
                f"{field.name!r} returned {column.type}, but {field.type} was expected ({error}). State the type: "
                f'run(df, types={{"{field.name}": "double"}}).'
            ) from error


@dataclass(frozen=True)
class LabelWorker(BucketWorker):
    """A query as it is sent to workers, with labels: events and labels of some keys in, one row for each label out.

    batches ──► they fit memory: events and labels apart, evaluated as a whole
            └─► they do not: sorted on disk by key and time; each piece together with the earlier events that its labels may need.
                Labels whose windows look ahead wait for the last event of their key
    """

    at_time: str = ""
    """The time column of labels."""
    carried: tuple[str, ...] = ()
    """The columns of labels in LABEL. Those that events have too, keys and the time, are beside it."""

    def _run_whole(self, table: pa.Table) -> pa.Table:
        events, labels = self._apart(table)
        return self._run(self.prepare(events.schema), events, labels) if len(labels) else labels

    def _run_sorted(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Yield the results of more rows than fit memory. Rows of the same key and time are in the same piece."""
        prepared: Prepared | None = None
        earlier: pa.Table | None = None
        with sort_on_disk(batches, replace(self.query, lateness=None), self.most_bytes) as sorted_pieces:
            pieces = self._whole_keys(sorted_pieces) if self.query.future_columns else sorted_pieces
            for piece in pieces:
                events, labels = self._apart(piece)
                prepared = prepared or self.prepare(events.schema)
                if earlier is not None:
                    events = pa.concat_tables([earlier, events])
                if len(labels):
                    yield self._run(prepared, events, labels)
                earlier = self._needed_later(prepared, events, piece)

    def _whole_keys(self, pieces: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """Yield rows in order so that all rows of a key are in one table, which has to fit memory."""
        waiting: list[pa.Table] = []
        for piece in pieces:
            key_rows = readable(pa.concat_tables([*(table.slice(0, 1) for table in waiting[:1]), piece]))
            codes, _ = number_keys(key_rows, self.query.by, compile_loop)
            is_last = codes[len(codes) - len(piece) :] == codes[-1]
            first = int(np.argmax(is_last))  # rows of a key follow each other
            if first or (waiting and codes[0] != codes[-1]):
                yield pa.concat_tables([*waiting, piece.slice(0, first)])
                waiting = []
            waiting.append(piece.slice(first))
        if waiting:
            yield pa.concat_tables(waiting)

    def _apart(self, table: pa.Table) -> tuple[pa.Table, pa.Table]:
        """Return the columns of events that the query reads, and the labels."""
        is_label = pc.is_valid(table[LABEL])
        return self.readable_rows(table.filter(pc.invert(is_label))), table.filter(is_label)

    def _run(self, prepared: Prepared, events: pa.Table, labels: pa.Table) -> pa.Table:
        """Return labels beside their results."""
        needed = readable(labels.select([*self.query.by, self.query.time]))
        needed = needed.rename_columns([*self.query.by, self.at_time])
        results = run_labels(prepared, events, needed, self.at_time, threads=1)
        columns = dict(zip(self.carried, labels[LABEL].flatten() if self.carried else (), strict=True))
        columns = {**{name: labels[name] for name in self.query.by}, self.at_time: labels[self.query.time], **columns}
        for name in self.results.names:
            if name in columns:
                results = results.append_column(name, columns[name])
        return results

    def _needed_later(self, prepared: Prepared, events: pa.Table, piece: pa.Table) -> pa.Table:
        """Return the events of the key of the last row that later labels may need."""
        by = self.query.by
        if by and len(events):
            last = readable(piece.slice(len(piece) - 1)).select(list(by))
            codes, _ = number_keys(pa.concat_tables([events.select(list(by)), last]), by, prepared.loops)
            events = events.filter(as_arrow((codes[:-1] == codes[-1]).view("u1")).cast(pa.bool_()))
        return events.slice(first_needed(prepared, events)) if len(events) else events
