r"""A store in Redis: one hash per query, for writers and readers on several machines.

A micro-batch is written in chunks. Each chunk is a script, which Redis runs as a whole: it compares the run and the number in the hash
with its own, and changes nothing if another run writes, or if this micro-batch has been written. The number comes last. So a writer that
dies leaves states of the micro-batch, which is then repeated and writes them again. A writer that was replaced while it slept changes
nothing when it wakes up. A reader may see some keys before and others after a micro-batch, each of them whole.

    sash:card_features ─┬─ \0header, \0columns, \0digest, \0run, \0number, \0released
                        └─ a key ─► its state
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pyarrow as pa

from sash.serve.store import OpenBatch, Pairs, Store
from sash.serve.stored_query import RunConflictError, StateLayout, States, StoredQuery, unknown_query
from sash.state.key_states import STATE

if TYPE_CHECKING:
    from sash.spark import SparkDataFrame

PREFIX = "sash:"
NAMES = "sash"
"""The set of all names."""
HEADER, COLUMNS, DIGEST, RUN, NUMBER, RELEASED = (
    b"\0header",
    b"\0columns",
    b"\0digest",
    b"\0run",
    b"\0number",
    b"\0released",
)
"""Fields that are no keys: no encoded key begins with a zero."""
CHUNK_KEYS, CHUNK_BYTES = 500, 1 << 19
"""Of one script: Redis answers nobody else while it runs."""

BEGIN = """
local fields = redis.call('HMGET', KEYS[1], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[9])
if not fields[1] then
    redis.call('HSET', KEYS[1], ARGV[4], ARGV[1], ARGV[5], ARGV[2], ARGV[8], ARGV[3])
    fields[1], fields[2] = ARGV[1], ARGV[2]
end
return fields
"""
"""Creates a query, and returns its header, columns, run, number, and the runs that were released."""
CLAIM = """
local run = redis.call('HGET', KEYS[1], ARGV[1])
if run then return run == ARGV[2] and 1 or 0 end
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
for _, released in ipairs(cjson.decode(redis.call('HGET', KEYS[1], ARGV[3]) or '[]')) do
    if released == ARGV[2] then return 0 end
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
"""
"""Makes a run the one that writes, if there is none, and if it was not released."""
FENCE = """
local fields = redis.call('HMGET', KEYS[1], ARGV[1], ARGV[2])
if fields[1] ~= ARGV[3] or (fields[2] and tonumber(fields[2]) >= tonumber(ARGV[4])) then return 0 end
"""
PUT = f"""{FENCE}
for i = 5, #ARGV, 2 do
    if ARGV[i + 1] == '' then redis.call('HDEL', KEYS[1], ARGV[i])
    else redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
