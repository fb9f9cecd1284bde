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

from sash.engines.local import Local
from sash.engines.spark.spill import sort_on_disk
from sash.engines.stream import Stream
from sash.engines.tables import needed_of
from sash.engines.types import readable
from sash.engines.whole import run_whole
from sash.plan.declared import Declared

MOST_BYTES = 1 << 27
"""Rows of so many bytes are answered as a whole; it takes several times as many."""
ROWS_OF_BATCH = 100_000


@dataclass(frozen=True)
class Worker:
    """A query as it is sent to workers."""

    declared: Declared
    interpreted: Mapping[str, str]
    """What was found not to compile before, so that no worker tries again."""
    results: pa.Schema
    """The columns of results, those of rows too where there is a result for each."""
    compiled: bool = True
    most_bytes: int = MOST_BYTES

    def answer(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the results of the rows of some keys, which come in no order; there is at least one batch."""
        waiting: list[pa.RecordBatch] = []
        size = 0
        rest = iter(batches)
        for batch in rest:
            waiting.append(batch)
            size += batch.nbytes
            if size > self.most_bytes:
                break
        local = self._local(waiting[0].schema)
        if size <= self.most_bytes:
            tables: Iterable[pa.Table] = [self._whole(local, pa.Table.from_batches(waiting))]
        else:
            tables = self._streamed(chain(waiting, rest))
        for table in tables:
            yield from self._as_declared(table).to_batches(max_chunksize=ROWS_OF_BATCH)

    def _local(self, schema: pa.Schema, declared: Declared | None = None) -> Local:
        needed = readable(needed_of(self.declared, schema.empty_table())) if declared is None else schema.empty_table()
        return Local(
            declared or self.declared,
            needed.schema,
            compiled=self.compiled,
            threads=1,
            interpreted=self.interpreted,
        )

    def _whole(self, local: Local, table: pa.Table) -> pa.Table:
        """Return the results of rows that are all here; for rows, beside them."""
        results = run_whole(local, readable(needed_of(self.declared, table)))
        if not self.declared.per_row:
            return results
        for name in results.column_names:
            table = table.append_column(name, results[name])
        return table

    def _streamed(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Yield the results of more rows than can be looked at together."""
        declared = replace(self.declared, lateness=None)
        stream: Stream | None = None
        with sort_on_disk(batches, declared, self.most_bytes) as pieces:
            for piece in pieces:
                if stream is None:
                    in_order = replace(declared, order_by=()) if declared.time is None else declared
                    stream = Stream(self._local(piece.schema, in_order), order="keys" if declared.by else "time")
                yield stream.add(piece)
        if stream is not None:
            yield stream.finish()

    def _as_declared(self, table: pa.Table) -> pa.Table:
        """Return results in the types that Spark was told."""
        return pa.table([self._cast(table[field.name], field) for field in self.results], schema=self.results)

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
