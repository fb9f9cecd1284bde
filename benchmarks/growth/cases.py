"""The table of sweeps: each quantity grows alone from a base of 1 M rows, 10 keys, one window of 1,000 rows and one aggregate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from benchmarks.growth.case import BASE, LIBRARIES, MEASURES, SweepCase, SweepContestant, say_number

POINTS: Mapping[str, Sequence[int]] = {
    "rows": (10_000, 100_000, 1_000_000, 10_000_000),
    "keys": (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000),
    "windows": (1, 2, 4, 8, 16),
    "aggregates": (1, 2, 4, 8, 16),
    "range": (10, 100, 1_000, 10_000, 100_000),
}
LAST: Mapping[tuple[str, str], int] = {("keys", "pandas"): 100_000}
"""The last point of an library whose further points would take too long."""


def contestants(sweep: str) -> Iterator[SweepContestant]:
    """Yield each library at each point of a sweep; all libraries at one point before the next point."""
    for number in POINTS[sweep]:
        for library, package in LIBRARIES.items():
            if number <= LAST.get((sweep, library), number):
                yield SweepContestant(
                    name=f"{library}, {say_number(number)}",
                    role="sash" if library == "Sash" else "peer",
                    package=package,
                    algorithm="auto" if library == "Sash" else "",
                    library=library,
                    point=replace(BASE, **{sweep: number}),
                )


CASES: tuple[SweepCase, ...] = tuple(
    SweepCase(
        name=f"{sweep}, {shown}", sweep=sweep, shown=shown, measure=measure, contestants=tuple(contestants(sweep))
    )
    for sweep in POINTS
    for shown, measure in MEASURES.items()
)
