"""Checks the answers of a case, then measures it."""

from __future__ import annotations

import gc
import time
from typing import Any

import numpy as np

from benchmarks.case import ERROR, TIME, Call, Case, Contestant, without_nulls
from benchmarks.columns import column, spike_row
from benchmarks.references import Reference, TwoPasses, sample
from benchmarks.results import Reading, reading

REPEATS = 5
BRIEF = 0.3
"""Seconds."""
RUNS_OF_STEPS = 7
"""The same steps are run again and again: what the operating system adds to a step in one run, another doesn't have."""

_compile_seconds: dict[tuple[object, ...], float] = {}


def measure(case: Case, repeats: int = REPEATS) -> list[Reading]:
    """Check every contestant, then measure all of them in turn."""
    field = _Field(case)
    if case.measure == ERROR:
        values = {contestant.name: [field.error(contestant)] for contestant in case.contestants}
    else:
        for contestant in case.contestants:
            field.check(contestant)
        values = field.times(repeats) if case.measure == TIME else field.worst_steps(RUNS_OF_STEPS)
    return [
        reading(
            case, contestant, values[contestant.name], field.counted(contestant), field.compiled.get(contestant.name)
        )
        for contestant in case.contestants
    ]


class _Field:
    """The contestants of a case, each ready to be called."""

    def __init__(self, case: Case) -> None:
        self.case = case
        longest = max((contestant.lead + self.counted(contestant) for contestant in case.contestants), default=0)
        self.values = column(case.column, max(case.rows, longest))
        self.reference = Reference(self.values)
        self.compiled = {one.name: self._compile(one) for one in case.contestants if one.role == "sash"}
        self.calls = {one.name: self._prepare(one) for one in case.contestants}
        self.seconds: dict[str, float] = {}

    def counted(self, contestant: Contestant) -> int:
        """Return how many rows a contestant answers."""
        if self.case.measure == ERROR:  # all are asked about the same windows
            return self.case.rows
        return min(contestant.rows or self.case.rows, self.case.rows)

    def _prepare(self, contestant: Contestant) -> Call:
        return contestant.prepare(self.values[: contestant.lead + self.counted(contestant)], self.case.ranges)

    def _compile(self, contestant: Contestant) -> float:
        """Return how long the first call of all took, over a few rows: that is the time to compile."""
        case = self.case
        key = case.measure, case.aggregate, case.dtype, contestant.algorithm, len(case.ranges) > 1
        if key not in _compile_seconds:
            start = time.perf_counter()
            contestant.prepare(self.values[:8], self.case.ranges[:2])()
            _compile_seconds[key] = time.perf_counter() - start
        return _compile_seconds[key]

    def check(self, contestant: Contestant) -> None:
        """Compare the answers with those recomputed from raw rows; this warms the contestant up too."""
        start = time.perf_counter()
        given: Any = self.calls[contestant.name]()
        self.seconds[contestant.name] = time.perf_counter() - start
        answers = given if self.case.measure == TIME else given[0]
        self.reference.check(self.case, contestant, answers, contestant.lead + self.counted(contestant))

    def error(self, contestant: Contestant) -> float:
        """Return the largest relative error in the windows that slide, after the spike where there is one."""
        length = self.case.ranges[0]
        rows = self.counted(contestant)
        first = spike_row(len(self.values)) + length if self.case.column == "spike" else length
        given = self.calls[contestant.name]()
        answers = given if isinstance(given, TwoPasses) else without_nulls(given)
        return self.reference.error(contestant.answers, answers, length, sample(rows, length, first))

    def times(self, repeats: int) -> dict[str, list[float]]:
        """Return nanoseconds a row: the first contestant, if brief, again before each other: the machine's speed drifts."""
        order = list(self.case.contestants)
        if self.seconds[order[0].name] < BRIEF:
            order = [one for other in order[1:] for one in (order[0], other)] or order
        times: dict[str, list[float]] = {one.name: [] for one in self.case.contestants}
        gc.collect()
        gc.disable()
        try:
            for _ in range(repeats):
                for one in order:
                    call = self.calls[one.name]
                    start = time.perf_counter_ns()
                    answers = call()
                    times[one.name].append((time.perf_counter_ns() - start) / self.counted(one))
                    del answers  # after the clock was read
        finally:
            gc.enable()
        return times

    def worst_steps(self, runs: int) -> dict[str, list[float]]:
        """Return the longest step of the window that slides, each step at the shortest that it took in all runs."""
        shortest = {one.name: np.full(self.counted(one), np.iinfo(np.int64).max) for one in self.case.contestants}
        for _ in range(runs):
            for name, steps in shortest.items():
                _, durations = self.calls[name]()
                np.minimum(steps, durations, out=steps)
        return {name: [float(steps[self.case.ranges[0] :].max())] for name, steps in shortest.items()}
