"""The same sweeps with 10 M rows in place of 1 M, up to 100 M rows, and with one thread and two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from benchmarks.case import Target
from benchmarks.growth.case import BASE, MEASURES, TIME_SHOWN, SweepCase, SweepPoint, say_number
from benchmarks.growth.cases import contestants

MANY, MOST = 10_000_000, 100_000_000
LARGE = replace(BASE, rows=MANY)
POINTS: Mapping[str, tuple[SweepPoint, Sequence[int]]] = {
    "rows": (LARGE, (MANY, MOST)),
    "keys": (LARGE, (10, 10_000, 1_000_000)),
    "windows": (LARGE, (1, 4, 16)),
    "aggregates": (LARGE, (1, 4, 16)),
    "range": (LARGE, (10, 1_000, 100_000)),
}
NONE = 0
LAST = {("rows", "pandas"): MANY, ("keys", "pandas"): 10_000, ("threads", "pandas"): NONE}
"""The last point of pandas, whose further points would take too long. It has one thread."""
THREADS = (1, 2)
SHARE = 0.75
"""The share of the ideal that two threads should reach: 1.5 times as fast as one."""


def sweeps() -> Iterator[SweepCase]:
    """Yield both measures of each sweep."""
    for sweep, (base, points) in POINTS.items():
        for shown, measure in MEASURES.items():
            yield SweepCase(
                name=f"{sweep} from {say_number(base.rows)} rows, {shown}",
                sweep=sweep,
                shown=shown,
                measure=measure,
                rows=max(points) if sweep == "rows" else base.rows,
                contestants=tuple(contestants(sweep, points, base, LAST)),
            )


def by_threads() -> Iterator[SweepCase]:
    """Yield both measures with one thread and two, of 10 M and of 100 M rows, with few keys and many."""
    for rows in (MANY, MOST):
        for keys in (10, 100_000):
            base = SweepPoint(rows=rows, keys=keys)
            for shown, measure in MEASURES.items():
                yield SweepCase(
                    name=f"threads, {say_number(rows)} rows of {say_number(keys)} keys, {shown}",
                    sweep="threads",
                    shown=shown,
                    measure=measure,
                    rows=rows,
                    contestants=tuple(contestants("threads", THREADS, base, LAST)),
                    targets=(Target(contestant="Sash, 2", against="Sash, 1", at_least=2 * SHARE),)
                    if shown == TIME_SHOWN
                    else (),
                )


CASES: tuple[SweepCase, ...] = (*sweeps(), *by_threads())
