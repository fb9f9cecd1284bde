"""`sash run` on Spark: files, a table of the session, or a growing folder."""

from __future__ import annotations

import logging
import re
import signal
import sys
import threading
import time as clock
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

import sash
from sash.backends.sql_engines import SparkEngine
from sash.cli.display import print_rows
from sash.cli.inputs import HEAD, STDIN, find_files, format_of, named_format, sniff
from sash.cli.local_run import RunOptions
from sash.cli.outputs import WRITERS, check_not_input, check_output, output_format, write_results
from sash.cli.terminal import say
from sash.cli.text_query import LastSelect, TextQuery, input_of, paths_of, query_of_argument, read_lateness

READERS: dict[str, dict[str, Any]] = {
    "csv": {"format": "csv", "header": True, "inferSchema": True},
    "tsv": {"format": "csv", "header": True, "inferSchema": True, "sep": "\t"},
    "json": {"format": "json", "multiLine": True},
    "ndjson": {"format": "json"},
    "parquet": {"format": "parquet"},
}
"""Spark's formats and their options."""
SINKS: dict[str, dict[str, Any]] = {
    "csv": {"format": "csv", "header": True},
    "ndjson": {"format": "json"},
    "json": {"format": "json"},
    "parquet": {"format": "parquet"},
}
REMOTE = re.compile(r"^\w{2,}:/")
"""A path on another file system, which only Spark can look at."""
POLL = 0.5
"""Seconds between two looks at a stream, so that Ctrl-C is noticed."""


def run_spark(options: RunOptions, master: str | None) -> None:
    """Run a query on Spark, over files or over a table of its session."""
    query = query_of_argument(options.text, options.time)
    if options.lateness is not None:
        raise ValueError("--lateness is for streams. Add --stream, or leave it out: a batch query reads all rows.")
    target = options.target
    to_folder = target is not None and is_folder(target)
    if to_folder:
        file_format: str | None = named_format(options.output_format or "parquet")
        check_folder(str(target), str(file_format))
    else:
        file_format = output_format(target, options.output_format)
        check_output(target)
    check_not_input(target, [options.source, options.at, *query.paths])
    inputs = _spark_inputs(query, options)
    session = start(master)
    frames = {name: session.read.load(path, **reading) for name, (path, reading) in inputs.items()}
    results = SparkRun(query, session, frames).results()
    if to_folder:
        results.write.save(target, mode="error", **SINKS[str(file_format)])
    elif file_format is None:
        first = results.limit(options.rows + 1).toArrow()
        print_rows(first.slice(0, options.rows), len(first), complete=False)
    else:
        write_results(results.toArrow(), target, file_format, options.rows)


def run_stream(
    options: RunOptions, master: str | None, checkpoint: str | None, forget: str | None = None, *, once: bool
) -> None:
    """Run a query over the files of a growing folder."""
    query = query_of_argument(options.text, options.time)
    if options.lateness is None:
        problem = "A stream needs --lateness: how much older than the newest row a row may be"
        raise ValueError(f"{problem}, such as --lateness 5m.")
    lateness = read_lateness(options.lateness)
    target = options.target
    if target is not None and checkpoint is None:
        problem = "A stream that writes files needs --checkpoint: it stores there which files it has read"
        raise ValueError(f"{problem}, and the open windows.")
    usual_format = "parquet" if target else None if sys.stdout.isatty() else "csv"
    file_format = named_format(options.output_format) if options.output_format else usual_format
    if target is not None and file_format not in SINKS:
        raise ValueError(f"A stream cannot write {file_format}. Use --output-format {', '.join(SINKS)}.")
    inputs = _spark_inputs(query, options)
    if not inputs:
        input_of(query, None)  # it raises the error that tells how to name an input
    session = start(master)
    from sash.spark.corrupt_rows import stream_of_files  # noqa: PLC0415 — PySpark takes a second to import

    streams = {}
    for name, (path, reading) in inputs.items():
        schema = session.read.load(path, **reading).schema
        streams[name] = stream_of_files(session, schema, path, reading)
    watermark = f"{lateness.amount // 1000} microseconds"
    given = {"on_bad_time": options.on_bad_time, **({} if forget is None else {"forget": forget})}
    results = SparkRun(query, session, streams, watermark).results(given)
    writer = results.writeStream.outputMode("append").queryName("sash")
    writer = writer.trigger(availableNow=True) if once else writer.trigger(processingTime="1 second")
    if checkpoint is not None:
        writer = writer.option("checkpointLocation", checkpoint)
    if target is not None:
        _await(writer.start(target, **SINKS[str(file_format)]), None)
        return
    printer = BatchPrinter(file_format, options.rows)
    _await(writer.foreachBatch(printer).start(), printer)


