"""What a worker is asked, and how it answers: a line of JSON for each job, on standard input and output."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from benchmarks.engines.events import Events
from benchmarks.engines.nexmark.queries import SiteJob, site_job_of
from benchmarks.engines.questions import QUESTIONS, StreamQuestion


@dataclass(frozen=True)
class Job:
    """A question on some events. With a path, the results are written there as CSV; else they go nowhere.

    A line of results has the length of the window, the key, the start and the end of the window (per row twice the time of the row),
    then the aggregates. All times are milliseconds.
    """

    question: StreamQuestion
    events: Events
    results: str = ""

    def to_json(self) -> str:
        """Return the job as a line."""
        return json.dumps({"question": self.question.name, "events": asdict(self.events), "results": self.results})


def job_of(line: str) -> Job:
    """Return the job of a line.

    >>> job = Job(QUESTIONS["tumbling 1m"], Events(10))
    >>> job_of(job.to_json()) == job
    True
    """
    told = json.loads(line)
    return Job(QUESTIONS[told["question"]], Events(**told["events"]), told["results"])


def work(answer: Callable[[str], Mapping[str, Any]]) -> None:
    """Answer lines until the input ends. What libraries print goes to standard error."""
    answers = answers_alone()
    for line in sys.stdin:
        print(json.dumps(answer(line)), file=answers, flush=True)


def work_on_jobs(run: Callable[[Job], float], run_query: Callable[[SiteJob], float] | None = None) -> None:
    """Run jobs until the input ends. `run` returns the seconds of a job, `run_query` those of a query of Nexmark."""

    def seconds(line: str) -> float:
        told = json.loads(line)
        return run_query(site_job_of(told)) if run_query and "nexmark" in told else run(job_of(line))

    work(lambda line: {"seconds": seconds(line)})


def answers_alone() -> TextIO:
    """Return standard output, and send what others print there to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def write_lines(lines: Iterable[list[Any]], path: str) -> None:
    """Write results as CSV."""
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(lines)
