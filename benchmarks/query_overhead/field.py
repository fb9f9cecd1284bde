"""Checks and times a case over rows of keys."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.case import Call
from benchmarks.column_case import without_nulls
from benchmarks.field import Field
from benchmarks.query_overhead.case import Loads, OverheadCase, OverheadContestant, RowWindow
from benchmarks.references import REFERENCES, relative_error, sample
from benchmarks.windows.events import events

FEW = 40
A_TENTH = 10
SPAN = 1 << 40
"""Microseconds between neighbouring keys, more than the events span and a window is long."""


class OverheadField(Field[OverheadContestant]):
    """Contestants that answer a window of each row."""

    def __init__(self, case: OverheadCase) -> None:
        super().__init__(case, case.contestants)

    def prepare(self, contestant: OverheadContestant) -> Call:
        """Return the call over the contestant's rows."""
        return contestant.prepare(rows_by_key(contestant.loads, self.counted(contestant)))

    def prepare_few(self, contestant: OverheadContestant) -> Call:
        """Return the call over few rows."""
        return contestant.prepare(rows_by_key(contestant.loads, FEW))

    def compiles(self, contestant: OverheadContestant) -> Hashable:
        """Return what is compiled."""
        return self.case.aggregate, contestant.name, contestant.window

    def check_answers(self, contestant: OverheadContestant, given: Any) -> None:
        """Compare a sample of the answers with those recomputed from raw rows."""
        rows = self.counted(contestant)
        answers = without_nulls(given)
        if len(answers) != rows:
            message = f"{self.case.name}: {contestant.name} gave {len(answers)} answers for {rows} rows."
            raise AssertionError(message)
        right = RightAnswers(rows_by_key(contestant.loads, rows), contestant.window, self.case.aggregate)
        for row in sample(rows, contestant.window.rows or 1_000):
            expected = right.at(row)
            if relative_error(answers[row], expected) > self.case.tolerance:
                message = (
                    f"{self.case.name}: {contestant.name} answers {answers[row]} at row {row}, which is {expected}."
                )
                raise AssertionError(message)


class RightAnswers:
    """The answers of a table, recomputed from the raw rows of each window."""

    def __init__(self, table: pa.Table, window: RowWindow, aggregate: str) -> None:
        self.window = window
        self.aggregate = REFERENCES[aggregate]
        self.loads = table["load"].to_numpy()
        times = table["ts"].cast("int64").to_numpy()
        self.keys = table["household"].to_numpy() if window.keyed else np.zeros(len(times), np.int64)
        self.codes = self.keys * SPAN + (times - times.min())

    def at(self, row: int) -> Any:
        """Return the answer of a row; NaN if its window has too few values."""
        places = np.arange(*self._bounds(row))
        peers = places == row
        if self.window.exclude in ("ties", "group") and self.window.keyed:
            peers |= self.codes[places] == self.codes[row]
        if self.window.exclude is not None:
            places = places[~peers | ((self.window.exclude == "ties") & (places == row))]
        held: npt.NDArray[Any] = self.loads[places]
        held = held[~np.isnan(held)]
        return self.aggregate(held) if len(held) >= self.window.least else np.nan

    def _bounds(self, row: int) -> tuple[int, int]:
        window = self.window
        first = int(np.searchsorted(self.keys, self.keys[row]))
        if window.rows is not None:
            last = int(np.searchsorted(self.keys, self.keys[row], "right"))
            return max(first, row + 1 + window.ahead - window.rows), min(row + 1 + window.ahead, last)
        begin = np.searchsorted(
            self.codes,
            self.codes[row] - (window.microseconds or 0),
            "left" if window.closed in ("left", "both") else "right",
        )
        end = np.searchsorted(self.codes, self.codes[row], "right" if window.closed in ("right", "both") else "left")
        return max(first, int(begin)), int(end)


@lru_cache(maxsize=4)
def rows_by_key(loads: Loads, rows: int) -> pa.Table:
    """Return events sorted by household and time.

    >>> rows_by_key("with nulls", 50)["load"].null_count
    5
    """
    table = events("by key", rows)
    if loads == "all":
        return table
    is_null = np.arange(rows) % A_TENTH == 0
    return table.set_column(2, "load", pa.array(table["load"].to_numpy(), mask=is_null))
