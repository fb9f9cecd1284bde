"""Checks and times a case of filters or weights."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from benchmarks.case import Call
from benchmarks.column_case import without_nulls
from benchmarks.field import Field
from benchmarks.filters_and_weights.case import MOST_READ, Frame, WeightCase, WeightContestant, rows_in_time
from benchmarks.references import PEER_TOLERANCE, relative_error, sample

FEW = 40


class WeightField(Field[WeightContestant]):
    """Contestants that answer a window of each row."""

    case: WeightCase

    def __init__(self, case: WeightCase) -> None:
        super().__init__(case, case.contestants)

    def prepare(self, contestant: WeightContestant) -> Call:
        """Return the call over the contestant's rows."""
        return contestant.prepare(rows_in_time(self.counted(contestant)))

    def prepare_few(self, contestant: WeightContestant) -> Call:
        """Return the call over few rows."""
        return contestant.prepare(rows_in_time(FEW))

    def compiles(self, contestant: WeightContestant) -> Hashable:
        """Return what is compiled."""
        return self.case.name, contestant.name

    def check_answers(self, contestant: WeightContestant, given: Any) -> None:
        """Compare a sample of the answers with those recomputed from raw rows."""
        rows = self.counted(contestant)
        answers = without_nulls(given)
        if len(answers) != rows:
            message = f"{self.case.name}: {contestant.name} gave {len(answers)} answers for {rows} rows."
            raise AssertionError(message)
        table = rows_in_time(rows)
        times, loads, amounts = (table[name].to_numpy() for name in table.column_names)
        times = times.astype(np.int64)
        tolerance = self.case.tolerance if contestant.role == "sash" else PEER_TOLERANCE
        is_whole = self.case.frame == Frame()
        chosen = [*sample(min(rows, MOST_READ), MOST_READ), rows - 1] if is_whole else sample(rows, 1_000)
        for row in chosen:
            held = slice(self._begin(times, row), row + 1)
            expected = contestant.right(times[held], loads[held], amounts[held])
            if relative_error(answers[row], expected) > tolerance:
                message = (
                    f"{self.case.name}: {contestant.name} answers {answers[row]} at row {row}, which is {expected}."
                )
                raise AssertionError(message)

    def _begin(self, times: Any, row: int) -> int:
        frame = self.case.frame
        if frame.rows is not None:
            return max(0, row + 1 - frame.rows)
        if frame.microseconds is not None:
            return int(np.searchsorted(times, times[row] - frame.microseconds, "right"))
        return 0
