"""A store in SQLite: one file, one machine, nothing to install.

A micro-batch is one transaction, so that a reader sees all of it or nothing, and a writer that dies leaves nothing. Readers and the
writer do not wait for each other (write-ahead log). A commit waits for the disk: otherwise a loss of power could undo a micro-batch that
the stream does not repeat.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from sash.serve.store import OpenBatch, Pairs, Store
from sash.serve.stored_query import StateLayout, States, StoredQuery, unknown_query

VERSION = 1
"""Of the tables, in user_version of the file."""
LONGEST_WAIT = 60.0
"""Seconds to wait for another writer."""
PAGE_BYTES = 8192
"""With SQLite's own 4096, a file with states of 800 bytes is a quarter larger, and takes a third longer to write."""
TABLES = f"""
CREATE TABLE sash_queries (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, header BLOB NOT NULL, columns BLOB NOT NULL, digest BLOB NOT NULL,
    run TEXT, number INTEGER
);
CREATE TABLE sash_released (query INTEGER NOT NULL, run TEXT NOT NULL, PRIMARY KEY (query, run)) WITHOUT ROWID;
CREATE TABLE sash_states (query INTEGER NOT NULL, key BLOB NOT NULL, state BLOB NOT NULL, PRIMARY KEY (query, key)) WITHOUT ROWID;
PRAGMA user_version = {VERSION};
"""
PUT = "INSERT INTO sash_states VALUES (?, ?, ?) ON CONFLICT (query, key) DO UPDATE SET state = excluded.state"
REMOVE = "DELETE FROM sash_states WHERE query = ? AND key = ?"


class SqliteStore(Store):
    """A store in a file of SQLite."""

    may_wait = False

    def __init__(self, path: str | Path, url: str) -> None:
        self.path, self.url = Path(path), url
        self._prepare()

    def _prepare(self) -> None:
        self._writing, self._reading = threading.RLock(), threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None

    def begin(self, name: str, layout: StateLayout, run: str, number: int) -> OpenBatch | None:
        """Begin a transaction."""
        self._writing.acquire()
        try:
            connection = self._begin()
            values = (name, layout.header, layout.columns.serialize().to_pybytes(), layout.digest)
            connection.execute(
                "INSERT INTO sash_queries (name, header, columns, digest) VALUES (?, ?, ?, ?) ON CONFLICT (name) DO NOTHING",
                values,
            )
            ((query,),) = connection.execute("SELECT id FROM sash_queries WHERE name = ?", (name,))
            released = connection.execute("SELECT 1 FROM sash_released WHERE query = ? AND run = ?", (query, run))
            stored = _stored(connection, name)
            assert stored is not None
            if stored.admits(layout, run, number, released=released.fetchone() is not None):
                return SqliteBatch(self, connection, query, run, number)
        except BaseException:
            self.roll_back()
            raise
        self.roll_back()
        return None

    def read(self, name: str, keys: Sequence[bytes]) -> States:
        """Read states, all of the same micro-batch."""
        with self._reader_of() as connection:
            if connection is None:
                raise unknown_query(name, self.url, [])
            connection.execute("BEGIN")
            try:
                found = connection.execute("SELECT id, digest FROM sash_queries WHERE name = ?", (name,)).fetchone()
                if found is None:
                    raise unknown_query(name, self.url, _names(connection))
                query, digest = found
                select = "SELECT state FROM sash_states WHERE query = ? AND key = ?"
                rows = [connection.execute(select, (query, key)).fetchone() for key in keys]
            finally:
                connection.execute("COMMIT")
        return States(digest, [row and row[0] for row in rows])

    def find(self, name: str) -> StoredQuery | None:
        """Return what the store remembers of a query."""
        with self._reader_of() as connection:
            return None if connection is None else _stored(connection, name)

    def names(self) -> list[str]:
        """Return the names of all queries."""
        with self._reader_of() as connection:
            return [] if connection is None else _names(connection)

    def count(self, name: str) -> int:
        """Return the number of keys."""
        with self._reader_of() as connection:
            if connection is None:
                return 0
            where = "query = (SELECT id FROM sash_queries WHERE name = ?)"
            return int(connection.execute(f"SELECT count(*) FROM sash_states WHERE {where}", (name,)).fetchone()[0])  # noqa: S608

    def remove(self, name: str, key: bytes) -> bool:
        """Delete a key, also from the log, where its last state would stay for a while."""
        with self._change() as connection:
            where = "query = (SELECT id FROM sash_queries WHERE name = ?) AND key = ?"
            known = connection.execute(f"DELETE FROM sash_states WHERE {where}", (name, key)).rowcount > 0  # noqa: S608
        self._empty_log()
        return known

    def release(self, name: str) -> None:
        """Let another run take over."""
        self.get(name)
        with self._change() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO sash_released SELECT id, run FROM sash_queries WHERE name = ? AND run IS NOT NULL",
                (name,),
            )
            connection.execute("UPDATE sash_queries SET run = NULL, number = NULL WHERE name = ?", (name,))

    def drop(self, name: str) -> None:
        """Delete a query."""
        if not self.path.exists():
            return
        with self._change() as connection:
            for table in ("sash_states", "sash_released"):
                where = "query = (SELECT id FROM sash_queries WHERE name = ?)"
                connection.execute(f"DELETE FROM {table} WHERE {where}", (name,))  # noqa: S608 — our own words
            connection.execute("DELETE FROM sash_queries WHERE name = ?", (name,))
        self._empty_log()

    def close(self) -> None:
        """Close both connections."""
        with self._writing, self._reading:
            for connection in (self._writer, self._reader):
                if connection is not None:
                    connection.close()
            self._writer = self._reader = None

    def roll_back(self) -> None:
        """End the transaction without an effect, and let other threads write."""
        try:
            if self._writer is not None and self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
        finally:
            self._writing.release()

    def commit(self) -> None:
        """End the transaction, and let other threads write."""
        assert self._writer is not None
        self._writer.execute("COMMIT")
        self._writing.release()

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        """A transaction that commits at the end."""
        self._writing.acquire()
        try:
            yield self._begin()
        except BaseException:
            self.roll_back()
            raise
        self.commit()

    def _begin(self) -> sqlite3.Connection:
        """Return the connection that writes, in a new transaction. The first one makes the file and its tables."""
        if self._writer is None:
            self._writer = self._connect("rwc")
            self._writer.execute(f"PRAGMA page_size = {PAGE_BYTES}")
            self._writer.execute("PRAGMA journal_mode = WAL")
            self._writer.execute("PRAGMA synchronous = FULL")
            self._writer.execute("PRAGMA secure_delete = ON")  # deleted states are overwritten in the file
            self._writer.execute("PRAGMA cache_size = -65536")
        self._writer.execute("BEGIN IMMEDIATE")
        if _version(self._writer, self.url) == 0:
            for statement in TABLES.split(";"):
                self._writer.execute(statement)
        return self._writer

    def _empty_log(self) -> None:
        """Move the write-ahead log into the file, and cut it. If a reader is in the way, a later commit does so."""
        with self._writing:
            if self._writer is not None:
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def _reader_of(self) -> Iterator[sqlite3.Connection | None]:
        """The connection that reads; None before the first micro-batch. Raise ValueError for a file that is no store."""
        with self._reading:
            if self._reader is None and self.path.exists():
                reader = self._connect("rw")
                if _version(reader, self.url):
                    reader.execute("PRAGMA query_only = ON")
                    self._reader = reader
                else:
                    reader.close()
            yield self._reader

    def _connect(self, mode: str) -> sqlite3.Connection:
        uri = f"{self.path.absolute().as_uri()}?mode={mode}"
        try:
            return sqlite3.connect(uri, uri=True, timeout=LONGEST_WAIT, isolation_level=None, check_same_thread=False)
        except sqlite3.OperationalError as error:
            raise OSError(f"Cannot open the store {self.path}: {error}.") from error

    def __getstate__(self) -> dict[str, object]:
        """Leave out connections: another process opens its own."""
        return {"path": self.path, "url": self.url}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._prepare()


