"""StreamTask: a query on a stream, as it is sent to workers."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from sash.durations import Duration
from sash.engine.prepare import Prepared, Recent
from sash.engine.row_block import KEY_HASH
from sash.state.fingerprint import Fingerprint
from sash.state.key_layout import KeyLayout
from sash.state.late_rows import LateRows
from sash.state.stream_state import StreamState
from sash.workers.bucket_worker import BucketWorker

MOST_QUERIES = 16
_prepared: Recent[str, Prepared] = Recent(MOST_QUERIES)
"""Prepared queries by name of the task: a Python worker process gets the same task in each micro-batch."""


@dataclass(frozen=True)
class StreamTask:
    """A query on a stream, as it is sent to workers."""

    name: str
    """Unique."""
    worker: BucketWorker
    schema: pa.Schema
    """The types of the rows."""
    fingerprint: Fingerprint
    mode: str
    on_bad_time: str
    ahead: int | None
    """How many ticks ahead of the clock a time may be; None for any."""
    late: str = "drop"
    sent: pa.Schema | None = None
    """The types of all columns that arrive, if late rows are kept with more columns than the query reads."""
    forget: Duration | None = None
    """How long after its last row a key is forgotten."""
    layout: KeyLayout | None = None
    """The layout of the states of keys that the stream emits; None if it emits results."""
    evolve: bool = False
    """Whether aggregates and windows may differ from those of the checkpoint."""
    until: int | None = None
    """Where a history ends and the stream begins, in ticks."""
    starts: bool = False
    """Whether a new checkpoint gets an initial state."""
    partial: bool = False
    """Whether the history may be shorter than the windows."""

    def prepared(self) -> Prepared:
        """Return the prepared query, made once per process."""
        if self.name not in _prepared:
            _prepared[self.name] = self.worker.prepare(with_hash(self.schema, self.worker.query.by))
        return _prepared[self.name]

    @property
    def arriving(self) -> pa.Schema:
        """The types of the rows as they arrive."""
        return with_hash(self.sent or self.schema, self.worker.query.by)

    def new_state(self) -> StreamState:
        """Return an empty state."""
        prepared = self.prepared()
        late_rows = LateRows(prepared.query, self.sent or self.schema, self.late)
        return StreamState(prepared, self.mode, late_rows, self.forget, self.layout)


def with_hash(schema: pa.Schema, by: tuple[str, ...]) -> pa.Schema:
    """Return a schema with the hash of the key, if there are keys."""
    return schema.append(pa.field(KEY_HASH, pa.int32())) if by else schema
