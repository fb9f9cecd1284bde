"""Checks and times a case of aggregates."""

from __future__ import annotations

import math
from collections.abc import Hashable
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.aggregates.calls import CALLS, EXACT, UNCERTAIN, UNORDERED
from benchmarks.aggregates.case import FRAME, KEYS, ROWS_OF_FRAME, AggregateCase, AggregateContestant, rows_of_keys
from benchmarks.case import Call
from benchmarks.field import Field
from benchmarks.references import PEER_TOLERANCE
from sash import agg
from sash.aggregates.base import Aggregate, object_lift, result_of

FEW, SAMPLES = 40, 60


class AggregateField(Field[AggregateContestant]):
    """Contestants that answer windows of 50 keys."""

    case: AggregateCase

    def __init__(self, case: AggregateCase) -> None:
        super().__init__(case, case.contestants)

    def prepare(self, contestant: AggregateContestant) -> Call:
        """Return the call over the contestant's rows."""
        return contestant.prepare(rows_of_keys(self.counted(contestant)))

    def prepare_few(self, contestant: AggregateContestant) -> Call:
        """Return the call over few rows."""
        return contestant.prepare(rows_of_keys(FEW))

    def compiles(self, contestant: AggregateContestant) -> Hashable:
        """Return what is compiled."""
        return self.case.name, contestant.name

    def check_answers(self, contestant: AggregateContestant, given: Any) -> None:
        """Compare a sample of the answers with those recomputed from raw rows."""
        table = rows_of_keys(self.counted(contestant))
        if self.case.windows is FRAME and len(given) != len(table):
            message = f"{self.case.name}: {contestant.name} gave {len(given)} answers for {len(table)} rows."
            raise AssertionError(message)
        aggregate = CALLS[contestant.asked][0] if contestant.asked else agg.max("x")
        of_key = {key: table.filter(pa.compute.equal(table["k"], key)) for key in range(min(KEYS, 3))}
        own = np.flatnonzero(np.isin(given["k"].to_numpy(), list(of_key)))
        for place in own[np.unique(np.linspace(0, len(own) - 1, SAMPLES).astype(int))].tolist():
            row = given.slice(place, 1).to_pylist()[0]
            right = recomputed(aggregate, self._held(of_key[row["k"]], row))
            if not self._is_right(contestant, row["answer"], right):
                message = f"{self.case.name}: {contestant.name} answers {row['answer']} at {row}, which is {right}."
                raise AssertionError(message)

    def _held(self, rows: pa.Table, answer: dict[str, Any]) -> pa.Table:
        """Return the rows of a window, of one key."""
        times = rows["ts"].to_numpy()
        if self.case.windows is FRAME:
            last = int(np.searchsorted(times, np.datetime64(answer["ts"]), "right"))
            return rows.slice(max(0, last - ROWS_OF_FRAME), min(last, ROWS_OF_FRAME))
        bounds = [np.datetime64(answer[name]) for name in ("window_start", "window_end")]
        first, last = np.searchsorted(times, bounds).tolist()
        return rows.slice(first, last - first)

    def _is_right(self, contestant: AggregateContestant, answer: Any, right: Any) -> bool:
        if contestant.role == "sash":
            return same(answer, right, self.case.tolerance)
        if contestant.asked in UNCERTAIN:
            return answer is not None
        if contestant.asked in UNORDERED:
            answer, right = sorted(answer), sorted(right)
        return same(answer, right, PEER_TOLERANCE)


def recomputed(aggregate: Aggregate[Any], rows: pa.Table) -> Any:
    """Return the aggregate of some rows: exactly, or from the functions of its variant for Python objects."""
    columns = [rows[name].to_pylist() for name in aggregate.named_columns]
    if aggregate.name in EXACT:
        return EXACT[aggregate.name](columns[0])
    if len(rows) < max(1, aggregate.result.at_least):
        return aggregate.result.empty
    lift = object_lift(aggregate)
    result = result_of(aggregate, reduce(aggregate.combine, (lift(*values) for values in zip(*columns, strict=True))))
    return list(result.items()) if isinstance(result, dict) else result


def same(answer: Any, right: Any, tolerance: float) -> bool:
    """Return whether an answer is right; numbers may differ by a share of the larger one, and of 1 if they are smaller.

    >>> same([1.0, None], [1.0 + 1e-12, None], 1e-9), same("a", "b", 1), same(float("nan"), None, 0)
    (True, False, True)
    """
    if isinstance(right, list | tuple):
        if answer is None:
            return False
        return len(answer) == len(right) and all(same(*both, tolerance) for both in zip(answer, right, strict=True))
    if isinstance(right, float | int) and not isinstance(right, bool):
        is_missing = [value is None or math.isnan(value) for value in (answer, right)]
        if any(is_missing):
            return all(is_missing)
        return bool(abs(answer - right) <= tolerance * max(1.0, abs(right)))
    return answer is None or math.isnan(answer) if right is None else bool(answer == right)
