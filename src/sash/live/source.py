"""Source: where the results of the page come from. It runs in its own thread and adds results to the feed."""

from __future__ import annotations

import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.ipc

from sash.backends.arrow import ArrowTable
from sash.engine.select_sql import READERS, ending_of, read_files
from sash.live import demo
from sash.live.feed import Feed, Layout, layout_of
from sash.nested_query import NestedQuery
from sash.plan.explanation import Explanation
from sash.query import Query
from sash.sql_query import only_time, sql

RECENT_ROWS = 200_000
"""Rows that the query box runs over."""
RATE_SECONDS = 5.0


@dataclass
class Status:
    """The state of a stream; None if the source does not know."""

    state: str = "starting"
    message: str = ""
    rows: int = 0
    late: int = 0
    """Rows that changed no window, because their windows were closed."""
    left_out: int = 0
    """Rows that do not fit the types of the stream, and rows without a time."""
    state_bytes: int | None = None
    state_rows: int | None = None
    delay: float | None = None
    """Seconds from the arrival of rows to their results."""
    batches: int = 0

    def leave_out(self, rows: int, message: str) -> None:
        """Count rows that the stream leaves out, and tell of them on the page and on the terminal."""
        self.left_out += rows
        self.message = message
        sys.stderr.write(f"sash: {message}\n")


class Source(Protocol):
    """A stream of results."""

    title: str
    engine: str
    query_text: str
    """The query, as the page shows it."""
    example: str
    """A query for the query box."""
    can_burst: bool
    status: Status
    recent: RecentRows

    def run(self, feed: Feed) -> None:
        """Add results to the feed until `stop` is called."""

    def stop(self) -> None:
        """Make `run` return soon."""

    def burst(self, key: str | None) -> str:
        """Send late rows for a key. Return a sentence about it."""

    def explain(self) -> Explanation:
        """Return the plan of the query."""


@dataclass
class RecentRows:
    """The newest rows of a stream, for the query box."""

    most: int = RECENT_ROWS
    tables: deque[pa.Table] = field(default_factory=deque)
    lock: threading.Lock = field(default_factory=threading.Lock)
    count: int = 0

    def add(self, rows: pa.Table) -> None:
        """Add rows, and drop old ones."""
        if not len(rows):
            return
        with self.lock:
            self.tables.append(rows.slice(max(0, len(rows) - self.most)))
            self.count += len(self.tables[-1])
            while self.count - len(self.tables[0]) >= self.most:
                self.count -= len(self.tables.popleft())

    def table(self) -> pa.Table | None:
        """Return the rows; None if there were none yet."""
        with self.lock:
            tables = list(self.tables)
        if not tables:
            return None
        rows = pa.concat_tables(tables)
        return rows.slice(max(0, len(rows) - self.most))


@dataclass
class Rate:
    """How fast a total grows, over the last seconds.

    >>> now = iter([0.0, 1.0, 2.0])
    >>> rate = Rate(lambda: next(now))
    >>> [rate.add(total) for total in (0, 50, 100)]
    [0.0, 50.0, 50.0]
    """

    clock: Callable[[], float] = time.monotonic
    seen: deque[tuple[float, int]] = field(default_factory=deque)

    def add(self, total: int) -> float:
        """Note the total. Return its growth per second."""
        now = self.clock()
        self.seen.append((now, total))
        while len(self.seen) > 2 and now - self.seen[1][0] >= RATE_SECONDS:  # noqa: PLR2004 — two ends of an interval
            self.seen.popleft()
        first, before = self.seen[0]
        return (total - before) / (now - first) if now > first else 0.0


class QuerySource(ABC):
    """A query over a stream."""

    def __init__(self, title: str, query: Query, query_text: str, example: str) -> None:
        self.title, self.query, self.query_text, self.example = title, query, query_text, example
        self.can_burst = query is demo.QUERY
        self.status = Status()
        self.recent = RecentRows()
        self.stopped = threading.Event()
        self.bursts_sent = 0
        self.feed: Feed | None = None

    def explain(self) -> Explanation:
        """Return the plan of the query."""
        return self.query.explain()

    def stop(self) -> None:
        """Make `run` return soon."""
        self.stopped.set()

    def burst(self, key: str | None) -> str:
        """Send late readings of a household, of the first one if `key` is unknown. Return a sentence about it."""
        feed = self.feed
        if feed is None or not feed.keys:
            return "There are no results yet. Try again in a second."
        with feed.lock:
            keys = {text: values for values, text in feed.keys.items()}
        name = key if key in keys else next(iter(keys))
        self.bursts_sent += 1
        self.send(demo.late_rows(self.newest_time(), keys[name], self.bursts_sent))
        return demo.burst_text(name)

    def describe(self, feed: Feed, results: pa.Schema) -> None:
        """Tell a feed the columns of the results, and the names of the windows."""
        windows = self.query._declared.windows  # noqa: SLF001 — as in time_of
        single = len(windows) == 1
        zooms = [repr(window) if single and name == window.kind else name for name, window in windows.items()]
        feed.describe(layout_of_query(self.query, results), zooms)

    @abstractmethod
    def newest_time(self) -> int:
        """Return about the time of the newest row, in microseconds."""

    @abstractmethod
    def send(self, rows: pa.Table) -> None:
        """Add rows to the stream."""


