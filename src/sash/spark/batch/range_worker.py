"""What runs in Spark's Python workers for ranges: the results that belong to a range, of its rows and those it was sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.engine.column_types import readable
from sash.engine.joined import heads_of, join_windows
from sash.engine.row_block import make_block
from sash.engine.tables import needed_of
from sash.engine.time_column import read_time_type
from sash.plan.declared import Declared
from sash.spark.batch.split import Part
from sash.spark.batch.wide import Stretch, answer_part, one_key
from sash.spark.batch.worker import Worker, together
from sash.windows.base import FOREVER, NEVER
from sash.windows.by_gap import Session
from sash.windows.by_time import Periodic


@dataclass(frozen=True)
class RangeWorker:
    """A worker for ranges: of each group it is known which part of a key's time it is; other groups are buckets."""

    worker: Worker
    parts: Mapping[int, Part]
    stretches: Mapping[int, Sequence[Stretch]] = field(default_factory=dict)
    """By group: what it is sent in place of rows that it needs not one by one."""

    def answer(self, group: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the results that are a group's own."""
        part = self.parts.get(group)
        if part is None:
            yield from self.worker.answer(group, batches)
            return
        if part.between:
            table = answer_part(self.worker, part, self.stretches.get(group, ()), pa.Table.from_batches(batches))
            yield from self.worker.as_declared(table)
            return
        rows = together(iter(batches), self.worker.most_bytes)
        if isinstance(rows, pa.Table):
            yield from self.worker.as_declared(answer_own(self.worker, part, rows))
            return
        for table in self.worker.tables(rows, part.rows_before):
            own = table.filter(pa.array(own_results(self.worker.declared, table, part)))
            yield from self.worker.as_declared(own)


def answer_own(worker: Worker, part: Part, table: pa.Table) -> pa.Table:
    """Return the results that belong to a part, beside their rows where each has one.

    As of a piece of a stream: the rows before it are done. Others' windows, of which some rows are not here, might fail.
    """
    rows = readable(needed_of(worker.declared, table))
    local = worker.local(worker.declared, rows.schema)
    block = one_key(make_block(rows, local.layout, local.run_loop))
    done = int(np.searchsorted(block.times, part.begin))
    local.rows_before = part.rows_before + done
    memory = {name: local.new_memory(window, block.keys) for name, window in local.plan.windows.items()}
    piece = {"done": done, "final": len(block), "after": part.begin, "now": part.end}
    seen = local.rows_of(block, **{name: np.array([number], np.int64) for name, number in piece.items()})
    records, found = local.find(seen, memory)
    answers = local.answer(block, records, found)
    if not local.plan.per_row:
        parts = local.of_windows(heads_of(block), block.times, found, answers, records)
        return join_windows([parts], worker.declared)
    results = table.take(pa.array(block.given(np.arange(done, len(block)))))
    for name, column in local.of_rows(answers).items():
        results = results.append_column(name, column)
    return results


def own_results(declared: Declared, table: pa.Table, part: Part) -> npt.NDArray[np.bool_]:
    """Return which results belong to a part: those of its rows, or of windows that end there."""
    assert declared.time is not None
    if declared.per_row:
        return _between(table, declared.time, part.begin, part.end)
    own = np.zeros(len(table), np.bool_)
    for name, window in declared.windows.items():
        match window:
            case Periodic():  # ends are not in a window themselves
                mine = _between(
                    table, "window_end", part.begin + (part.begin != NEVER), part.end + (part.end != FOREVER)
                )
            case Session():
                mine = _between(table, "window_start", part.begin, part.end)
            case _:
                mine = _between(table, "window_end", part.begin, part.end)
        if declared.several:
            named = table["window"].cast(pa.string()).to_numpy(zero_copy_only=False) == name
            mine &= named.astype(np.bool_)
        own |= mine
    return own


def _between(table: pa.Table, name: str, begin: int, end: int) -> npt.NDArray[np.bool_]:
    times = read_time_type(name, table.schema.field(name).type).read(table[name])
    inside: npt.NDArray[np.bool_] = (times >= begin) & ((times < end) | (end == FOREVER))
    return inside