class SqliteBatch(OpenBatch):
    """A micro-batch: a transaction that is open."""

    def __init__(self, store: SqliteStore, connection: sqlite3.Connection, query: int, run: str, number: int) -> None:
        self.store, self.connection = store, connection
        self.query, self.run, self.number = query, run, number

    def put(self, pairs: Pairs) -> None:
        """Write keys in their order, which is also that of the file."""
        query = self.query
        pairs = sorted(dict(pairs).items(), key=lambda pair: pair[0])
        self.connection.executemany(PUT, ((query, key, state) for key, state in pairs if state is not None))
        self.connection.executemany(REMOVE, ((query, key) for key, state in pairs if state is None))

    def commit(self) -> None:
        """Record the number in the same transaction, and end it."""
        update = "UPDATE sash_queries SET run = ?, number = ? WHERE id = ?"
        self.connection.execute(update, (self.run, self.number, self.query))
        self.store.commit()

    def abandon(self) -> None:
        """Undo all."""
        self.store.roll_back()


def _version(connection: sqlite3.Connection, url: str) -> int:
    """Return the version of the tables; 0 if there are none. Raise ValueError for a file that Sash cannot read."""
    try:
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.DatabaseError as error:
        raise ValueError(f"{url} is not an SQLite database: {error}.") from error
    if version not in (0, VERSION):
        raise ValueError(f"{url} has tables of version {version}. This version of Sash reads version {VERSION}.")
    return version


def _stored(connection: sqlite3.Connection, name: str) -> StoredQuery | None:
    row = connection.execute("SELECT header, columns, run, number FROM sash_queries WHERE name = ?", (name,)).fetchone()
    if row is None:
        return None
    header, columns, run, number = row
    return StoredQuery(name, StateLayout(header, pa.ipc.read_schema(pa.py_buffer(columns))), run, number)


def _names(connection: sqlite3.Connection) -> list[str]:
    return [name for (name,) in connection.execute("SELECT name FROM sash_queries ORDER BY name")]