def start(master: str | None) -> Any:
    """Return a session whose times are in UTC, as those of the local engine."""
    conf: dict[str, Any] = {"spark.sql.session.timeZone": "UTC"} | ({"spark.master": master} if master else {})
    session = sash.spark.session("sash", **conf)
    if threading.current_thread() is threading.main_thread():
        # PySpark's handler of Ctrl-C calls Java while another call may be under way, and logs what comes of it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    logging.getLogger().addHandler(logging.NullHandler())  # py4j logs errors that are raised anyway
    return session


def is_folder(target: str) -> bool:
    """Return whether an output is a folder that Spark writes: it ends with / or lies on another file system.

    >>> is_folder("out/"), is_folder("s3a://bucket/out"), is_folder("out.parquet")
    (True, True, False)
    """
    return target.endswith("/") or bool(REMOTE.match(target))


def check_folder(target: str, file_format: str) -> None:
    """Raise ValueError if Spark cannot write this format, or if the folder exists."""
    if file_format not in SINKS:
        problem = f"Spark cannot write a folder of {file_format}."
        raise ValueError(f"{problem} Use --output-format {', '.join(SINKS)}, or name a file.")
    if not REMOTE.match(target) and Path(target).exists():
        raise ValueError(f"The output {target!r} exists. Name a new folder.")


class SparkRun:
    """A query over DataFrames: one, or those that a text with several SELECTs names. `watermark` is the delay of a stream."""

    def __init__(
        self, query: TextQuery | LastSelect, session: Any, frames: dict[str, Any], watermark: str | None = None
    ) -> None:
        self.query, self.session, self.frames, self.watermark = query, session, frames, watermark

    def results(self, options: dict[str, Any] | None = None) -> Any:
        """Return the results as a DataFrame."""
        if isinstance(self.query, TextQuery):
            rows = next(iter(self.frames.values()), self.session)
            return self.query.run(self._delayed(rows), **(options or {}))
        nested = self.query.nested
        if self.watermark is not None and len(nested.selects) > 1:
            raise ValueError("With --stream, one SELECT of the text has windows.")
        engine = SparkEngine(self.session, self.frames, {})
        text = nested.rows_of_last(engine)
        results = self.query.run(self._delayed(nested.by_engine(engine.rows, text)), **(options or {}))
        return self.query.finish_on(engine, results)

    def _delayed(self, rows: Any) -> Any:
        """Return rows with the watermark of a stream."""
        if self.watermark is None:
            return rows
        windows = self.query.over_windows(self.session.createDataFrame([], rows.schema))
        time = windows._declared.time  # noqa: SLF001 — a part of Query, which editors show apart
        if time is None:
            raise ValueError("A stream needs a time. Name it, as in [RANGE 1 HOUR ON ts], or with --time.")
        return rows.withWatermark(time, self.watermark)


