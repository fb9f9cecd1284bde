"""The table of cases. Windows of an hour are asked of 1,000 M rows once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmarks.case import Target
from benchmarks.growth.case import say_number
from benchmarks.spark_large.asked import QUESTIONS, RANGE_JOIN, SASH, SPARK
from benchmarks.spark_large.case import MEASURES, ONE_CORE, TIME, LargeContestant, LargeRun, SparkLargeCase

M = 1_000_000
HOURS, LAST_ROWS, LABELS = QUESTIONS
POINTS: Mapping[str, Sequence[tuple[str, int, int]]] = {
    HOURS: ((SASH, 10 * M, 2), (SPARK, 10 * M, 2), (SASH, 100 * M, 1), (SASH, 100 * M, 2), (SASH, 1_000 * M, 2)),
    LAST_ROWS: ((SASH, 10 * M, 2), (SPARK, 10 * M, 2), (SASH, 100 * M, 1), (SASH, 100 * M, 2)),
    LABELS: ((SASH, 2 * M, 2), (RANGE_JOIN, 2 * M, 2), (SASH, 20 * M, 1), (SASH, 20 * M, 2)),
}
"""By question: the way, the rows and the cores of each contestant."""
FASTER = {HOURS: 5, LAST_ROWS: 3, LABELS: 20}
"""How many times as fast as Spark's way Sash should be."""
SHARE = 0.75
"""The share of the ideal that two cores should reach: 1.5 times as fast as one."""


def name_of(way: str, rows: int, cores: int) -> str:
    """Return the name of a contestant.

    >>> name_of("Sash", 100_000_000, 1), name_of("Sash", 10_000_000, 2)
    ('Sash, 100 M, one core', 'Sash, 10 M')
    """
    return f"{way}, {say_number(rows)}" + (ONE_CORE if cores == 1 else "")


def targets_of(question: str) -> Iterator[Target]:
    """Yield the targets of a question: beside the way of Spark, and beside one core."""
    points = POINTS[question]
    (peer, few, _) = next(point for point in points if point[0] != SASH)
    yield Target(contestant=name_of(SASH, few, 2), against=name_of(peer, few, 2), at_least=FASTER[question])
    (alone,) = (rows for _, rows, cores in points if cores == 1)
    yield Target(contestant=name_of(SASH, alone, 2), against=name_of(SASH, alone, 1), at_least=2 * SHARE)


def all_cases() -> Iterator[SparkLargeCase]:
    """Yield both measures of each question."""
    for name, points in POINTS.items():
        for shown, measure in MEASURES.items():
            yield SparkLargeCase(
                name=f"{name}, {shown}",
                question=name,
                aggregate=", ".join(QUESTIONS[name].answers),
                window=QUESTIONS[name].window,
                shown=shown,
                measure=measure,
                rows=max(rows for _, rows, _ in points),
                contestants=[
                    LargeContestant(
                        name=name_of(way, rows, cores),
                        role="sash" if way == SASH else "peer",
                        package="sash" if way == SASH else "pyspark",
                        algorithm="auto" if way == SASH else "",
                        rows=rows,
                        run=LargeRun(name, way, rows, cores),
                    )
                    for way, rows, cores in points
                ],
                targets=tuple(targets_of(name)) if shown == TIME else (),
            )


CASES: tuple[SparkLargeCase, ...] = tuple(all_cases())
