"""The table of sweeps: each quantity grows alone from a base of 1 M rows, 10 keys, one window of 1,000 rows and one aggregate.

Then 10 M rows in order of time, with targets: the step that other tables do not need is to lay rows out by key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from benchmarks.case import Target
from benchmarks.growth.case import (
    BASE,
    LIBRARIES,
    MEASURES,
    TIME_SHOWN,
    SweepCase,
    SweepContestant,
    SweepPoint,
    say_number,
)

POINTS: Mapping[str, Sequence[int]] = {
    "rows": (10_000, 100_000, 1_000_000, 10_000_000),
    "keys": (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000),
    "windows": (1, 2, 4, 8, 16),
    "aggregates": (1, 2, 4, 8, 16),
    "range": (10, 100, 1_000, 10_000, 100_000),
}
LAST: Mapping[tuple[str, str], int] = {("keys", "pandas"): 100_000}
"""The last point of an library whose further points would take too long."""


def contestants(
    sweep: str,
    points: Sequence[int],
    base: SweepPoint = BASE,
    last: Mapping[tuple[str, str], int] = LAST,
) -> Iterator[SweepContestant]:
    """Yield each library at each point of a sweep; all libraries at one point before the next point."""
    for number in points:
        for library, package in LIBRARIES.items():
            if number <= last.get((sweep, library), number):
                yield SweepContestant(
                    name=f"{library}, {say_number(number)}",
                    role="sash" if library == "Sash" else "peer",
                    package=package,
                    algorithm="auto" if library == "Sash" else "",
                    library=library,
                    point=replace(base, **dict[str, Any]({sweep: number})),
                )


SWEEPS: tuple[SweepCase, ...] = tuple(
    SweepCase(
        name=f"{sweep}, {shown}",
        sweep=sweep,
        shown=shown,
        measure=measure,
        contestants=tuple(contestants(sweep, POINTS[sweep])),
    )
    for sweep in POINTS
    for shown, measure in MEASURES.items()
)

MANY, KEYS_IN_TURN, MOST_MEMORY = 10_000_000, (10, 1_000, 100_000), 1.3


def in_order_of_time() -> Iterator[SweepCase]:
    """Yield frames over 10 M rows in order of time, beside Polars."""
    for first, length in product(("max", "mean"), (10, 1_000)):
        base = SweepPoint(rows=MANY, range=length, first=first)
        for shown, measure in MEASURES.items():
            bound = {"at_least": 1.0} if shown == TIME_SHOWN else {"at_most": MOST_MEMORY}
            yield SweepCase(
                name=f"in order of time, {first} of rows({length}), {shown}",
                aggregate=first,
                sweep="keys",
                shown=shown,
                measure=measure,
                rows=MANY,
                contestants=tuple(
                    SweepContestant(
                        name=f"{library}, {say_number(keys)} keys",
                        role="sash" if library == "Sash" else "peer",
                        package=LIBRARIES[library],
                        algorithm="auto" if library == "Sash" else "",
                        library=library,
                        point=replace(base, keys=keys),
                    )
                    for keys in KEYS_IN_TURN
                    for library in ("Sash", "Polars")
                ),
                targets=tuple(
                    Target(
                        contestant=f"Sash, {say_number(keys)} keys", against=f"Polars, {say_number(keys)} keys", **bound
                    )
                    for keys in KEYS_IN_TURN
                ),
            )


IN_ORDER_OF_TIME: tuple[SweepCase, ...] = tuple(in_order_of_time())
CASES = (*SWEEPS, *IN_ORDER_OF_TIME)
