"""Checks and times a case: each round in new processes, whose results must agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.case import Contestant
from benchmarks.first_answer.answer import digest_of
from benchmarks.first_answer.ask_sash import STREAMED, answer, columns
from benchmarks.first_answer.case import FirstCase
from benchmarks.first_answer.data import rows_of
from benchmarks.references import relative_error
from sash.testing import recompute_query

FEW = 1_000
"""Up to this many rows, the result is recomputed from the raw rows of each window."""


class FirstField:
    """The contestants of a case, each in a process of its own."""

    def __init__(self, case: FirstCase) -> None:
        self.case = case
        self.compiled: dict[str, float] = {}

    def counted(self, contestant: Contestant) -> int:  # noqa: ARG002 — all have the same rows
        """Return how many rows a contestant answers."""
        return self.case.rows

    def measure(self, repeats: int) -> dict[str, list[float]]:
        """Return the seconds of each contestant in each round, after the results of the round were compared."""
        case = self.case
        names = [one.name for one in case.contestants]
        expected = self.expected() if case.is_compared else {}
        seconds: dict[str, list[float]] = {name: [] for name in names}
        for _ in range(repeats):
            found = case.round(case.query, case.rows, names)
            self.check(expected | {name: found[name].digest for name in names})
            for name in names:
                seconds[name].append(found[name].seconds)
        return seconds

    def expected(self) -> dict[str, Mapping[str, float]]:
        """Return the digest of the right result: of few rows recomputed, of many rows that of Sash in this process."""
        query, rows = self.case.query, self.case.rows
        if rows <= FEW:
            return {"the result recomputed from raw rows": recomputed(query, rows)}
        return {"Sash in the parent process": digest_of(columns(answer(query, rows_of(rows))))}

    def check(self, digests: Mapping[str, Mapping[str, float]]) -> None:
        """Raise if the results do not come to the same."""
        (first, right), *others = digests.items()
        for name, given in others:
            differ = [key for key in right.keys() | given.keys() if self._differs(key, given, right)]
            if differ:
                key = min(differ)
                message = f"{self.case.name}: {name} has {given.get(key)} {key}, {first} has {right.get(key)}."
                raise AssertionError(message)

    def _differs(self, key: str, given: Mapping[str, float], right: Mapping[str, float]) -> bool:
        return relative_error(given.get(key, np.nan), right.get(key, np.nan)) > self.case.tolerance


def recomputed(query: str, rows: int) -> Mapping[str, float]:
    """Return the digest of the right result, from raw rows."""
    aggregates, window = STREAMED[query]()
    results = recompute_query(rows_of(rows).to_pylist(), aggregates, window, by=["key"], time="ts")
    columns_of_results = {name: [row[name] for row in results] for name in aggregates}
    return digest_of({name: np.array(_numbers(column), float) for name, column in columns_of_results.items()})


def _numbers(column: list[Any]) -> list[Any]:
    """Return the results of a column; the values of maps one after the other."""
    if not isinstance(column[0], dict):
        return column
    return [value for result in column for value in result.values()]