end
return 1
"""
COMMIT = f"""{FENCE}
redis.call('HSET', KEYS[1], ARGV[2], ARGV[4])
return 1
"""
RELEASE = """
local run = redis.call('HGET', KEYS[1], ARGV[1])
if not run then return end
local released = cjson.decode(redis.call('HGET', KEYS[1], ARGV[3]) or '[]')
table.insert(released, run)
redis.call('HSET', KEYS[1], ARGV[3], cjson.encode(released))
redis.call('HDEL', KEYS[1], ARGV[1], ARGV[2])
"""


class RedisStore(Store):
    """A store in Redis."""

    def __init__(self, url: str) -> None:
        self.url, self._address = without_password(url), url
        self._connect()

    def _connect(self) -> None:
        try:
            from sash.serve.redis_client import StoreClient  # noqa: PLC0415 — optional
        except ImportError as error:
            raise ImportError(
                "A store in Redis needs redis. Install it: pip install 'sash[redis]'.", name=error.name
            ) from error

        self.client = StoreClient.of(self._address, self.url)
        self.scripts = {text: self.client.register_script(text) for text in (BEGIN, CLAIM, PUT, COMMIT, RELEASE)}

    def call(self, script: str, name: str, *arguments: bytes | str | int) -> Any:
        """Run a script on the hash of a query."""
        return self.scripts[script](keys=[PREFIX + name], args=arguments)

    def begin(self, name: str, layout: StateLayout, run: str, number: int) -> OpenBatch | None:
        """Check the run and the number; the first run becomes the one that writes."""
        self.client.sadd(NAMES, name)
        created = (layout.header, layout.columns.serialize().to_pybytes(), layout.digest)
        fields = self.call(BEGIN, name, *created, HEADER, COLUMNS, RUN, NUMBER, DIGEST, RELEASED)
        stored = _stored(name, fields[:4])
        if not stored.admits(layout, run, number, released=run in json.loads(fields[4] or "[]")):
            return None
        batch = RedisBatch(self, name, run, number)
        batch.check(self.call(CLAIM, name, RUN, run, RELEASED))
        return batch

    def read(self, name: str, keys: Sequence[bytes]) -> States:
        """Read states."""
        fields: Any = self.client.hmget(PREFIX + name, [DIGEST, *keys])
        digest, *states = fields
        if digest is None:
            raise unknown_query(name, self.url, self.names())
        return States(digest, states)

    def find(self, name: str) -> StoredQuery | None:
        """Return what the store remembers of a query."""
        fields = self.client.hmget(PREFIX + name, [HEADER, COLUMNS, RUN, NUMBER])
        return None if fields[0] is None else _stored(name, fields)

    def names(self) -> list[str]:
        """Return the names of all queries."""
        names: Any = self.client.smembers(NAMES)
        return sorted(name.decode() for name in names)

    def count(self, name: str) -> int:
        """Return the number of keys: of fields that are no metadata."""
        metadata = self.client.hmget(PREFIX + name, [HEADER, COLUMNS, DIGEST, RUN, NUMBER, RELEASED])
        return self.client.hlen(PREFIX + name) - sum(field is not None for field in metadata)

    def remove(self, name: str, key: bytes) -> bool:
        """Delete a key."""
        return bool(self.client.hdel(PREFIX + name, key))

    def release(self, name: str) -> None:
        """Let another run take over."""
        self.get(name)
        self.call(RELEASE, name, RUN, NUMBER, RELEASED)

    def drop(self, name: str) -> None:
        """Delete a query. Redis frees the memory in the background."""
        self.client.unlink(PREFIX + name)
        self.client.srem(NAMES, name)

    def close(self) -> None:
        """Close all connections."""
        self.client.close()

    def __getstate__(self) -> dict[str, object]:
        """Leave out connections: another process opens its own."""
        return {"address": self._address}

    def __setstate__(self, state: dict[str, str]) -> None:
        self.__init__(state["address"])  # type: ignore[misc]


class RedisBatch(OpenBatch):
    """A micro-batch, of which several processes may write parts."""

    def __init__(self, store: RedisStore, name: str, run: str, number: int) -> None:
        self.store, self.name, self.run, self.number = store, name, run, number

    def put(self, pairs: Pairs) -> None:
        """Write keys, script by script."""
        for chunk in _chunks(pairs):
            self.check(self.store.call(PUT, self.name, *self._fence, *chunk))

    def commit(self) -> None:
        """Record the number."""
        self.check(self.store.call(COMMIT, self.name, *self._fence))

    def abandon(self) -> None:
        """Leave what is written: the repeated micro-batch writes it again."""

    def put_frame(self, frame: SparkDataFrame, layout: StateLayout) -> None:
        """Write the rows of a DataFrame where they are: each task of Spark has a connection."""
        from sash.spark.state_rows import run_tasks  # noqa: PLC0415 — it imports PySpark

        run_tasks(frame, TaskWriter(self, layout))

    def check(self, written: int) -> None:
        """Raise RunConflictError if a script found another run or a later micro-batch."""
        if not written:
            problem = f"Another run, or a later micro-batch, has been written to {self.name!r} in the meantime."
            raise RunConflictError(
                f"{problem} This writer, micro-batch {self.number} of run {self.run!r}, is too late."
            )

    @property
    def _fence(self) -> tuple[bytes, bytes, str, int]:
        return RUN, NUMBER, self.run, self.number


class TaskWriter:
    """Writes rows in a task of Spark."""

    def __init__(self, batch: RedisBatch, layout: StateLayout) -> None:
        self.batch, self.layout = batch, layout

    def __call__(self, rows: pa.RecordBatch) -> None:
        """Write some rows."""
        self.batch.put(list(zip(self.layout.codec.encode(rows), rows[STATE].to_pylist(), strict=True)))


def without_password(url: str) -> str:
    """Return a URL for messages.

    >>> without_password("redis://user:secret@host:6379/0?password=secret")
    'redis://user:…@host:6379/0'
    """
    shown = urlsplit(url)._replace(query="").geturl()
    return re.sub(r"(://[^:/@]*):[^@]*@", r"\1:…@", shown)


def _chunks(pairs: Pairs) -> Iterator[list[bytes]]:
    """Return keys and states in turns, as many as a script gets. An empty state deletes its key."""
    chunk: list[bytes] = []
    size = 0
    for key, state in pairs:
        chunk += (key, state or b"")
        size += len(state or b"")
        if len(chunk) >= 2 * CHUNK_KEYS or size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _stored(name: str, fields: Sequence[Any]) -> StoredQuery:
    header, columns, run, number = fields
    layout = StateLayout(header, pa.ipc.read_schema(pa.py_buffer(columns)))
    return StoredQuery(name, layout, run and run.decode(), None if number is None else int(number))
