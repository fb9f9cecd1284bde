"""Store: the states of keys, by the name of a query. SQLite and Redis implement it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import pyarrow as pa

from sash.serve.stored_query import StateLayout, States, StoredQuery, check_write, unknown_query
from sash.state.key_states import STATE

if TYPE_CHECKING:
    from sash.spark import SparkDataFrame

Pairs: TypeAlias = list[tuple[bytes, bytes | None]]
"""Keys with their states; without a state, the key is deleted."""
ARROW = (pa.Table, pa.RecordBatch, pa.RecordBatchReader)
CHUNK_ROWS = 50_000
"""The number of keys that are encoded at once."""


class OpenBatch(ABC):
    """A micro-batch that is being written. Until `commit`, the store counts it as not written."""

    @abstractmethod
    def put(self, pairs: Pairs) -> None:
        """Write some keys."""

    @abstractmethod
    def commit(self) -> None:
        """Record that the micro-batch is written."""

    @abstractmethod
    def abandon(self) -> None:
        """Give up. The micro-batch will be repeated."""

    def put_frame(self, frame: SparkDataFrame, layout: StateLayout) -> None:
        """Write the rows of a DataFrame, which come to the driver piece by piece."""
        from sash.spark.state_rows import collect_packed  # noqa: PLC0415 — it imports PySpark

        for packed in collect_packed(frame, StatePacker(layout)):
            self.put(unpack(packed))


class Store(ABC):
    """The states of keys, by the name of a query.

    Make one with `open_store`. Threads may share it. Close it with `close`, or use it in a `with` statement.
    """

    url: str
    may_wait = True
    """Whether a read may wait for a network."""

    # --- what users call

    def write(
        self,
        states: pa.Table | pa.RecordBatch | pa.RecordBatchReader | SparkDataFrame,
        name: str,
        *,
        run: str,
        number: int,
    ) -> bool:
        """Write a micro-batch of states. Return False if it has been written before, and then change nothing.

        `states` is a batch of what `query.run(stream, emit="state")` emits, or in `foreachBatch` its DataFrame. `name` is the name under
        which the lookup service finds the query. `run` names the stream that writes: it stays the same when the stream restarts and
        goes on, and differs for a stream that begins anew. `number` is the number of the micro-batch, which grows within a run.

        Errors: ValueError if the states belong to another query than those in the store, or if the rows are no states. RunConflictError
        if another run writes this name, or if this run was released. TypeError if a key column has a type that cannot be a key.
        """
        check_write(name, run, number)
        if isinstance(states, ARROW):
            layout = StateLayout.of(states.schema)
            put: Callable[[OpenBatch], None] = partial(_put_all, pieces=_pieces(states), layout=layout)
            skip: Callable[[], None] = _nothing
        elif hasattr(states, "mapInArrow"):
            from sash.spark.state_rows import compute, schema_of  # noqa: PLC0415 — it imports PySpark

            layout = StateLayout.of(schema_of(states))
            put = partial(_put_frame, frame=states, layout=layout)
            skip = partial(compute, states)
        else:
            raise TypeError(f"states must be Arrow data, or a DataFrame of Spark, not {type(states).__name__}.")
        _ = layout.codec  # keys of a wrong type are an error before anything is written
        batch = self.begin(name, layout, run, number)
        if batch is None:
            skip()
            return False
        try:
            put(batch)
            batch.commit()
        except BaseException:
            batch.abandon()
            raise
        return True

    def writer(self, name: str, *, run: str | None = None) -> Callable[[SparkDataFrame, int], None]:
        """Return the function for Spark's `foreachBatch` that writes each micro-batch.

        `run` names the stream that writes; default: the id of the streaming query, which its checkpoint keeps. On Spark Connect the id
        is not known, so name the run.

        Errors of the function: those of `write`. RuntimeError if micro-batches are missing between the store and the stream, because the
        store lost them or was attached to a stream that had started before.
        """

        def write_batch(states: SparkDataFrame, number: int) -> None:
            from sash.spark.state_rows import streaming_query_id  # noqa: PLC0415 — it imports PySpark

            self.write_next(states, name, run or streaming_query_id(states), number)

        return write_batch

    def write_next(self, states: Any, name: str, run: str, number: int) -> bool:
        """Write a micro-batch, as `write` does, of a stream that counts its micro-batches from 0 without gaps.

        Raise RuntimeError if a micro-batch before it is missing.
        """
        check_write(name, run, number)
        stored = self.find(name)
        written = -1 if stored is None or stored.number is None else stored.number
        is_other_run = stored is not None and stored.run not in (None, run)  # then write says so
        if number > written + 1 and not is_other_run:
            missing = f"{written + 1}" if number == written + 2 else f"{written + 1} to {number - 1}"
            problem = (
                f"{self.url} has no micro-batch {missing} of run {run!r} of {name!r}, but the stream is at {number}."
            )
            advice = f"The states of some keys are missing or old. Run store.drop({name!r}), and start the stream with a new checkpoint."
            raise RuntimeError(f"{problem} {advice}")
        return self.write(states, name, run=run, number=number)

    def state(self, name: str, key: Mapping[str, Any] | None = None) -> bytes | None:
        """Return the state of a key, for `query.lookup`, or None if the key is not known.

        `key` has a value for each key column, such as `{"card": 42}`.

        Errors: LookupError if nothing has been written under the name, ValueError if the key does not fit the columns.
        """
        found = self.get(name)
        return self.read(name, [found.layout.codec.encode_one(key or {})]).states[0]

    def delete(self, name: str, key: Mapping[str, Any]) -> bool:
        """Delete a key. Return whether the store knew it.

        The stream that writes the store also has the state of the key, and writes it again with the next row of the key, unless it is deleted there too.

        Errors: as `state`.
        """
        return self.remove(name, self.get(name).layout.codec.encode_one(key))

    def get(self, name: str) -> StoredQuery:
        """Return what the store remembers of a query. Raise LookupError if nothing has been written under the name."""
        found = self.find(name)
        if found is None:
            raise unknown_query(name, self.url, self.names())
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- what a kind of store implements

    @abstractmethod
    def begin(self, name: str, layout: StateLayout, run: str, number: int) -> OpenBatch | None:
        """Begin a micro-batch; None if it has been written. The first one of a name creates it. Errors: those of `write`."""

    @abstractmethod
    def read(self, name: str, keys: Sequence[bytes]) -> States:
        """Return the states of encoded keys. Raise LookupError for an unknown name."""

    @abstractmethod
    def find(self, name: str) -> StoredQuery | None:
        """Return what the store remembers of a query; None if nothing has been written under the name."""

    @abstractmethod
    def names(self) -> list[str]:
        """Return the names of all queries."""

    @abstractmethod
    def count(self, name: str) -> int:
        """Return the number of keys that have a state."""

    @abstractmethod
    def remove(self, name: str, key: bytes) -> bool:
        """Delete an encoded key. Return whether the store knew it."""

    @abstractmethod
    def release(self, name: str) -> None:
        """Let another run take over. The current one cannot write any more, even if it still runs.

        The states stay. The next run that writes takes their place, key by key.
        """

    @abstractmethod
    def drop(self, name: str) -> None:
        """Delete all states of a name, and all that the store remembers of it."""

    @abstractmethod
    def close(self) -> None:
        """Close connections. The store opens them again when it is used."""


class StatePacker:
    """Makes chunks of keys and states of Spark's rows, in its workers."""

    def __init__(self, layout: StateLayout) -> None:
        self.layout = layout

    def __call__(self, batch: pa.RecordBatch) -> bytes:
        """Return rows as bytes that `unpack` reads."""
        keys = pa.array(self.layout.codec.encode(batch), pa.binary())
        packed = pa.record_batch({"key": keys, STATE: batch[STATE].cast(pa.binary())})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, packed.schema) as writer:
            writer.write_batch(packed)
        return bytes(sink.getvalue().to_pybytes())


def unpack(packed: bytes) -> Pairs:
    """Return the keys and states of a chunk."""
    rows = pa.ipc.open_stream(packed).read_all()
    return list(zip(rows["key"].to_pylist(), rows[STATE].to_pylist(), strict=True))


def _nothing() -> None:
    """Do nothing with Arrow states that have been written before."""


def _put_frame(batch: OpenBatch, frame: SparkDataFrame, layout: StateLayout) -> None:
    batch.put_frame(frame, layout)


def _pieces(states: pa.Table | pa.RecordBatch | pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    batches: Iterable[pa.RecordBatch] = states.to_batches() if isinstance(states, pa.Table) else [states]
    if isinstance(states, pa.RecordBatchReader):
        batches = states
    return chain.from_iterable(
        (batch.slice(start, CHUNK_ROWS) for start in range(0, batch.num_rows, CHUNK_ROWS)) for batch in batches
    )


def _put_all(batch: OpenBatch, pieces: Iterable[pa.RecordBatch], layout: StateLayout) -> None:
    for rows in pieces:
        batch.put(list(zip(layout.codec.encode(rows), rows[STATE].to_pylist(), strict=True)))
