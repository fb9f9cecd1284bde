"""The queries of Nexmark that have windows, and the job of a worker: one of them on some events."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.engines.nexmark.events import AuctionEvents


@dataclass(frozen=True)
class SiteQuery:
    """A query, the tables that it reads, and the columns of its answers in the order of the CSV: the end of the window comes first."""

    number: int
    title: str
    range: str
    aggregate: str
    tables: tuple[str, ...]
    columns: tuple[str, ...]
    reads: tuple[str, ...]
    """The columns of the tables that it reads, beside the time."""

    @property
    def name(self) -> str:
        """The name of the case."""
        return f"Nexmark query {self.number}: {self.title}, {self.range}"


QUERIES = {
    one.number: one
    for one in (
        SiteQuery(5, "hot items", "10s every 2s", "count, then max", ("bid",), ("window_end", "auction", "num"), ("auction",)),
        SiteQuery(7, "highest bid", "tumbling 10s", "max", ("bid",), ("window_end", "auction", "bidder", "price"), ("auction", "bidder", "price")),
        SiteQuery(8, "new people who sell", "tumbling 10s", "count", ("person", "auction"), ("window_end", "person", "name"), ("id", "name", "seller")),
        SiteQuery(11, "bids of a session", "session 10s", "count", ("bid",), ("window_end", "window_start", "bidder", "num"), ("bidder",)),
        SiteQuery(12, "bids of a period", "tumbling 10s", "count", ("bid",), ("window_end", "bidder", "num"), ("bidder",)),
    )
}  # fmt: skip
TIMES = ("window_end", "window_start")
"""Of the columns, those that are times: milliseconds in the CSV."""


@dataclass(frozen=True)
class SiteJob:
    """A query on some events. With a path, the answers are written there as CSV; else they go nowhere."""

    query: SiteQuery
    events: AuctionEvents
    results: str = ""

    def to_json(self) -> str:
        """Return the job as a line."""
        return json.dumps({"nexmark": self.query.number, "events": asdict(self.events), "results": self.results})


def site_job_of(told: dict[str, Any]) -> SiteJob:
    """Return the job of a line.

    >>> job = SiteJob(QUERIES[5], AuctionEvents(10))
    >>> site_job_of(json.loads(job.to_json())) == job
    True
    """
    return SiteJob(QUERIES[told["nexmark"]], AuctionEvents(**told["events"]), told["results"])
