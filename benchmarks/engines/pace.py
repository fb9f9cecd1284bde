"""Events that arrive at a rate, and the time from an event to its result, after Karimov et al. (2018), Benchmarking Distributed Stream Data Processing Systems.

Event n arrives n / rate seconds after the start, whether the engine is ready or not. The latency of a window is the time from the arrival of the
event that closes it, because the watermark then reaches the end of the window, to the moment at which its results are there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeAlias

from benchmarks.engines.events import BLOCK, FIRST, Events
from benchmarks.engines.questions import QUESTIONS, StreamQuestion

QUARTERS = 4
MOST_GROWTH = 0.1
"""An engine that falls behind by more than this share of the time does not sustain the rate."""
Seen: TypeAlias = Iterable[tuple[int, float]]
"""The ends of windows, each with the seconds after the start at which its results were there."""


@dataclass(frozen=True)
class PacedJob:
    """A question on events that arrive at a rate, for some seconds."""

    question: StreamQuestion
    rate: float
    seconds: float

    @property
    def events(self) -> Events:
        """All events that arrive."""
        return Events(self.arrived(self.seconds))

    def arrived(self, elapsed: float) -> int:
        """Return how many events have arrived some seconds after the start."""
        return int(min(elapsed, self.seconds) * self.rate)

    def closing(self, end: int) -> int:
        """Return the first event after which the watermark reaches the end of a window.

        >>> job = PacedJob(QUESTIONS["tumbling 1m"], 1_000.0, 10.0)
        >>> n = job.closing(FIRST + 60_000)
        >>> n, (job.events.columns_of(n)[1] - FIRST - job.events.delay) / 1_000
        (6010, 60.0)
        """
        events = self.events
        wanted = end + events.delay
        n = max(0, (wanted - FIRST) // events.step // BLOCK * BLOCK - BLOCK)
        while events.columns_of(n)[1] < wanted:
            n += 1
        return int(n)

    def latencies(self, seen: Seen, read: int) -> list[tuple[float, float]]:
        """Return arrival and latency, in order of arrival, of the windows that were closed by an event that was read."""
        closings = ((self.closing(end), at) for end, at in seen)
        return sorted((n / self.rate, at - n / self.rate) for n, at in closings if n < read)

    def to_json(self) -> str:
        """Return the job as a line."""
        return json.dumps({"question": self.question.name, "rate": self.rate, "seconds": self.seconds})


def paced_job_of(line: str) -> PacedJob:
    """Return the job of a line.

    >>> job = PacedJob(QUESTIONS["tumbling 1m"], 1_000.0, 10.0)
    >>> paced_job_of(job.to_json()) == job
    True
    """
    told = json.loads(line)
    return PacedJob(QUESTIONS[told["question"]], told["rate"], told["seconds"])


def summary(job: PacedJob, seen: Seen, read: int) -> dict[str, Any]:
    """Return the median and the 99th percentile of the latencies in the second half, and whether the backlog grew there.

    >>> job = PacedJob(QUESTIONS["tumbling 1m"], 60_000.0, 8.0)
    >>> ends = [FIRST + minute * 60_000 for minute in range(1, 70)]
    >>> summary(job, [(end, job.closing(end) / job.rate + 0.2) for end in ends], 480_000)
    {'sustained': True, 'median': 0.2, 'p99': 0.2}
    >>> summary(job, [(end, job.closing(end) / job.rate * 1.5) for end in ends], 480_000)["sustained"]
    False
    """
    quarter = job.seconds / QUARTERS
    third, last = (
        [
            latency
            for arrival, latency in job.latencies(seen, read)
            if number * quarter <= arrival < (number + 1) * quarter
        ]
        for number in (2, 3)
    )
    if not third or not last:
        return {"sustained": False, "median": job.seconds, "p99": job.seconds}
    behind = median(last) - median(third)
    both = sorted(third + last)
    return {
        "sustained": behind <= MOST_GROWTH * quarter,
        "median": round(median(both), 6),
        "p99": round(percentile(both, 99), 6),
    }


def percentile(ordered: Sequence[float], percent: int) -> float:
    """Return the least value that so many percent of the values do not exceed.

    >>> percentile([1.0, 2.0, 3.0], 99), percentile([1.0, 2.0, 3.0], 50)
    (3.0, 2.0)
    """
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]
