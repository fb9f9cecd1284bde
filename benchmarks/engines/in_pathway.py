"""The worker of Pathway: `windowby` with its windows of time and sessions, whose results are emitted once, when they are final.

The events are in memory as Python objects before the clock starts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from typing import Any

import pathway as pw
from pathway.internals.parse_graph import G

from benchmarks.engines.events import Event
from benchmarks.engines.job import Job, work_on_jobs, write_lines
from benchmarks.engines.questions import OWN, StreamQuestion


class EventSchema(pw.Schema):
    """The columns of events."""

    key: int
    ts: int
    x: float


class EventSubject(pw.io.python.ConnectorSubject):
    """Sends the events of a list."""

    def __init__(self, events: Iterable[Event]) -> None:
        super().__init__()
        self.events = events

    def run(self) -> None:
        """Send all events."""
        for key, ts, x in self.events:
            self.next(key=key, ts=ts, x=x)

    @property
    def _deletions_enabled(self) -> bool:
        return False


class GeometricMean(pw.BaseCustomAccumulator):
    """The aggregate that the user has written."""

    def __init__(self, total: float, n: int) -> None:
        self.total, self.n = total, n

    @classmethod
    def from_row(cls, row: list[Any]) -> GeometricMean:
        """Return the partial of a value."""
        return cls(math.log(row[0]), 1)

    def update(self, other: GeometricMean) -> None:
        """Add a partial."""
        self.total, self.n = self.total + other.total, self.n + other.n

    def compute_result(self) -> float:
        """Return the mean."""
        return math.exp(self.total / self.n)


geometric_mean = pw.reducers.udf_reducer(GeometricMean)


def window_of(question: StreamQuestion, length: int) -> Any:
    """Return the windows."""
    if question.form == "session":
        return pw.temporal.session(predicate=lambda older, newer: newer - older <= length)
    if question.slide == length:
        return pw.temporal.tumbling(duration=length, origin=0)
    return pw.temporal.sliding(hop=question.slide, duration=length, origin=0)


def answers(question: StreamQuestion, length: int, events: Any, delay: int) -> Any:
    """Return the table of answers."""
    behaviour = {} if question.form == "session" else {"behavior": pw.temporal.exactly_once_behavior(shift=delay)}
    windows = events.windowby(events.ts, window=window_of(question, length), instance=events.key, **behaviour)
    start, end = pw.this["_pw_window_start"], pw.this["_pw_window_end"]
    more = length if question.form == "session" else 0  # a session ends with its last event there
    edges = {"key": pw.this["_pw_instance"], "begins": start, "ends": end + more}
    if question.columns == OWN:
        return windows.reduce(**edges, middle=geometric_mean(pw.this.x))
    return windows.reduce(
        **edges, peak=pw.reducers.max(pw.this.x), mean=pw.reducers.avg(pw.this.x), n=pw.reducers.count()
    )


def run(job: Job) -> float:
    """Return the seconds of a job."""
    question = job.question
    if question.per_row:
        message = f"Pathway is not asked for {question.name}."
        raise ValueError(message)
    G.clear()
    events = pw.io.python.read(EventSubject(list(job.events.tuples())), schema=EventSchema, autocommit_duration_ms=100)
    lines: dict[Any, list[Any]] = {}
    for length in question.lengths:

        def take(key: Any, row: dict[str, Any], time: int, is_addition: bool, length: int = length) -> None:  # noqa: ARG001
            place = (length, key, row["begins"], row["ends"])
            if is_addition:
                lines[place] = [
                    length,
                    row["key"],
                    row["begins"],
                    row["ends"],
                    *(row[name] for name in question.columns),
                ]
            elif lines.get(place, [None])[-len(question.columns) :] == [row[name] for name in question.columns]:
                del lines[place]

        table = answers(question, length, events, job.events.delay)
        if job.results:
            pw.io.subscribe(table, on_change=take)
        else:
            pw.io.null.write(table)
    start = time.perf_counter()
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    seconds = time.perf_counter() - start
    if job.results:
        write_lines(lines.values(), job.results)
    return seconds


if __name__ == "__main__":
    work_on_jobs(run)
