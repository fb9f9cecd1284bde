"""The worker of Sash in process for latency: each batch of the reader has the events that have arrived since the last one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.engines import in_sash
from benchmarks.engines.events import Events
from benchmarks.engines.job import Job, work
from benchmarks.engines.pace import PacedJob, paced_job_of, summary
from benchmarks.engines.questions import StreamQuestion

WARM = 1_200_000
"""Events that compile what many events need."""
MOST = 100_000
"""Events of a batch."""
PAUSE = 0.001
"""Seconds, if no event has arrived."""


@cache
def warm(question: StreamQuestion) -> None:
    """Answer many events at once."""
    in_sash.run(Job(question, Events(WARM)))


class Arrivals:
    """The events of a job as they arrive."""

    def __init__(self, job: PacedJob) -> None:
        self.job = job
        self.start = time.perf_counter()
        self.read = 0

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.start

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield batches until the time is over."""
        events = self.job.events
        while (elapsed := self.elapsed) < self.job.seconds:
            arrived = min(self.job.arrived(elapsed), self.read + MOST)
            if arrived == self.read:
                time.sleep(PAUSE)
                continue
            yield in_sash.batch_of(events, self.read, arrived)
            self.read = arrived


def run(job: PacedJob) -> dict[str, Any]:
    """Return the latencies of a job."""
    warm(job.question)
    arrivals = Arrivals(job)
    reader = pa.RecordBatchReader.from_batches(in_sash.SCHEMA, arrivals.batches())
    seen: list[tuple[int, float]] = []
    for batch in in_sash.query_of(job.question, job.events.delay).run(reader):
        now = arrivals.elapsed
        ends = np.unique(batch["window_end"].cast("int64").to_numpy())
        seen += [(int(end), now) for end in ends]
    return summary(job, seen, arrivals.read)


if __name__ == "__main__":
    work(lambda line: run(paced_job_of(line)))