def query_of(text: str, schema: pa.Schema) -> Query:
    """Parse a query over rows of a schema. Raise SqlError or ValueError if it cannot run.

    >>> query_of("SELECT max(x) AS peak FROM rows [RANGE 5 SLIDE 5 ON t]", pa.schema({"t": pa.int64(), "x": pa.int64()}))
    Query(time="t", windows=time(5, slide=5), aggregates={"peak": max("x")})
    """
    query = sql(text)
    if isinstance(query, NestedQuery):
        raise ValueError(
            "The page follows one SELECT with windows over the rows. Use the query box for several SELECTs."
        )
    if hasattr(query, "_declared"):
        return query
    return sql(text, only_time(ArrowTable().time_columns(schema.empty_table())))


def run_over_recent(text: str, rows: pa.Table) -> tuple[pa.Table, Query | None]:
    """Return the results of a text over rows, and the query of its windows; None if a SELECT is around them.

    Raise ValueError or TypeError if the text cannot run, or names files: the page shows the rows of its stream alone.
    """
    query = sql(text)
    if not isinstance(query, NestedQuery):
        single = query_of(text, rows.schema)
        return single.run(rows), single
    for named in query.inputs:
        if named.is_path:
            raise ValueError(f"FROM names the file {named.name!r}, but the page has the rows of its stream alone.")
    return query.run({named.name: rows for named in query.inputs}), query.outermost


def time_of(query: Query) -> str | None:
    """Return the time column."""
    return query._declared.time  # noqa: SLF001 — the page shows queries, and queries have no public members


def layout_of_query(query: Query, results: pa.Schema) -> Layout:
    """Return the layout of the results of a query. Raise ValueError if the page cannot draw them."""
    return layout_of(results, [str(name) for name in query._declared.by], time_of(query))  # noqa: SLF001 — as above


# -- files -------------------------------------------------------------------------------------------------------------

ARROW = (".arrow", ".feather", ".ipc")
ENDINGS = (*READERS, *ARROW)


def read_file(path: Path) -> pa.Table:
    """Return the rows of a file. Raise ValueError or OSError if it cannot be read."""
    if ending_of(path) not in ARROW:
        return read_files(str(path).replace("[", "[[]"))
    with pa.memory_map(str(path)) as file:
        try:
            return pa.ipc.open_file(file).read_all()
        except pa.ArrowInvalid:  # a stream has no footer
            file.seek(0)
            return pa.ipc.open_stream(file).read_all()


def fitting_rows(rows: pa.Table, schema: pa.Schema) -> tuple[pa.Table, str]:
    """Return the rows that fit a schema, in its types, and why others do not.

    Raise KeyError if a column is missing.

    >>> found, reason = fitting_rows(pa.table({"x": [1.0, 2.5, 3.0]}), pa.schema({"x": pa.int64()}))
    >>> found["x"].to_pylist(), "truncated" in reason
    ([1, 3], True)
    """
    try:
        return rows.select(schema.names).cast(schema), ""
    except pa.ArrowInvalid as error:
        if len(rows) == 1:
            return schema.empty_table(), str(error)
    half = len(rows) // 2
    (first, reason), (second, other) = (fitting_rows(part, schema) for part in (rows.slice(0, half), rows.slice(half)))
    return pa.concat_tables([first, second]), reason or other


@dataclass
class Folder:
    """A folder whose new files are read once each, or a single file."""

    path: Path
    read: set[Path] = field(default_factory=set)
    sizes: dict[Path, int] = field(default_factory=dict)
    """The size of each new file when it was seen last: a file that still grows is not read yet."""

    def files(self) -> list[Path]:
        """Return all files with rows, oldest first. Raise FileNotFoundError if the path does not exist."""
        if self.path.is_file():
            return [self.path]
        if not self.path.is_dir():
            raise FileNotFoundError(f"{self.path} does not exist.")
        visible = (path for path in self.path.iterdir() if not path.name.startswith((".", "_")))
        files = [path for path in visible if ending_of(path) in ENDINGS]
        return sorted(files, key=lambda path: (path.stat().st_mtime_ns, path.name))

    def schema(self) -> pa.Schema:
        """Return the schema of the oldest file. Raise FileNotFoundError if there is none yet."""
        files = self.files()
        if not files:
            problem = f"{self.path} has no file that ends in {', '.join(ENDINGS)}."
            raise FileNotFoundError(f"{problem} The first one tells the columns: add it.")
        return read_file(files[0]).schema

    def poll(self) -> Iterator[tuple[Path, pa.Table | Exception]]:
        """Yield the rows of each new file that no longer grows, or the error that reading it raised."""
        for path in self.files():
            if path in self.read:
                continue
            try:
                size, before = path.stat().st_size, self.sizes.get(path)
                self.sizes[path] = size
                if size == before:
                    self.read.add(path)
                    yield path, read_file(path)
            except (OSError, ValueError, pa.ArrowException) as error:
                yield path, error
