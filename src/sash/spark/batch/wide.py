"""Windows wider than a range: a task has its rows, and partials of the many that it needs not one by one.

    rows of a stretch ──► Stretch: the time of the first, how many they are, the partial of each pass
    rows of a range, and stretches among them ──► items ──► windows, as of slices

No window of the range begins or ends inside a stretch, so it is as one row at its first row's time. Nothing here knows Spark.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.engine.column_types import readable
from sash.engine.joined import Heads, heads_of, join_windows
from sash.engine.local import Local
from sash.engine.passes import PassOver, Slices, is_number
from sash.engine.row_block import Block, make_block
from sash.engine.schedule import Counts
from sash.engine.slice_block import SliceBlock
from sash.engine.tables import needed_of
from sash.kernels import CannotCompileError
from sash.plan.sharing import FOR_ROWS, form_for
from sash.slices.cuts import Records
from sash.spark.batch.spill import sort_on_disk
from sash.spark.batch.split import Part
from sash.spark.batch.worker import Worker, together
from sash.windows.base import FOREVER, NEVER
from sash.windows.by_rows import LastRows
from sash.windows.by_time import Periodic, TimeOfRow

NOTHING = np.empty(0, np.int64)


def why_copied(local: Local) -> str:
    """Return why partials can't be sent in place of rows; empty if they can."""
    for window in local.plan.windows.values():
        if not isinstance(window, TimeOfRow | Periodic | LastRows):
            return f"where {window} begins is not known before its rows are"
    for one in local.plan.passes:
        for name, aggregate in one.aggregates.items():
            if set(FOR_ROWS) & form_for(aggregate, local.kinds).laws:
                return f"{name} has no small partial"
            if one.interpreted:
                return f"{name} is interpreted"
            if not all(is_number(local.schema.field(column).type) for column in aggregate.columns):
                return f"{name} is not of numbers"
    return ""


def compiles(local: Local) -> bool:
    """Tell whether what is needed to cut and to combine stretches compiles, by doing it with no rows."""
    part = Part(NEVER, FOREVER, NEVER, zones=())
    try:
        answer_block(local, make_block(local.schema.empty_table(), local.layout, local.run_loop), part, ())
    except CannotCompileError:
        return False
    return True


@dataclass(frozen=True)
class Stretch:
    """Rows in which no window begins or ends."""

    time: int
    """Of the first."""
    rows: int
    counts: tuple[int, ...]
    """By pass: how many of them have a value."""
    fields: tuple[bytes, ...]
    """The fields of the partials of all passes, each as NumPy writes it."""


@dataclass(frozen=True)
class StretchWorker:
    """What makes stretches of groups of rows."""

    worker: Worker
    columns: ClassVar[str] = "cell int, place int, time long, rows long, counts array<long>, fields array<binary>"

    def answer(self, group: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield what stands for a group: one stretch, or several one behind the other if it doesn't fit memory."""
        for place, table in enumerate(self._in_order(batches)):
            made = self._cut(table)
            columns: dict[str, tuple[Any, pa.DataType]] = {
                "cell": (group, pa.int32()),
                "place": (place, pa.int32()),
                "time": (made.time, pa.int64()),
                "rows": (made.rows, pa.int64()),
                "counts": (list(made.counts), pa.list_(pa.int64())),
                "fields": (list(made.fields), pa.list_(pa.binary())),
            }
            arrays = {name: pa.array([value], kind) for name, (value, kind) in columns.items()}
            yield pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))

    def _in_order(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Yield all rows, or piece by piece in order."""
        table = together(batches, self.worker.most_bytes)
        if isinstance(table, pa.Table):
            yield table
            return
        with sort_on_disk(table, self.worker.declared, self.worker.most_bytes) as pieces:
            yield from pieces

    def _cut(self, table: pa.Table) -> Stretch:
        rows = readable(needed_of(self.worker.declared, table))
        local = self.worker.local(self.worker.declared, rows.schema)
        block = one_key(make_block(rows, local.layout, local.run_loop))
        every = Records(np.array([len(block)]), np.ones(1, np.bool_), NOTHING, np.array([0, 1]))
        cut = [PassOver(one, block).cut(every) for one in local.plan.passes]
        counts = tuple(int(slices.counts.values[0]) for slices in cut)
        return Stretch(
            int(block.times[0]), len(block), counts, tuple(written(field) for s in cut for field in s.fields)
        )


def answer_part(worker: Worker, part: Part, stretches: Sequence[Stretch], table: pa.Table) -> pa.Table:
    """Return the results of a part of a key's time, beside their rows where each has one."""
    rows = readable(needed_of(worker.declared, table))
    local = worker.local(worker.declared, rows.schema)
    block = one_key(make_block(rows, local.layout, local.run_loop))
    results = answer_block(local, block, part, stretches)
    if worker.declared.per_row:
        own = table.take(pa.array(block.given(np.arange(len(block) - len(results), len(block)))))
        for name in own.column_names:
            results = results.append_column(name, own[name])
    return results


def answer_block(local: Local, block: Block, part: Part, stretches: Sequence[Stretch]) -> pa.Table:
    """Return the results of a part, given its rows in order."""
    local.rows_of(block)  # which refuses times that are too far away
    passes = [PassOver(one, block) for one in local.plan.passes]
    times = np.array([stretch.time for stretch in stretches], np.int64)
    places = np.searchsorted(block.times, times)
    own = int(np.searchsorted(block.times, part.begin)) + len(stretches)
    every = np.ones(len(block), np.bool_)
    singly = Records(np.arange(1, len(block) + 1), every, NOTHING, block.firsts)
    slices = []
    read = 0
    for number, over in enumerate(passes):
        cut = over.cut(singly)
        values = np.insert(cut.counts.values, places, [stretch.counts[number] for stretch in stretches])
        fields = [
            np.insert(field, places, [loaded(stretch.fields[read + place]) for stretch in stretches])
            for place, field in enumerate(cut.fields)
        ]
        read += len(fields)
        slices.append(Slices(fields, cut.shape, Counts(values, np.ones(len(values), np.bool_))))
    items = len(block) + len(stretches)
    firsts = np.array([0] * block.keys + [items], np.int64)
    records = Records(np.arange(1, items + 1), np.ones(items, np.bool_), np.insert(block.times, places, times), firsts)
    sizes = np.insert(np.ones(len(block), np.int64), places, [stretch.rows for stretch in stretches])
    whole = SliceBlock(Heads(heads_of(block).keys, firsts), records, slices, sizes)
    if local.plan.per_row:
        return pa.table(whole.answer_rows(local, passes, np.full(block.keys, own)))
    return join_windows([whole.answer(local, passes, part.begin, part.end)[0]], local.declared)


def one_key(block: Block) -> Block:
    """Return rows that are of one key, as those of a hash are but once in many billion times."""
    if block.keys > 1:
        message = (
            'Two keys have the same hash, of which one has very many rows: run this query with strategy="buckets".'
        )
        raise RuntimeError(message)
    return block


def written(field: npt.NDArray[Any]) -> bytes:
    """Return the one value of a field as bytes."""
    room = io.BytesIO()
    np.save(room, field, allow_pickle=False)
    return room.getvalue()


def loaded(field: bytes) -> Any:
    """Return the value that was written.

    >>> loaded(written(np.array([2.5])))
    np.float64(2.5)
    """
    return np.load(io.BytesIO(field), allow_pickle=False)[0]
