"""Compares the answers of all contestants to a question, then times them."""

from __future__ import annotations

from collections.abc import Hashable
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.case import Call, Contestant
from benchmarks.field import Field
from benchmarks.questions.case import QuestionCase, TableQuestion
from benchmarks.questions.libraries import LIBRARIES, SASH, recomputed

FEW = 300
"""On so many rows each answer is compared with the one recomputed from raw rows."""


class QuestionField(Field[Contestant]):
    """Contestants that answer a question."""

    def __init__(self, case: QuestionCase) -> None:
        self.question = case.question
        self.tolerances = {"Sash": case.tolerance}
        self.peer_tolerance = case.peer_tolerance
        self._right: dict[int, pa.Table] = {}
        super().__init__(case, case.contestants)

    def counted(self, contestant: Contestant) -> int:
        """Return how many rows a contestant answers: a table may have fewer than are asked for."""
        return int(self.question.rows_of(super().counted(contestant)).num_rows)

    def prepare(self, contestant: Contestant) -> Call:
        """Return the call over the contestant's rows."""
        library, question = LIBRARIES[contestant.name], self.question
        loaded = library.load(question.rows_of, self.counted(contestant))
        return lambda: library.compute(question, loaded)

    def prepare_few(self, contestant: Contestant) -> Call:  # noqa: ARG002 — only Sash compiles
        """Return the call that compiles."""
        few = SASH.load(self.question.rows_of, FEW)
        return lambda: SASH.compile(self.question, few)

    def compiles(self, contestant: Contestant) -> Hashable:
        """Return the question."""
        return self.question.name, contestant.name

    def check_all(self) -> None:
        """Compare all answers; this warms the contestants up too."""
        for contestant in self.contestants:
            start = perf_counter()
            given = self._answers(contestant.name, self.counted(contestant))
            self.seconds[contestant.name] = perf_counter() - start
            self.check_answers(contestant, given)

    def check_answers(self, contestant: Contestant, given: pa.Table) -> None:
        """Compare answers to few rows with those recomputed from raw rows, and answers to all rows with Sash's."""
        tolerance = self.tolerances.get(contestant.name, self.peer_tolerance)
        rows = self.counted(contestant)
        few = min(FEW, rows)
        if contestant.name == "Sash" and rows > few:
            self._right[rows] = given  # what peers are compared with
        for asked, answers in {few: self._answers(contestant.name, few), rows: given}.items():
            try:
                compare(self.question, answers, self._expected(asked), tolerance)
            except AssertionError as error:
                message = f"{self.case.name}: {contestant.name} is wrong on {asked:,} rows. {error}"
                raise AssertionError(message) from None

    def _answers(self, name: str, rows: int) -> pa.Table:
        library = LIBRARIES[name]
        return library.answers(self.question, library.load(self.question.rows_of, rows))

    def _expected(self, rows: int) -> pa.Table:
        """Return the right answers: of few rows recomputed, of many rows those of Sash, which were right on few."""
        if rows not in self._right:
            few = rows <= FEW
            self._right[rows] = recomputed(self.question, rows) if few else self._answers("Sash", rows)
        return self._right[rows]


def compare(question: TableQuestion, given: pa.Table, right: pa.Table, tolerance: float) -> None:
    """Raise if an answer is missing, is of nothing asked for, or is wrong."""
    places, expected_places = _order(question, given), _order(question, right)
    for name in question.identify:
        found, expected = (_column(one, name)[order] for one, order in ((given, places), (right, expected_places)))
        if not np.array_equal(found, expected):
            message = f"{len(found):,} answers where {len(expected):,} are right, or others: they differ in {name}."
            raise AssertionError(message)
    for name in question.answers:
        found, expected = (_numbers(one, name)[order] for one, order in ((given, places), (right, expected_places)))
        size = np.nanmax(np.abs(expected), initial=0.0)
        wrong = ~np.isclose(found, expected, rtol=tolerance, atol=tolerance * min(size, 1.0), equal_nan=True)
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            where = {key: _column(right, key)[expected_places][at] for key in question.identify}
            message = f"{int(wrong.sum()):,} answers: {found[at]} is {name} at {where}, which is {expected[at]} (tolerance {tolerance:g})."
            raise AssertionError(message)


def _order(question: TableQuestion, table: pa.Table) -> npt.NDArray[Any]:
    return np.lexsort([_column(table, name) for name in reversed(question.identify)])


def _column(table: pa.Table, name: str) -> npt.NDArray[Any]:
    """Return a column that tells answers apart, its times in microseconds."""
    column = table[name]
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz)).cast("int64")
    return np.asarray(column.to_numpy().astype(str) if pa.types.is_string(column.type) else column.to_numpy())


def _numbers(table: pa.Table, name: str) -> npt.NDArray[Any]:
    """Return a column of answers: null and NaN are the same here, since pandas has no other null."""
    return np.asarray(table[name].cast("float64").to_numpy(zero_copy_only=False))
