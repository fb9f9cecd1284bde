"""LocalSource: a query over a stream in this process. For small set-ups, and where there is no Spark.

readings, or files ──► batches ──► RecordBatchReader ──► Query.run(reader) ──► feed
burst ─────────────────┘
"""

from __future__ import annotations

import contextlib
import queue
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.durations import TimeUnit
from sash.engine.prepare import prepare
from sash.engine.stream_plan import stream_plan
from sash.live import demo
from sash.live.feed import Feed
from sash.live.source import Folder, QuerySource, Status, fitting_rows, layout_of_query, query_of, time_of
from sash.query import Query
from sash.spark.generated_readings import FIRST, Readings
from sash.spark.generated_readings import SCHEMA as READINGS

POLL_SECONDS = 0.25
HISTORY_SECONDS = 24
"""The demo begins with two hours of readings: a page that starts empty shows nothing."""


class StreamStopped(Exception):  # noqa: N818 — no error
    """Ends a stream in the middle: at an orderly end it would emit its open windows, as if they were complete."""


class ReadingRows:
    """Generated readings, as many as have arrived by the clock."""

    schema = READINGS

    def __init__(self) -> None:
        self.status = Status()
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

    def __init__(self, folder: Folder, time: str | None) -> None:
        self.folder = folder
        self.schema = folder.schema()
        self.time = time
        self.status = Status()
        self.newest: Any = None

    def poll(self) -> pa.Table:
        """Return the rows of new files."""
        tables = []
        for path, rows in self.folder.poll():
            try:
                if isinstance(rows, Exception):
                    raise rows
                fitting, reason = fitting_rows(rows, self.schema)
                tables.append(fitting)
                if reason:
                    few = f"{len(rows) - len(fitting):,} of {len(rows):,} rows were left out"
                    advice = "The first file tells the types: make it one with the widest."
                    self.status.leave_out(len(rows) - len(fitting), f"{path.name}: {few}: {reason}. {advice}")
            except (OSError, ValueError, KeyError, pa.ArrowException) as error:
                self.status.leave_out(
                    0 if isinstance(rows, Exception) else len(rows), f"{path.name} was left out: {error}"
                )
        rows = pa.concat_tables([self.schema.empty_table(), *tables])
        if self.time is None or not tables:
            return rows
        known = rows.filter(pc.is_valid(rows[self.time])).sort_by(self.time)
        if without := len(rows) - len(known):
            self.status.leave_out(without, f"{without:,} rows have no {self.time}, and were left out.")
        kept = known if self.newest is None else known.filter(pc.greater_equal(known[self.time], self.newest))
        self.status.late += len(known) - len(kept)
        if len(kept):
            self.newest = kept[self.time][-1]
        return kept


class LocalSource(QuerySource):
    """A query over rows in this process."""

    engine = "this process"

    def __init__(self, title: str, query: Query, query_text: str, example: str, rows: ReadingRows | FolderRows) -> None:
        super().__init__(title, query, query_text, example)
        self.rows, self.status = rows, rows.status
        self.bursts: queue.SimpleQueue[pa.Table] = queue.SimpleQueue()
        self.newest = FIRST
        try:  # updates, unless rows end the windows
            self.mode, results = "update", self._schema("update")
        except ValueError:
            self.mode, results = "append", self._schema("append")
        declared = query._declared  # noqa: SLF001 — as in time_of
        self.prepared = prepare(declared, rows.schema, compiled=False)
        self.lateness = 0 if declared.lateness is None else declared.lateness.in_ticks(TimeUnit("ts", 1_000))
        layout_of_query(query, results)  # a query that the page cannot draw fails before it runs

    @classmethod
    def of_demo(cls) -> LocalSource:
        """Return the demo, without Spark."""
        return cls("Smart plugs", demo.QUERY, demo.TEXT, demo.EXAMPLE, ReadingRows())

    @classmethod
    def of_folder(cls, text: str, path: str) -> LocalSource:
        """Return a query over the files of a folder that grows."""
        folder = Folder(Path(path))
        query = query_of(text, folder.schema())
        return cls(str(path), query, text, text, FolderRows(folder, time_of(query)))

    def run(self, feed: Feed) -> None:
        """Add results to the feed until `stop` is called."""
        self.feed = feed
        batches = pa.RecordBatchReader.from_batches(self.rows.schema, self._batches())
        with contextlib.suppress(StreamStopped):
            self.status.message = "The query is being compiled. That takes some seconds, once."
            results = self.query.run(batches, mode=self.mode, compiled=True)  # type: ignore[call-overload]  # the mode is a str
            self.describe(feed, results.schema)
            if not self.status.left_out:
                self.status.message = ""
            for batch in results:
                feed.add(pa.Table.from_batches([batch]))
                self.status.delay = time.monotonic() - self.began

    def newest_time(self) -> int:
        """Return the time of the newest row."""
        return self.newest

    def send(self, rows: pa.Table) -> None:
        """Add rows to the stream."""
        self.bursts.put(rows)

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
        """Count the rows, and those whose windows were all closed, as the watermark of the stream does."""
        self.recent.add(rows)
        self.status.rows += len(rows)
        self.status.batches += 1
        if not self.can_burst:  # a folder counts late rows itself
            return
        times = np.asarray(rows["ts"].cast(pa.int64()).to_numpy())
        seen = np.maximum.accumulate(np.concatenate([[self.newest], times]))
        self.newest = int(seen[-1])
        late = stream_plan(self.prepared).late_from(times) <= seen[:-1] - self.lateness
        self.status.late += int(np.count_nonzero(late))
