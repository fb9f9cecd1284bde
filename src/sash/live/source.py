"""Source: where the results of the page come from. It runs in its own thread and adds results to the feed."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from sash.live.feed import Feed
from sash.plan.explanation import Explanation

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
    state_bytes: int | None = None
    state_rows: int | None = None
    delay: float | None = None
    """Seconds from the arrival of rows to their results."""
    batches: int = 0


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
