"""What a worker has written, beside what the oracle computes from the raw rows."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.engines.in_sash import aggregates_of, batch_of, lines_of, only_window
from benchmarks.engines.job import Job

RELATIVE = 1e-9
Place: TypeAlias = tuple[int, int, int, int]
"""The length of the window, the key, and start and end of the window."""
Answers: TypeAlias = Mapping[Place, list[float]]


def read(paths: Iterable[Path]) -> Iterator[list[str]]:
    """Yield the lines of CSV files."""
    for path in paths:
        with path.open(encoding="utf-8", newline="") as file:
            yield from csv.reader(file)


def collect(name: str, lines: Iterable[list[Any]], watermark: int) -> Answers:
    """Return the answers that the watermark has passed. Raise AssertionError if there are two of the same window."""
    answers: dict[Place, list[float]] = {}
    for length, key, start, end, *values in lines:
        if int(end) < watermark:
            place = (int(length), int(key), int(start), int(end))
            if place in answers:
                message = f"{name} gives two answers for {place}."
                raise AssertionError(message)
            answers[place] = [float(value) for value in values]
    return answers


def recomputed(job: Job) -> Answers:
    """Return the right answers, from the raw rows of each window."""
    import pyarrow as pa  # noqa: PLC0415

    from sash.testing import recompute_query  # noqa: PLC0415

    question = job.question
    rows = batch_of(job.events, 0, job.events.count).to_pylist()
    results = recompute_query(rows, aggregates_of(question), only_window(question), by=["key"], time="ts")
    return collect("the oracle", lines_of(question, pa.Table.from_pylist(results)), job.events.final_watermark)


def compare(name: str, given: Answers, right: Answers) -> None:
    """Raise AssertionError unless the answers are the right ones.

    >>> compare("Flink", {(60, 1, 0, 60): [2.0]}, {(60, 1, 0, 60): [3.0]})
    Traceback (most recent call last):
        ...
    AssertionError: Flink has [2.0] for (60, 1, 0, 60), where [3.0] is right.
    """
    if not right:
        message = f"{name}: nothing to compare, the watermark has passed no window."
        raise AssertionError(message)
    for place in right.keys() | given.keys():
        one, other = given.get(place), right.get(place)
        if one is None or other is None or not _are_close(one, other):
            message = f"{name} has {one} for {place}, where {other} is right."
            raise AssertionError(message)


def _are_close(given: list[float], right: list[float]) -> bool:
    return len(given) == len(right) and all(
        math.isclose(one, other, rel_tol=RELATIVE) for one, other in zip(given, right, strict=True)
    )
