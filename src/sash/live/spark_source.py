"""SparkSource: a query over a Spark stream. Results arrive in this process through foreachBatch.

    readings ─┬─► withWatermark ──► Query.run(mode="update") ──► foreachBatch ──► feed
    bursts ───┘                                                  a second stream collects recent rows for the query box

Only `sash.spark` imports PySpark: this module calls it and the methods of its DataFrames.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from sash import spark as on_spark
from sash.engine.select_sql import ending_of
from sash.live import demo
from sash.live.feed import Feed
from sash.live.source import Folder, QuerySource, query_of, time_of
from sash.query import Query
from sash.spark.generated_readings import FIRST

WATERMARK = "2 hours"
"""The maximum delay of a row, for the demo as for files."""
TRIGGER = "500 milliseconds"
BUCKETS = 4
"""A page shows few keys: more buckets only cost calls of Python."""
LONGEST_BATCH = 15.0
"""Seconds to wait for a micro-batch at the end."""
RECENT_PER_BATCH = 50_000
SETTINGS: dict[str, Any] = {"spark.sql.shuffle.partitions": 2, "spark.sql.session.timeZone": "UTC"}
POLL_SECONDS = 0.25
READ_OPTIONS = {"parquet": {}, "csv": {"header": "true", "timeZone": "UTC"}, "json": {"timeZone": "UTC"}}
"""Times in texts without a zone are in UTC, as the page shows them, whatever the zone of the session."""
FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}


class SparkSource(QuerySource):
    """A query over a streaming DataFrame."""

    engine = "Spark"

    def __init__(
        self, title: str, query: Query, query_text: str, example: str, rows: Callable[[Any, Path], Any]
    ) -> None:
        super().__init__(title, query, query_text, example)
        self.rows = rows
        self.status.message = "Spark is starting."
        self.taking: dict[str, threading.Lock] = {}
        """By stream: held while foreachBatch runs."""
        self.folder = Path(tempfile.mkdtemp(prefix="sash-live-"))
        (self.folder / "bursts").mkdir()

    @classmethod
    def of_demo(cls) -> SparkSource:
        """Return the demo: readings with late rows, and bursts of more."""
        on_spark.require_pyspark()

        def rows(session: Any, folder: Path) -> Any:
            readings = on_spark.readings(session, **demo.READINGS)
            bursts = session.readStream.schema(readings.schema).parquet(str(folder / "bursts"))
            return readings.unionByName(bursts)

        return cls("Smart plugs", demo.QUERY, demo.TEXT, demo.EXAMPLE, rows)

    @classmethod
    def of_folder(cls, text: str, path: str) -> SparkSource:
        """Return a query over the files of a folder that grows. Raise ValueError if Spark cannot read them as a stream."""
        on_spark.require_pyspark()
        folder = Folder(Path(path))
        if folder.path.is_file():
            problem = f"{path} is a file, but Spark reads a folder as a stream."
            raise ValueError(f"{problem} Name its folder, or use engine='local'.")
        schema = folder.schema()
        query = query_of(text, schema)
        if time_of(query) is None:
            raise ValueError("A Spark stream needs a time column. Name it in the query, or use engine='local'.")
        endings = {ending_of(file) for file in folder.files()}
        if len(endings) > 1 or not endings <= FORMATS.keys():
            problem = f"{path} has files that end in {', '.join(sorted(endings))}"
            known = f"Spark reads a folder of one of {', '.join(FORMATS)}"
            raise ValueError(f"{problem}, but {known}. Use engine='local'.")
        file_format = FORMATS[endings.pop()]

        def rows(session: Any, _: Path) -> Any:
            spark_schema = session.createDataFrame(schema.empty_table()).schema
            options = {"format": file_format, **READ_OPTIONS[file_format]}
            from sash.spark.corrupt_rows import stream_of_files  # noqa: PLC0415 — PySpark takes a second to import

            return stream_of_files(session, spark_schema, str(folder.path.resolve()), options)

        return cls(str(path), query, text, text, rows)

    def run(self, feed: Feed) -> None:
        """Start the streams, and follow them until `stop` is called."""
        self.feed = feed
        session = on_spark.session("sash live", **SETTINGS)
        if "connect" in type(session).__module__:
            problem = "The live page needs a classic Spark session: with Spark Connect"
            raise RuntimeError(f"{problem}, results do not arrive in this process.")
        rows = self.rows(session, self.folder)
        marked = rows.withWatermark(time_of(self.query), WATERMARK)
        self.status.message = "Spark runs the first micro-batch."
        results = self._start(self._results(marked), "results", self._take)
        recent = self._start(
            rows.writeStream, "recent", lambda batch: self.recent.add(batch.limit(RECENT_PER_BATCH).toArrow())
        )
        try:
            self._follow(results, recent)
        finally:
            # Spark prints a long error if it is interrupted inside foreachBatch: the micro-batches that run now end first, and
            # later ones do nothing
            self.stopped.set()
            for lock in self.taking.values():
                if lock.acquire(timeout=LONGEST_BATCH):
                    lock.release()
            for running in (results, recent):
                with contextlib.suppress(Exception):  # a signal may have ended Spark before
                    running.stop()
            shutil.rmtree(self.folder, ignore_errors=True)

    def newest_time(self) -> int:
        """Return the newest start of a window."""
        return FIRST if self.feed is None or self.feed.newest is None else self.feed.newest

    def send(self, rows: pa.Table) -> None:
        """Add rows to the stream: as a file, for the stream of bursts."""
        hidden = self.folder / f"{uuid.uuid4()}.parquet"
        pa.parquet.write_table(rows, hidden)
        hidden.rename(self.folder / "bursts" / hidden.name)  # at once: Spark must not see half a file

    def _results(self, marked: Any) -> Any:
        """Return the writer of results: updates, unless rows end the windows. Raise ValueError for a wrong query."""
        query: Any = self.query
        try:
            return query.run(marked, mode="update", buckets=BUCKETS).writeStream.outputMode("update")
        except ValueError:
            return query.run(marked, buckets=BUCKETS).writeStream

    def _start(self, writer: Any, name: str, take: Callable[[Any], None]) -> Any:
        lock = self.taking[name] = threading.Lock()

        def take_unless_stopped(batch: Any, _: int) -> None:
            with lock:
                if not self.stopped.is_set():
                    take(batch)

        to_here = writer.foreachBatch(take_unless_stopped).option("checkpointLocation", str(self.folder / name))
        return to_here.trigger(processingTime=TRIGGER).start()

    def _take(self, batch: Any) -> None:
        results = batch.toArrow()
        assert self.feed is not None
        if self.feed.layout is None:
            self.describe(self.feed, results.schema)
        self.feed.add(results)

    def _follow(self, *streams: Any) -> None:
        """Copy the progress of the first stream into the status. Raise RuntimeError if a stream has failed."""
        seen = -1
        while not self.stopped.wait(POLL_SECONDS):
            for running in streams:
                if (error := running.exception()) is not None:
                    raise RuntimeError(f"The Spark stream has failed: {str(error).strip().splitlines()[0]}")
            for progress in streams[0].recentProgress:
                if progress["batchId"] > seen:
                    seen = progress["batchId"]
                    self._note(progress)

    def _note(self, progress: Any) -> None:
        counted = on_spark.counts(progress)
        status, states = self.status, progress["stateOperators"]
        status.state = "running"
        if not status.left_out:
            status.message = ""
        status.rows += counted["rows"]
        status.late += counted["late"]
        from sash.spark.corrupt_rows import count_corrupt  # noqa: PLC0415 — as above

        if unfit := count_corrupt(progress):
            status.leave_out(unfit, f"{unfit:,} rows were left out: they do not fit the types of the first file.")
        status.batches += 1
        status.state_bytes = sum(int(state["memoryUsedBytes"]) for state in states)
        status.state_rows = sum(int(state["numRowsTotal"]) for state in states)
        status.delay = int(progress["durationMs"].get("triggerExecution", 0)) / 1000
