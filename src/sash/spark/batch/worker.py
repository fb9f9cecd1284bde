"""What runs in Spark's Python workers: the rows of some keys in, their results out, in the memory of a part of them.

    batches ──► few enough: one table, answered as a whole
            └─► more: sorted on disk, answered as a stream, key by key

Nothing here knows Spark: a worker takes batches of Arrow's and gives batches of Arrow's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain

import pyarrow as pa

from sash.engine.column_types import readable
from sash.engine.local import Local
from sash.engine.tables import needed_of
from sash.engine.whole import run_whole
from sash.plan.declared import Declared
from sash.spark.batch.spill import drain, sort_on_disk
from sash.state.reader import Stream

MOST_BYTES = 1 << 26
"""Rows of so many bytes are answered as a whole; it takes several times as many."""
ROWS_OF_BATCH = 100_000


def together(batches: Iterator[pa.RecordBatch], most_bytes: int) -> pa.Table | Iterator[pa.RecordBatch]:
    """Return batches as one table; as they came, if they have more bytes than that, or are none."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        waiting.append(batch)
        size += batch.nbytes
        if size > most_bytes:
            return chain(drain(waiting), batches)
    return pa.Table.from_batches(waiting) if waiting else iter(())


@dataclass(frozen=True)
class Worker:
    """A query as it is sent to workers."""

    declared: Declared
    interpreted: Mapping[str, str]
    """What was found not to compile before, so that no worker tries again."""
    results: pa.Schema
    """The columns of results, those of rows too where there is a result for each."""
    compiled: bool = True
    time: pa.DataType | None = None
    """What the time column holds, if it comes as ticks."""
    most_bytes: int = MOST_BYTES

    def answer(self, _: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the results of a group: the rows of some keys, in no order; there is at least one batch."""
        for table in self.tables(batches):
            yield from self.as_declared(table)

    def tables(self, batches: Iterable[pa.RecordBatch], rows_before: int = 0) -> Iterator[pa.Table]:
        """Yield the results, of rows before which their key had so many that are not here."""
        table = together(map(self._with_times, batches), self.most_bytes)
        if not isinstance(table, pa.Table):
            yield from self._streamed(table, rows_before)
            return
        needed = readable(needed_of(self.declared, table))
        results = run_whole(self.local(self.declared, needed.schema, rows_before), needed)
        if self.declared.per_row:  # beside their rows
            for name in table.column_names:
                results = results.append_column(name, table[name])
        yield results

    def _with_times(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch with ticks as times."""
        if self.time is None:
            return batch
        place = batch.schema.get_field_index(self.declared.time)
        times = batch.column(place).cast(pa.int32()) if self.time.bit_width == 32 else batch.column(place)  # noqa: PLR2004
        return batch.set_column(place, self.declared.time, times.cast(self.time))

    def local(self, declared: Declared, schema: pa.Schema, rows_before: int = 0) -> Local:
        """Return a query made ready for rows before which their key had so many that are not here."""
        local = Local(declared, schema, compiled=self.compiled, threads=1, interpreted=self.interpreted)
        local.rows_before = rows_before
        return local

    def _streamed(self, batches: Iterator[pa.RecordBatch], rows_before: int) -> Iterator[pa.Table]:
        """Yield the results of more rows than can be looked at together."""
        declared = replace(self.declared, lateness=None)
        stream: Stream | None = None
        with sort_on_disk(batches, declared, self.most_bytes) as pieces:
            for piece in pieces:
                if stream is None:
                    in_order = declared if declared.time else replace(declared, order_by=())
                    local = self.local(in_order, piece.schema, rows_before)
                    stream = Stream(local, order="keys" if declared.by else "time")
                yield stream.add(piece)
        if stream is not None:
            yield stream.finish()

    def as_declared(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """Yield results in the types that Spark was told."""
        columns = [self._cast(table[field.name], field) for field in self.results]
        yield from pa.table(columns, schema=self.results).to_batches(max_chunksize=ROWS_OF_BATCH)

    def _cast(self, column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
        if column.type == field.type:
            return column
        try:
            return column.cast(field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            message = (
                f"{field.name!r} gave {column.type} where {field.type} was expected of what it computes ({error}): say what "
                f'it gives, as in run(df, types={{"{field.name}": "double"}}).'
            )
            raise TypeError(message) from error
