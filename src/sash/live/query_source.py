"""QuerySource: what the sources of Spark and of this process share. A query runs over the demo's readings, or over files."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod

import pyarrow as pa

from sash.live import demo
from sash.live.feed import Feed
from sash.live.source import RecentRows, Status
from sash.plan.explanation import Explanation
from sash.query import Query


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
        keys = {} if self.feed is None else self.feed.key_values()
        if not keys:
            return "There are no results yet. Try again in a second."
        name = key if key in keys else next(iter(keys))
        self.bursts_sent += 1
        self.send(demo.late_rows(self.newest_time(), keys[name], self.bursts_sent))
        return demo.burst_text(name)

    @abstractmethod
    def newest_time(self) -> int:
        """Return about the time of the newest row, in microseconds."""

    @abstractmethod
    def send(self, rows: pa.Table) -> None:
        """Add rows to the stream."""
