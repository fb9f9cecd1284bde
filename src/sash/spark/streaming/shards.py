"""BucketStore: the state of a bucket in the state store, in shards.

    sash_state   one small value, the head: the watermark, what is stored of each shard, and the newest deltas
    sash_log     by shard and number: 0 is a base, which is the whole state of the shard; the others are deltas of the micro-batches since

A call of the state store takes longer than all work on a small delta. So the head holds deltas until they are `MOST_WAITING` bytes; then they
are stored together.

A bucket begins as one shard. A shard that grows beyond `MOST_BYTES` is split in two by the hash of its keys. So a micro-batch makes few
calls while the state is small, and no call holds much memory when it is large. Only shards with new rows, or with results that are due,
are read and written. Bases and deltas are read only if this machine has no copy of the state.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql.streaming import stateful_processor as api
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from sash.columns.buffers import as_arrow, as_numpy
from sash.engine.row_block import KEY_HASH
from sash.kernels.array_codec import decode_arrays, encode_arrays, read_header
from sash.spark.streaming import state_cache
from sash.spark.streaming.stream_task import StreamTask
from sash.state.codec import REMEDY, WHAT
from sash.state.fingerprint import Fingerprint
from sash.state.regroup import split_state
from sash.state.state_log import is_due
from sash.state.stream_state import StreamState, first_in_time
from sash.windows.base import FOREVER, Ints

STATE, LOG = "sash_state", "sash_log"
"""The state variables of a bucket."""
# As types: Spark would send a string to the JVM to be parsed, twice, in each task.
STORED = StructType([StructField("size", LongType()), StructField("state", BinaryType())])
LOG_KEY = StructType([StructField("shard", LongType()), StructField("number", LongType())])
COMPRESSION = "zstd"
MOST_BYTES = 1 << 23
"""A shard with a larger base is split."""
MOST_WAITING = 1 << 14
"""The head of a bucket holds at most this many bytes of deltas: it is read and written in each micro-batch."""
MOST_BITS = 16
"""The bits of a hash that decide in which shard a key is: the upper half of 32, since the bucket follows from the lower ones."""
MILLISECOND = 1_000_000


class Shard(NamedTuple):
    """What is known of a shard without reading its state.

    The shard `1` has all keys of the bucket. The halves of a shard with b bits of the hash, `1 << b | bits`, have one more bit.
    """

    number: int = 1
    token: str | None = None
    """The name of its state; None if it has none."""
    due: int | None = None
    """The watermark at which it is due, in milliseconds."""
    base_bytes: int = 0
    log_bytes: int = 0
    deltas: int = 0
    """How many deltas came after the base."""
    entries: int = 0
    """How many entries of the log hold deltas. Those with higher numbers are old. The deltas after them are in the head."""

    @property
    def bits(self) -> int:
        """How many bits of the hash its keys have in common."""
        return self.number.bit_length() - 1


@dataclass
class Head:
    """What is known of a bucket without reading its shards."""

    watermark: int
    shards: list[Shard] = field(default_factory=lambda: [Shard()])
    query: Fingerprint | None = None
    """The fingerprint of the query, if a shard has no state that has it."""
    waiting: dict[int, list[bytes]] = field(default_factory=dict)
    """By shard: deltas that are stored here."""

    @property
    def due(self) -> int | None:
        """The time of the timer of the bucket, in milliseconds."""
        return min((shard.due for shard in self.shards if shard.due is not None), default=None)

    def encode(self) -> bytes:
        """Return it as bytes."""
        waiting = [(number, delta) for number, deltas in self.waiting.items() for delta in deltas]
        more = {"watermark": self.watermark, "shards": self.shards, "head": self.query}
        return encode_deltas([delta for _, delta in waiting], waiting=[number for number, _ in waiting], **more)


def read_head(data: bytes) -> Head:
    """Return the head from its bytes. Raise ValueError if they are damaged or of another version."""
    header = read_header(data, WHAT, REMEDY)
    head = Head(header["watermark"], [Shard(*shard) for shard in header["shards"]], header["head"])
    for number, delta in zip(header["waiting"], decode_deltas(data), strict=True):
        head.waiting.setdefault(number, []).append(delta)
    return head


def encode_deltas(deltas: Sequence[bytes], **described: Any) -> bytes:
    """Return deltas as bytes."""
    return encode_arrays({str(place): np.frombuffer(delta, np.uint8) for place, delta in enumerate(deltas)}, described)


def decode_deltas(data: bytes) -> list[bytes]:
    """Return the deltas from `encode_deltas`. Raise ValueError if they are damaged."""
    return [array.tobytes() for array in decode_arrays(data, read_header(data, WHAT, REMEDY)).values()]


@dataclass
class BucketStore:
    """The state of one bucket in this micro-batch."""

    task: StreamTask
    bucket: int
    state: api.ValueState
    log: api.MapState

    def __post_init__(self) -> None:
        """Read what is known of the bucket."""
        stored = self.state.get()
        self.is_new = stored is None
        # Spark's watermark starts at 1970.
        self.head = Head(first_in_time(self.task.prepared(), 0)) if stored is None else read_head(decompressed(stored))
        self.waiting = {number: list(deltas) for number, deltas in self.head.waiting.items()}
        """By shard: the deltas that the next head holds."""
        self.written = 0
        """How many bytes this micro-batch has written."""

    def split_rows(self, rows: pa.Table) -> list[pa.Table]:
        """Return the rows of each shard."""
        shards = self.head.shards
        if len(shards) == 1:
            return [rows]
        of_bits = np.empty(1 << MOST_BITS, np.int64)
        for place, shard in enumerate(shards):
            of_bits[shard.number - (1 << shard.bits) :: 1 << shard.bits] = place
        places = of_bits[shard_bits(as_numpy(rows[KEY_HASH].combine_chunks()))]
        order = np.argsort(places, kind="stable")
        ends = np.searchsorted(places[order], np.arange(len(shards) + 1))
        sorted_rows = rows.take(as_arrow(order))
        return [sorted_rows.slice(ends[place], ends[place + 1] - ends[place]) for place in range(len(shards))]

    def load(self, shard: Shard) -> StreamState:
        """Return the state of a shard, at the watermark of the bucket: nothing was due since the shard was stored."""
        task, head = self.task, self.head
        state = task.new_state()
        state.watermark = head.watermark
        if shard.token is None:
            if head.query is not None:
                state.continue_empty(head.query, task.fingerprint, evolves=task.evolve)
            return state
        cached = state_cache.read(self._place(shard), shard.token)
        try:
            state.decode(cached or b"", task.fingerprint)
        except ValueError:  # not cached, or damaged
            base = decompressed(self.log.getValue((shard.number, 0)))
            entries = [self.log.getValue((shard.number, number)) for number in range(1, shard.entries + 1)]
            deltas = deltas_of(shard, entries, head)
            state.decode_log(base, deltas, task.fingerprint, shard.token, evolves=task.evolve)
        state.watermark = max(state.watermark, head.watermark)
        return state

    def store(self, shard: Shard, state: StreamState) -> list[Shard]:
        """Store what changed in a shard, or a new base. Return the shard, or its halves if it was split."""
        if state.is_empty:
            self._remove(shard)
            return [Shard(shard.number)]
        token = state_cache.new_token()
        delta = None if shard.token is None else state.encode_delta(shard.token, token)
        log_bytes, deltas = shard.log_bytes + len(delta or b""), shard.deltas + 1
        if delta is None or is_due(shard.base_bytes, log_bytes, deltas, self.bucket + shard.number):
            return self.store_base(shard, state, token)
        data = state.encode(self.task.fingerprint, token)
        entries = shard.entries + self._append(shard, delta)
        state_cache.write(self._place(shard), token, data)
        return [Shard(shard.number, token, due_in_milliseconds(state), shard.base_bytes, log_bytes, deltas, entries)]

    def _append(self, shard: Shard, delta: bytes) -> int:
        """Add a delta to those that wait, or store them. Return how many entries the log has more."""
        own = self.waiting.setdefault(shard.number, [])
        own.append(delta)
        if sum(len(waiting) for deltas in self.waiting.values() for waiting in deltas) <= MOST_WAITING:
            self._count(compressed(delta))
            return 0
        stored = compressed(encode_deltas(self.waiting.pop(shard.number)))
        self.log.updateValue((shard.number, shard.entries + 1), self._count(stored))
        return 1

    def store_base(self, shard: Shard, state: StreamState, token: str) -> list[Shard]:
        """Store the whole state of a shard. Return the shard, or its halves if it was split."""
        data = state.encode(self.task.fingerprint, token)
        if len(data) > MOST_BYTES and shard.bits < MOST_BITS and state.size.keys > 1:
            self._remove(shard)
            return self._split(shard, state)
        self.waiting.pop(shard.number, None)
        self.log.updateValue((shard.number, 0), self._count(compressed(data)))
        state_cache.write(self._place(shard), token, data)
        return [Shard(shard.number, token, due_in_milliseconds(state), len(data))]

    def _split(self, shard: Shard, state: StreamState) -> list[Shard]:
        """Store the halves of a shard."""
        low = (shard.number & ((1 << shard.bits) - 1)) | 1 << shard.bits + 1
        halves = dict(split_state(state, self.task.new_state, lambda hashes: shard_bits(hashes) >> shard.bits & 1))
        stored = []
        for half in (0, 1):
            part = Shard(low | half << shard.bits)
            stored += self.store_base(part, halves[half], state_cache.new_token()) if half in halves else [part]
        return stored

    def close(self, watermark: int, shards: list[Shard]) -> None:
        """Store what is known of the bucket after a micro-batch. The watermark stays if nothing else is left."""
        if all(shard.token is None for shard in shards):
            if any(shard.token is not None for shard in self.head.shards):
                self.log.clear()  # old entries, too
            shards = [Shard()]
        is_empty = any(shard.token is None for shard in shards)
        self.head = Head(watermark, shards, self.task.fingerprint if is_empty else None, self.waiting)
        self.state.update(compressed(self.head.encode()))

    def remove_old_entries(self) -> None:
        """Remove all that the log holds besides the bases and deltas of the shards, so that no erased key is left in it."""
        current = {
            (shard.number, number) for shard in self.head.shards if shard.token for number in range(shard.entries + 1)
        }
        for shard, number in [tuple(key) for key in self.log.keys()]:  # noqa: SIM118 — a MapState is no dictionary
            if (shard, number) not in current:
                self.log.removeKey((shard, number))

    def _remove(self, shard: Shard) -> None:
        """Remove the base of a shard, and its copy. Its deltas are old from now on."""
        self.waiting.pop(shard.number, None)
        if shard.token is not None:
            self.log.removeKey((shard.number, 0))
            state_cache.remove(self._place(shard))

    def _count(self, stored: tuple[int, bytes]) -> tuple[int, bytes]:
        self.written += len(stored[1])
        return stored

    def _place(self, shard: Shard) -> str:
        return f"{self.task.name}-{self.bucket}-{shard.number}"


def shard_bits(hashes: Ints) -> Ints:
    """Return the bits of hashes that decide in which shards keys are.

    >>> shard_bits(np.array([-1, 1 << 16, 5], np.int32)).tolist()
    [65535, 1, 0]
    """
    bits: Ints = hashes.astype(np.int64) >> 16 & (1 << MOST_BITS) - 1
    return bits


def due_in_milliseconds(state: StreamState) -> int | None:
    """Return the Spark watermark, in milliseconds, at which the state is due; None if it never is."""
    tick, due = state.prepared.unit.tick, state.due
    if due == FOREVER or tick is None:
        return None
    # The inverse of first_in_time, rounded up: Spark's watermark is in whole milliseconds.
    offset = first_in_time(state.prepared, due) - due
    return max(-((offset - due) * tick // MILLISECOND), 1)


def deltas_of(shard: Shard, entries: Iterable[Any], head: Head) -> list[bytes]:
    """Return the deltas of a shard in order: those in the entries of its log, and those in the head."""
    stored = [delta for entry in entries for delta in decode_deltas(decompressed(entry))]
    return [*stored, *head.waiting.get(shard.number, ())]


def compressed(state: bytes) -> tuple[int, bytes]:
    """Return a state for the store."""
    return len(state), pa.compress(state, COMPRESSION, asbytes=True)


def decompressed(stored: tuple[Any, ...] | None) -> bytes:
    """Return a state from the store. Raise ValueError if it is damaged."""
    try:
        size, state = stored or (0, b"")
        raw: bytes = pa.decompress(bytes(state), size, COMPRESSION, asbytes=True)
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(f"The bytes of this {WHAT} are damaged. To continue, {REMEDY}.") from error
    return raw
