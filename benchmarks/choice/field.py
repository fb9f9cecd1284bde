"""Checks the algorithms of a case and times them in turns."""

from __future__ import annotations

from benchmarks.case import Contestant
from benchmarks.choice.case import ChoiceCase, algorithms_for
from benchmarks.costs import checked, time_all


class ChoiceField:
    """The algorithms of a case, ready to be timed."""

    def __init__(self, case: ChoiceCase) -> None:
        self.case = case
        self.compiled: dict[str, float] = {}

    def counted(self, contestant: Contestant) -> int:  # noqa: ARG002 — all have the same rows
        """Return how many rows a contestant answers, all orders of values together."""
        return self.case.rows * len(self.case.situation.columns)

    def measure(self, repeats: int) -> dict[str, list[float]]:
        """Return the nanoseconds a row of each repeat."""
        runs = checked(self.case.situation, algorithms_for(self.case))
        rows = self.counted(self.case.contestants[0])
        return {name: [one / rows * 1e9 for one in found] for name, found in time_all(runs, repeats).items()}
