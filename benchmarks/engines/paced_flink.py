"""The worker of Flink for latency: events arrive on a socket, block by block, and each result has the time at which it was emitted.

`datagen` would send the events of a whole second at its beginning, so it cannot stand for events that arrive one after the other. A line of the
socket is the number of a block of events; Flink makes the events of the block, in two tasks, as `datagen` does.
"""

from __future__ import annotations

import csv
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from pyflink.common import Configuration
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.table import Schema, StreamTableEnvironment

from benchmarks.engines import in_flink
from benchmarks.engines.events import Events
from benchmarks.engines.flink_sql import (
    BLOCK_OF_EVENTS,
    columns,
    interval,
    milliseconds,
    numbers_of_blocks,
    results_with_times,
    sink_of_times,
)
from benchmarks.engines.job import Job, work
from benchmarks.engines.pace import PacedJob, paced_job_of, summary
from benchmarks.engines.questions import SECOND, StreamQuestion

WARM = 400_000
"""Events that start Flink and compile."""
PAUSE = 0.002
"""Seconds, if no block is complete."""
SEND_BUFFER = 4_096
"""Bytes: a sender that is behind should wait, not fill buffers."""
BEFORE = 1.0
"""Seconds from the start of the source to the first event, in which the other tasks start."""
OVERTIME = 3.0
"""Seconds after the last event in which an engine that sustains the rate has read all."""


@cache
def warm(question: StreamQuestion) -> None:
    """Answer many events at once."""
    in_flink.run(Job(question, Events(WARM)))


class Blocks:
    """Sends the numbers of blocks as their events arrive."""

    def __init__(self, job: PacedJob) -> None:
        self.job = job
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.start = 0.0
        self.read = 0
        self.thread = threading.Thread(target=self.send_all, daemon=True)

    def send_all(self) -> None:
        """Send all blocks to the first who connects, and close."""
        with self.server, self.server.accept()[0] as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
            time.sleep(BEFORE)
            self.start = time.time()
            deadline = self.start + self.job.seconds + OVERTIME
            sent = 0
            while (elapsed := time.time() - self.start) < self.job.seconds:
                complete = self.job.arrived(elapsed) // BLOCK_OF_EVENTS
                if complete == sent:
                    time.sleep(PAUSE)
                    continue
                lines = "".join(f"{number}\n" for number in range(sent, complete)).encode()
                connection.settimeout(max(PAUSE, deadline - time.time()))
                try:
                    connection.sendall(lines)
                except TimeoutError:
                    break  # it does not sustain the rate
                sent = complete
                self.read = sent * BLOCK_OF_EVENTS


def environment() -> tuple[StreamExecutionEnvironment, StreamTableEnvironment]:
    """Return an environment whose sources may be streams."""
    configuration = Configuration()
    for name, value in in_flink.OPTIONS.items():
        configuration.set_string(name, value)
    streams = StreamExecutionEnvironment.get_execution_environment(configuration)
    return streams, StreamTableEnvironment.create(streams)


def run(job: PacedJob) -> dict[str, Any]:
    """Return the latencies of a job."""
    warm(job.question)
    blocks = Blocks(job)
    blocks.thread.start()
    streams, tables = environment()
    lines = streams._j_stream_execution_environment.socketTextStream("127.0.0.1", blocks.port)  # noqa: SLF001 — PyFlink has no sockets
    tables.create_temporary_view("blocks", tables.from_data_stream(DataStream(lines)))
    numbers = tables.to_data_stream(tables.sql_query(numbers_of_blocks()))
    schema = Schema.new_builder().column("n", "BIGINT")
    for name, expression in columns(job.events).items():
        schema = schema.column_by_expression(name, expression)
    tables.create_temporary_view(
        "events", tables.from_data_stream(numbers, schema.watermark("ts", f"ts - {interval(job.events.delay)}").build())
    )
    folder = Path(tempfile.mkdtemp())
    tables.execute_sql(sink_of_times(str(folder)))
    tables.execute_sql(f"INSERT INTO results {results_with_times(job.question)}").wait()
    blocks.thread.join()
    seen = [(end, at / SECOND - blocks.start) for end, at in emitted(folder)]
    shutil.rmtree(folder)
    return summary(job, seen, blocks.read)


def emitted(folder: Path) -> Iterator[tuple[int, int]]:
    """Yield the end of the window of each result, and the time at which it was emitted."""
    for part in (one for one in folder.rglob("*") if one.is_file()):
        with part.open(encoding="utf-8", newline="") as lines:
            yield from ((milliseconds(end), milliseconds(at)) for end, at in csv.reader(lines))


if __name__ == "__main__":
    work(lambda line: run(paced_job_of(line)))
