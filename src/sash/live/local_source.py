"""LocalSource: a query over a stream in this process. For small set-ups, and where there is no Spark.

readings, or files ──► batches ──► RecordBatchReader ──► Query.run(reader) ──► feed
burst ─────────────────┘
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.durations import TimeUnit
from sash.engine.prepare import prepare
from sash.live import demo
from sash.live.feed import Feed
from sash.live.folder import Folder
from sash.live.result_layout import layout_of
from sash.live.source import RecentRows, Status
from sash.live.texts import by_of, query_of, time_of, zooms_of
from sash.plan.explanation import Explanation
from sash.query import Query
from sash.spark.generated_readings import FIRST, Readings
from sash.spark.generated_readings import SCHEMA as READINGS

POLL_SECONDS = 0.25
HISTORY_SECONDS = 24
"""The demo begins with two hours of readings: a page that starts empty shows nothing."""


class StreamStopped(Exception):  # noqa: N818 — no error
    """Ends a stream in the middle: at an orderly end it would emit its open windows, as if they were complete."""


class Rows(Protocol):
    """Where rows come from."""

    schema: pa.Schema

    def poll(self) -> pa.Table:
        """Return the rows that are new."""


class ReadingRows:
    """Generated readings, as many as have arrived by the clock."""

    schema = READINGS

    def __init__(self) -> None:
        self.readings = Readings(**demo.READINGS)
        self.began = time.monotonic() - HISTORY_SECONDS
        self.row = 0

    def poll(self) -> pa.Table:
        """Return the readings since the last call."""
        row = int((time.monotonic() - self.began) * self.readings.rows_per_second)
        begin, self.row = self.row, row
        return pa.Table.from_batches([self.readings.batch(begin, row)], self.schema)


class FolderRows:
    """The rows of new files, in order of time. Rows that are older than rows of earlier files are late."""

    def __init__(self, folder: Folder, time: str | None, status: Status) -> None:
        self.folder = folder
        self.schema = folder.schema()
        self.time = time
        self.status = status
        self.newest: Any = None

    def poll(self) -> pa.Table:
        """Return the rows of new files."""
        tables = []
        for path, rows in self.folder.poll():
            try:
                if isinstance(rows, Exception):
                    raise rows
                tables.append(rows.select(self.schema.names).cast(self.schema))
            except (OSError, ValueError, KeyError, pa.ArrowException) as error:
                self.status.message = f"{path.name} was left out: {error}"
        if not tables:
            return self.schema.empty_table()
        return self._in_order(pa.concat_tables(tables))

    def _in_order(self, rows: pa.Table) -> pa.Table:
        if self.time is None:
            return rows
        known = rows.filter(pc.is_valid(rows[self.time])).sort_by(self.time)
        kept = known if self.newest is None else known.filter(pc.greater_equal(known[self.time], self.newest))
        self.status.late += len(rows) - len(kept)
        if len(kept):
            self.newest = kept[self.time][-1]
        return kept


class LocalSource:
    """A query over rows in this process."""

    engine = "this process"

    def __init__(
        self, title: str, query: Query, text: str, example: str, rows: Rows, status: Status, *, can_burst: bool
    ) -> None:
        self.title, self.query, self.query_text, self.example, self.rows = title, query, text, example, rows
        self.can_burst = can_burst
        self.status = status
        self.recent = RecentRows()
        self.stopped = threading.Event()
        self.bursts: queue.SimpleQueue[pa.Table] = queue.SimpleQueue()
        self.bursts_sent = 0
        self.newest = FIRST
        self.feed: Feed | None = None
        self.mode, schema = self._mode()
        lateness = query._declared.lateness  # noqa: SLF001 — as in texts.py
        self.prepared = prepare(query._declared, rows.schema, compiled=False)  # noqa: SLF001
        self.lateness = 0 if lateness is None else lateness.in_ticks(TimeUnit("ts", 1_000))
        layout_of(schema, by_of(query), time_of(query))  # a query that the page cannot draw fails before it runs

    @classmethod
    def of_demo(cls) -> LocalSource:
        """Return the demo, without Spark."""
        return cls("Smart plugs", demo.QUERY, demo.TEXT, demo.EXAMPLE, ReadingRows(), Status(), can_burst=True)

    @classmethod
    def of_folder(cls, text: str, source: str) -> LocalSource:
        """Return a query over the files of a folder that grows."""
        folder, status = Folder(Path(source)), Status()
        query = query_of(text, folder.schema())
        return cls(str(source), query, text, text, FolderRows(folder, time_of(query), status), status, can_burst=False)

    def explain(self) -> Explanation:
        """Return the plan of the query."""
        return self.query.explain()

    def run(self, feed: Feed) -> None:
        """Add results to the feed until `stop` is called."""
        self.feed = feed
        batches = pa.RecordBatchReader.from_batches(self.rows.schema, self._batches())
        with contextlib.suppress(StreamStopped):
            self.status.message = "The query is being compiled. That takes some seconds, once."
            results = self.query.run(batches, mode=self.mode, compiled=True)  # type: ignore[call-overload]  # the mode is a str
            feed.describe(layout_of(results.schema, by_of(self.query), time_of(self.query)), zooms_of(self.query))
            self.status.message = ""
            for batch in results:
                feed.add(pa.Table.from_batches([batch]))
                self.status.delay = time.monotonic() - self.began

    def stop(self) -> None:
        """Make `run` return soon."""
        self.stopped.set()

    def burst(self, key: str | None) -> str:
        """Send late readings of a household, of the first one if `key` is unknown."""
        keys: dict[str, Any] = {} if self.feed is None else self.feed.key_values()
        if not keys:
            return "There are no results yet. Try again in a second."
        text = key if key in keys else next(iter(keys))
        self.bursts_sent += 1
        self.bursts.put(demo.late_rows(self.newest, keys[text], self.bursts_sent))
        return demo.burst_text(text)

    def _mode(self) -> tuple[str, pa.Schema]:
        """Return the mode and the schema of results: updates, unless rows end the windows. Raise ValueError for a wrong query."""
        try:
            return "update", self._schema("update")
        except ValueError:
            return "append", self._schema("append")

    def _schema(self, mode: str) -> pa.Schema:
        return self.query.run(pa.RecordBatchReader.from_batches(self.rows.schema, []), mode=mode).schema  # type: ignore[call-overload]

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """Yield rows as they arrive."""
        self.status.state = "running"
        while not self.stopped.is_set():
            rows = self.rows.poll()
            while not self.bursts.empty():
                rows = pa.concat_tables([rows, self.bursts.get()])
            self.began = time.monotonic()
            if len(rows):
                self._count(rows)
                yield from rows.combine_chunks().to_batches()
            self.stopped.wait(POLL_SECONDS)
        raise StreamStopped

    def _count(self, rows: pa.Table) -> None:
        self.recent.add(rows)
        self.status.rows += len(rows)
        self.status.batches += 1
        if self.can_burst:  # a folder counts late rows itself
            self._count_late(rows)

    def _count_late(self, rows: pa.Table) -> None:
        """Count the rows whose windows were all closed, as the watermark of the stream does."""
        times = np.asarray(rows["ts"].cast(pa.int64()).to_numpy())
        seen = np.maximum.accumulate(np.concatenate([[self.newest], times]))
        self.newest = int(seen[-1])
        self.status.late += int(np.count_nonzero(self.prepared.late_from(times) <= seen[:-1] - self.lateness))
