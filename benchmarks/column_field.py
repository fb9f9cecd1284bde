"""Checks and measures a case over one column: time, worst step, or error."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from benchmarks.case import ERROR, TIME, Call
from benchmarks.column_case import ColumnCase, ColumnContestant, without_nulls
from benchmarks.columns import column, spike_row
from benchmarks.field import Field
from benchmarks.references import Reference, TwoPasses, sample

RUNS_OF_STEPS = 7
"""The same steps are run again and again: what the operating system adds to a step in one run, another doesn't have."""


class ColumnField(Field[ColumnContestant]):
    """Contestants that slide over the same column."""

    def __init__(self, case: ColumnCase) -> None:
        self.case: ColumnCase = case
        longest = max((contestant.lead + self.counted(contestant) for contestant in case.contestants), default=0)
        self.values = column(case.column, max(case.rows, longest))
        self.reference = Reference(self.values)
        super().__init__(case, case.contestants)

    def counted(self, contestant: ColumnContestant) -> int:
        """Return how many rows a contestant answers."""
        return self.case.rows if self.case.measure == ERROR else super().counted(contestant)  # all the same windows

    def prepare(self, contestant: ColumnContestant) -> Call:
        """Return the call over the contestant's rows."""
        return contestant.prepare(self.values[: contestant.lead + self.counted(contestant)], self.case.ranges)

    def prepare_few(self, contestant: ColumnContestant) -> Call:
        """Return the call over eight rows."""
        return contestant.prepare(self.values[:8], self.case.ranges[:2])

    def compiles(self, contestant: ColumnContestant) -> Hashable:
        """Return the kernel: algorithm, aggregate, type and loop."""
        case = self.case
        return case.measure, case.aggregate, case.dtype, contestant.algorithm, len(case.ranges) > 1

    def measure(self, repeats: int) -> dict[str, list[float]]:
        """Measure what the case is about."""
        if self.case.measure == ERROR:
            return {contestant.name: [self.error(contestant)] for contestant in self.contestants}
        if self.case.measure == TIME:
            return super().measure(repeats)
        self.check_all()
        return self.worst_steps(RUNS_OF_STEPS)

    def check_answers(self, contestant: ColumnContestant, given: Any) -> None:
        """Compare with the windows recomputed from raw rows."""
        answers = given if self.case.measure == TIME else given[0]
        self.reference.check(self.case, contestant, answers, contestant.lead + self.counted(contestant))

    def error(self, contestant: ColumnContestant) -> float:
        """Return the largest relative error in the windows that slide, after the spike where there is one."""
        length = self.case.ranges[0]
        rows = self.counted(contestant)
        first = spike_row(len(self.values)) + length if self.case.column == "spike" else length
        given = self.calls[contestant.name]()
        answers = given if isinstance(given, TwoPasses) else without_nulls(given)
        return self.reference.error(contestant.answers, answers, length, sample(rows, length, first))

    def worst_steps(self, runs: int) -> dict[str, list[float]]:
        """Return the longest step of the window that slides, each step at the shortest that it took in all runs."""
        shortest = {one.name: np.full(self.counted(one), np.iinfo(np.int64).max) for one in self.case.contestants}
        for _ in range(runs):
            for name, steps in shortest.items():
                _, durations = self.calls[name]()
                np.minimum(steps, durations, out=steps)
        return {name: [float(steps[self.case.ranges[0] :].max())] for name, steps in shortest.items()}
