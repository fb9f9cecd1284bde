"""The table of cases, with the targets of each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from time import perf_counter_ns
from typing import Any

import numpy as np

import sash
from benchmarks.case import STEP, WORST_STEP, Call, Case, Target
from benchmarks.single_events import late_rows
from benchmarks.single_events.by_hand import by_hand, by_numpy, by_pandas, by_river
from benchmarks.single_events.case import EventCase, EventContestant, StepCase
from sash import agg

AGGREGATES = {"max": agg.max("x"), "sum": agg.sum("x"), "mean": agg.mean("x"), "stddev": agg.stddev("x")}
INTERPRETED, COMPILED = "Sash", "Sash, compiled"
MOST_INTERPRETED, MOST_COMPILED = 4_000, 2_000
"""Nanoseconds for insert, evict and query together."""
SLOW = 5_000
"""The events of contestants that recompute each window."""
LONG = 100_000
"""The window of the cases of single steps: two_stacks flips once while it moves on by its length."""


def kept(aggregate: str, algorithm: str, values: list[float], length: int, *, compiled: bool) -> sash.Aggregator:
    """Return a window of the last values."""
    window = sash.Aggregator(AGGREGATES[aggregate], algorithm)
    if compiled:
        window.insert_many(np.array(values[-length:]))
    else:
        for value in values[-length:]:
            window.insert(value)
    return window


def by_sash(aggregate: str, values: list[float], length: int, *, compiled: bool) -> Call:
    """Return the run of an Aggregator."""
    window = kept(aggregate, "auto", values, length, compiled=compiled)

    def run() -> list[Any]:
        results = []
        for value in values:
            window.insert(value)
            window.evict()
            results.append(window.query())
        return results

    return run


def by_steps(algorithm: str, values: list[float], length: int, *, compiled: bool) -> Call:
    """Return the run of an Aggregator that times each event."""

    def run() -> tuple[list[Any], list[int]]:
        # A new window flips at the same events in each run. In the first round it grows and loads machine code.
        window = kept("max", algorithm, values, length, compiled=compiled)
        for value in values:
            window.insert(value)
            window.evict()
        results, durations = [], []
        for value in values:
            begin = perf_counter_ns()
            window.insert(value)
            window.evict()
            result = window.query()
            durations.append(perf_counter_ns() - begin)
            results.append(result)
        return results, durations

    return run


def single_events() -> Iterator[EventCase]:
    """Yield one aggregate after the other."""
    for name in AGGREGATES:
        own = [
            EventContestant(
                name=shown, role="sash", algorithm="auto", prepare=partial(by_sash, name, compiled=shown == COMPILED)
            )
            for shown in (INTERPRETED, COMPILED)
        ]
        others = (
            EventContestant(name="by hand", package="numpy", prepare=partial(by_hand, name)),
            EventContestant(name="NumPy", package="numpy", rows=SLOW, prepare=partial(by_numpy, name)),
            EventContestant(name="pandas", package="pandas", rows=SLOW, prepare=partial(by_pandas, name)),
            EventContestant(name="river", package="river", prepare=partial(by_river, name)),
        )
        yield EventCase(
            name=f"{name}, one event",
            aggregate=name,
            contestants=(*own, *others),
            targets=(
                Target(contestant=INTERPRETED, at_most=MOST_INTERPRETED),
                Target(contestant=COMPILED, at_most=MOST_COMPILED),
            ),
        )


def steps() -> Iterator[StepCase]:
    """Yield the median and the worst event of two algorithms."""
    for measure, shown in ((STEP, "median"), (WORST_STEP, "worst")):
        contestants = tuple(
            EventContestant(
                name=f"{algorithm}{', compiled' * compiled}",
                role="sash",
                algorithm=algorithm,
                prepare=partial(by_steps, algorithm, compiled=compiled),
            )
            for algorithm in ("daba", "two_stacks")
            for compiled in (False, True)
        )
        targets = (Target(contestant="daba, compiled", against="two_stacks, compiled", at_least=10),)
        yield StepCase(
            name=f"max, {shown} event",
            aggregate="max",
            contestants=contestants,
            length=LONG,
            targets=targets if measure == WORST_STEP else (),
            measure=measure,
        )


CASES: tuple[Case, ...] = (*single_events(), *steps(), *late_rows.CASES)
