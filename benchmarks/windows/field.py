"""Checks and times a case over tables."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.case import Call
from benchmarks.field import Field
from benchmarks.windows.case import TableCase, TableContestant
from benchmarks.windows.events import events
from benchmarks.windows.references import PEER_TOLERANCE, Answers

FEW = 40


class TableField(Field[TableContestant]):
    """Contestants that answer windows over tables."""

    def __init__(self, case: TableCase) -> None:
        super().__init__(case, case.contestants)

    def prepare(self, contestant: TableContestant) -> Call:
        """Return the call over the contestant's rows."""
        return contestant.prepare(events(contestant.events, self.counted(contestant)), contestant.windows)

    def prepare_few(self, contestant: TableContestant) -> Call:
        """Return the call over few rows."""
        return contestant.prepare(events(contestant.events, FEW), contestant.windows)

    def compiles(self, contestant: TableContestant) -> Hashable:
        """Return the windows: what they need is compiled for the same aggregates."""
        return tuple(contestant.windows.values()), contestant.algorithm

    def check_answers(self, contestant: TableContestant, given: Any) -> None:
        """Compare with all windows there are, a sample of them recomputed."""
        answers = _answers(contestant.events, self.counted(contestant))
        tolerance = self.case.tolerance if contestant.role == "sash" else PEER_TOLERANCE
        table: pa.Table = given.to_arrow() if hasattr(given, "to_arrow") else given
        shares = len(contestant.windows)
        for name, window in contestant.windows.items():
            own = table.filter(pc.equal(table["window"], name)) if shares > 1 else table
            try:
                answers.check(window, own, tolerance, shares)
            except AssertionError as error:
                message = f"{self.case.name}, {window}: {contestant.name} is wrong. {error}"
                raise AssertionError(message) from None


@lru_cache(maxsize=4)
def _answers(name: str, rows: int) -> Answers:
    return Answers(events(name, rows))
