"""LabelWorker: events and labels of some keys in, one row for each label out.

batches ──► they fit memory: events and labels apart, evaluated as a whole
        └─► they do not: sorted on disk by key and time; each piece together with the earlier events that its labels may need
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from sash.columns.buffers import as_arrow
from sash.columns.readable import readable
from sash.engine.group_ids import number_keys
from sash.engine.labels import first_needed, run_labels
from sash.engine.prepare import Prepared
from sash.workers.bucket_worker import BucketWorker
from sash.workers.own_columns import LABEL
from sash.workers.spill import sort_on_disk


@dataclass(frozen=True)
class LabelWorker(BucketWorker):
    """A query as it is sent to workers, with labels."""

    at_time: str = ""
    """The time column of labels, for messages."""

    def _run_whole(self, table: pa.Table) -> pa.Table:
        events, labels = self._apart(table)
        return self._run(self.prepare(events.schema), events, labels) if len(labels) else labels

    def _run_sorted(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Yield the results of more rows than fit memory. Rows of the same key and time are in the same piece."""
        prepared: Prepared | None = None
        earlier: pa.Table | None = None
        with sort_on_disk(batches, replace(self.query, lateness=None), self.most_bytes) as pieces:
            for piece in pieces:
                events, labels = self._apart(piece)
                prepared = prepared or self.prepare(events.schema)
                if earlier is not None:
                    events = pa.concat_tables([earlier, events])
                if len(labels):
                    yield self._run(prepared, events, labels)
                earlier = self._needed_later(prepared, events, piece)

    def _apart(self, table: pa.Table) -> tuple[pa.Table, pa.Table]:
        """Return the columns of events that the query reads, and the labels."""
        is_label = pc.is_valid(table[LABEL])
        return self.readable_rows(table.filter(pc.invert(is_label))), table.filter(is_label)

    def _run(self, prepared: Prepared, events: pa.Table, labels: pa.Table) -> pa.Table:
        """Return labels beside their results."""
        needed = readable(labels.select([*self.query.by, self.query.time]))
        needed = needed.rename_columns([*self.query.by, self.at_time])
        results = run_labels(prepared, events, needed, self.at_time, threads=1)
        for name, column in zip(self.results.names, labels[LABEL].flatten(), strict=False):
            results = results.append_column(name, column)
        return results

    def _needed_later(self, prepared: Prepared, events: pa.Table, piece: pa.Table) -> pa.Table:
        """Return the events of the key of the last row that later labels may need."""
        by = self.query.by
        if by and len(events):
            last = readable(piece.slice(len(piece) - 1)).select(list(by))
            codes, _ = number_keys(pa.concat_tables([events.select(list(by)), last]), by, prepared.loops)
            events = events.filter(as_arrow((codes[:-1] == codes[-1]).view("u1")).cast(pa.bool_()))
        return events.slice(first_needed(prepared, events)) if len(events) else events