def _spark_inputs(query: TextQuery | LastSelect, options: RunOptions) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the path of each input, and how Spark reads it; none for tables of the session."""
    if options.source is None and query.path is None:
        return {}
    if isinstance(query, TextQuery):
        return {"": _spark_input(input_of(query, options.source), options)}
    return {name: _spark_input(path, options) for name, path in paths_of(query.nested, options.source).items()}


def _spark_input(path: str, options: RunOptions) -> tuple[str, dict[str, Any]]:
    """Return the path of an input, and how Spark reads it."""
    if path == STDIN:
        raise ValueError("Spark cannot read standard input. Name a file or folder with -i.")
    named = named_format(options.input_format) if options.input_format else None
    is_remote = REMOTE.match(path) is not None
    first = path if is_remote else find_files(path, named)[0]
    file_format = named or format_of(first)
    if file_format == "json" and not is_remote:
        with Path(first).open("rb") as file:  # many files of this ending have an object per line
            file_format = "json" if sniff(file.read(HEAD)) == "json" else "ndjson"
    if file_format not in READERS:
        raise ValueError(f"Spark cannot read {file_format or repr(path)}. Use {', '.join(READERS)}, or --engine local.")
    return path, READERS[file_format]


class BatchPrinter:
    """Prints the results of each micro-batch: a table on a terminal, otherwise lines of the chosen format."""

    def __init__(self, file_format: str | None, most_rows: int) -> None:
        self.file_format, self.most_rows = "arrows" if file_format == "arrow" else file_format, most_rows
        self.writer: Any = None
        self.error: BaseException | None = None

    def __call__(self, frame: Any, _: int) -> None:
        """Print the results of a micro-batch."""
        try:
            table = frame.toArrow()
            if self.file_format is not None:
                self._write(table, self.file_format)
            elif len(table):
                print_rows(table.slice(0, self.most_rows), len(table))
        except BrokenPipeError as error:  # Spark would report it as its own error
            self.error = error

    def _write(self, table: pa.Table, file_format: str) -> None:
        self.writer = self.writer or WRITERS[file_format](sys.stdout.buffer, table.schema)
        for batch in table.to_batches():
            self.writer.write(batch)
        sys.stdout.buffer.flush()

    def close(self) -> None:
        """End the output."""
        if self.writer is not None:
            self.writer.close()


class BatchReport:
    """Tells the terminal of the micro-batches of a stream: of rows that are left out, and on a terminal of all."""

    def __init__(self) -> None:
        self.seen, self.late, self.unfit = -1, 0, 0

    def read(self, recent: list[Any]) -> None:
        """Count the rows of new micro-batches."""
        from sash.spark.corrupt_rows import count_corrupt  # noqa: PLC0415 — PySpark takes a second to import

        for progress in recent:
            if progress["batchId"] <= self.seen:
                continue
            self.seen = progress["batchId"]
            counts = sash.spark.counts(progress)
            self.late += counts["late"]
            if unfit := count_corrupt(progress):
                self.unfit += unfit
                say(
                    f"warning: batch {self.seen}: {unfit:,} rows do not fit the types of the first files, and were left out"
                )
            if sys.stderr.isatty():
                say(f"batch {self.seen}: {counts['rows']:,} rows, {counts['late']:,} late")

    def end(self) -> None:
        """Tell how many rows were left out in all."""
        if self.unfit:
            say(f"warning: {self.unfit:,} rows did not fit the types of the first files, and were left out")
        if self.late:
            say(f"warning: {self.late:,} rows came later than --lateness, and were dropped")


def _await(running: Any, printer: BatchPrinter | None) -> None:
    """Wait until a stream ends or is interrupted, and report rows that are left out."""
    report, active = BatchReport(), True
    try:
        while active:
            clock.sleep(POLL)  # not in a call of Java, which Ctrl-C would break
            active = running.isActive
            report.read(running.recentProgress)
            if printer is not None and printer.error is not None:
                raise printer.error  # noqa: TRY301 — the stream is stopped below
        running.awaitTermination()  # raises the error of the stream, if there was one
    except BaseException:
        with suppress(Exception):
            sash.spark.session().sparkContext.setLogLevel("OFF")  # Spark logs what it interrupts
        with suppress(Exception):
            running.stop()
        raise
    if printer is not None:
        printer.close()
    report.end()
