"""Checks and measures a case: the answers of all contestants agree with the raw rows and with each other, then all run in turns."""

from __future__ import annotations

import gc

import numpy as np

from benchmarks.case import TIME
from benchmarks.papers.case import PaperCase, PaperContestant, PaperRun


class PaperField:
    """The contestants of a case, each ready to be measured."""

    def __init__(self, case: PaperCase) -> None:
        self.case = case
        self.compiled: dict[str, float] = {}
        self.runs: dict[str, PaperRun] = {}

    def counted(self, contestant: PaperContestant) -> int:
        """Return how many rows a measurement of a contestant has."""
        return self.runs[contestant.name].rows

    def measure(self, repeats: int) -> dict[str, list[float]]:
        """Check all, then measure them in turns. What is counted is the same each time, so once is enough."""
        for one in self.case.contestants:
            self.runs[one.name] = one.prepare(self.case)
        self.check_all()
        repeats = repeats if self.case.measure == TIME else 1
        gc.disable()  # collecting first would take longer than most cases: Spark and Numba are loaded
        found: dict[str, list[float]] = {name: [] for name in self.runs}
        try:
            for _ in range(repeats):
                for name, run in self.runs.items():
                    found[name].append(run.again())
        finally:
            gc.enable()
        rows = {name: run.rows for name, run in self.runs.items()}
        self.runs = {
            name: PaperRun(count, lambda: 0.0) for name, count in rows.items()
        }  # windows of 8 M rows are large
        return found

    def check_all(self) -> None:
        """Compare the answers with a sample of raw rows, and all contestants of the same windows with each other."""
        first: PaperRun | None = None
        for name, run in self.runs.items():
            if run.answers is None or run.check is None:
                continue
            run.check(run.answers)
            if first is None or first.answers is None:
                first = run
            elif self.case.same_windows:
                rows = min(run.answers.shape[1], first.answers.shape[1])
                np.testing.assert_allclose(
                    run.answers[:, :rows],
                    first.answers[:, :rows],
                    rtol=self.case.tolerance,
                    err_msg=f"{self.case.name}: {name} differs",
                )
