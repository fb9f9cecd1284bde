"""The worker of Bytewax: windows of time and sessions by `fold_window`, in one worker thread, since Python's lock lets only one run.

It has no windows per row. The events are in memory as Python objects before the clock starts.
"""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import bytewax.operators as op
import bytewax.operators.windowing as win
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource, run_main

from benchmarks.engines.job import Job, work_on_jobs, write_lines
from benchmarks.engines.questions import OWN, StreamQuestion

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
BATCH = 1_000


def windower_of(question: StreamQuestion, length: int) -> Any:
    """Return the windows."""
    if question.form == "session":
        return win.SessionWindower(gap=length * MILLISECOND)
    if question.slide == length:
        return win.TumblingWindower(length=length * MILLISECOND, align_to=EPOCH)
    return win.SlidingWindower(length=length * MILLISECOND, offset=question.slide * MILLISECOND, align_to=EPOCH)


def fold_three(partial: tuple[float, float, int], event: tuple[datetime, float]) -> tuple[float, float, int]:
    """Add an event to max, sum and count."""
    peak, total, n = partial
    x = event[1]
    return (max(x, peak), total + x, n + 1)


def merge_three(partial: tuple[float, float, int], other: tuple[float, float, int]) -> tuple[float, float, int]:
    """Add a partial: sessions merge."""
    return (max(partial[0], other[0]), partial[1] + other[1], partial[2] + other[2])


def fold_own(partial: tuple[float, int], event: tuple[datetime, float]) -> tuple[float, int]:
    """Add an event to the sum of logarithms and the count."""
    return (partial[0] + math.log(event[1]), partial[1] + 1)


def merge_own(partial: tuple[float, int], other: tuple[float, int]) -> tuple[float, int]:
    """Add a partial."""
    return (partial[0] + other[0], partial[1] + other[1])


def answer_three(partial: tuple[float, float, int]) -> list[float]:
    """Return max, mean and count."""
    return [partial[0], partial[1] / partial[2], partial[2]]


def answer_own(partial: tuple[float, int]) -> list[float]:
    """Return the geometric mean."""
    return [math.exp(partial[0] / partial[1])]


THREE_BY = (lambda: (-math.inf, 0.0, 0), fold_three, merge_three, answer_three)
OWN_BY = (lambda: (0.0, 0), fold_own, merge_own, answer_own)


def run(job: Job) -> float:
    """Return the seconds of a job."""
    question = job.question
    if question.per_row:
        message = f"Bytewax has no {question.name}."
        raise ValueError(message)
    events = [(str(key), (EPOCH + ms * MILLISECOND, x)) for key, ms, x in job.events.tuples()]
    begin, fold, merge, answer = OWN_BY if question.columns == OWN else THREE_BY
    flow = Dataflow("benchmark")
    stream = op.input("events", flow, TestingSource(events, batch_size=BATCH))
    delay = timedelta(milliseconds=job.events.delay)
    clock = win.EventClock(ts_getter=lambda event: event[0], wait_for_system_duration=delay)
    lines: list[list[Any]] = []
    for length in question.lengths:
        windows = win.fold_window(f"w{length}", stream, clock, windower_of(question, length), begin, fold, merge)
        if not job.results:
            found = op.map(f"answer{length}", windows.down, lambda item: answer(item[1][1]))
            op.output(f"out{length}", op.filter(f"none{length}", found, lambda _: False), TestingSink([]))
            continue
        named = op.map(f"name{length}", windows.down, lambda item, length=length: ("answer", length, *item))
        op.output(f"out{length}", named, TestingSink(lines))
        edges = op.map(f"edge{length}", windows.meta, lambda item, length=length: ("edges", length, *item))
        op.output(f"meta{length}", edges, TestingSink(lines))
    start = time.perf_counter()
    run_main(flow)
    seconds = time.perf_counter() - start
    if job.results:
        edges_of = {(length, key, number): edges for what, length, key, (number, edges) in lines if what == "edges"}
        more = int(question.form == "session") * question.lengths[0]
        write_lines(
            (
                [length, key, *_edges(edges_of[length, key, number], more), *answer(partial)]
                for what, length, key, (number, partial) in lines
                if what == "answer"
            ),
            job.results,
        )
    return seconds


def _edges(meta: Any, more: int) -> tuple[int, int]:
    """Return start and end; the end of a session is that of its last event and the gap."""
    start, end = ((edge - EPOCH) // MILLISECOND for edge in (meta.open_time, meta.close_time))
    return start, end + more


if __name__ == "__main__":
    work_on_jobs(run)
