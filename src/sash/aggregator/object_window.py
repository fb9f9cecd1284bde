"""A window of Python objects: the algorithm's class as it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sash.aggregates.base import Aggregate
from sash.aggregates.nulls import counting_values
from sash.algorithms import Algorithm, SharedAlgorithm
from sash.algorithms.fiba import FiBA


class Interpreted:
    """Keeps track of rows and of which of them have a value, since most algorithms never see a null."""

    def __init__(
        self, aggregate: Aggregate[Any], algorithm: type[Algorithm[Any]], ranges: tuple[int, ...], limit: int = 0
    ) -> None:
        self.aggregate = aggregate
        self.algorithm = algorithm
        self._sees_nulls = algorithm.takes_nulls
        self._used = counting_values(aggregate) if self._sees_nulls else aggregate
        self._window = algorithm(self._used, ranges)
        self.ranges = ranges
        self._limit = limit
        self._failure: Exception | None = None
        self._begin = 0
        self._end = 0
        self._inserted = 0
        self._inserted_before: dict[int, int] = {}
        """By row: how many partials the algorithm was given before it."""

    def insert(self, values: tuple[Any, ...], time: Any = None) -> None:
        """Add the newest row, or the row of a time; where the window is as long as its limit, if it has one, the oldest goes."""
        skipped = not self._sees_nulls and any(value is None for value in values)
        partial = None if skipped else self._used.lift(*map(_without_limits, values))  # may raise: nothing changed yet
        if isinstance(self._window, FiBA):
            self._run(self._window.insert, partial, time)
            return
        if time is not None:
            message = f'{self._name} takes rows in order: leave time out, or use algorithm="fiba".'
            raise ValueError(message)
        if self._limit and len(self) == self._limit:
            self.evict()
        if not skipped:
            self._run(self._window.insert, partial)
        self._inserted_before[self._end] = self._inserted
        self._inserted += not skipped
        self._end += 1

    def evict(self, before: Any = None) -> None:
        """Remove the oldest row, or all rows whose time is less than `before`."""
        if before is not None:
            self._run(self._out_of_order("evict(before=…)").evict, before)
            return
        if isinstance(self._window, FiBA):
            self._run(self._window.evict)
            return
        held_before = self._inserted_before.pop(self._begin)
        self._begin += 1
        if self._inserted_before.get(self._begin, self._inserted) > held_before:
            self._run(self._window.evict)

    def query(self, last: int | None = None) -> Any:
        """Return the result for the whole window or its `last` rows."""
        if isinstance(self._window, FiBA):
            if last is not None:
                message = "fiba answers times: query(start=…, end=…), not query(last=…)."
                raise ValueError(message)
            held = len(self._window)
        else:
            held = self._values_in(last)
        if held < max(1, self._used.at_least):
            return self._used.empty
        if last is not None and isinstance(self._window, SharedAlgorithm):
            return self._used.lower(self._run(self._window.query_last, held))
        return self._used.lower(self._run(self._window.query))

    def query_between(self, start: Any, end: Any) -> Any:
        """Return the result for the times from `start` up to before `end`."""
        window = self._out_of_order("query(start=…, end=…)")
        if start is None or end is None:
            message = "query(start=…, end=…): give both ends of the stretch of time."
            raise ValueError(message)
        try:
            partial = window.query_between(start, end)
        except LookupError:  # no row has such a time
            return self._used.empty
        return self._used.lower(partial)

    def __len__(self) -> int:
        """Return how many rows are in the window, nulls included."""
        return len(self._window) if isinstance(self._window, FiBA) else self._end - self._begin

    @property
    def _name(self) -> str:
        return self.algorithm.about.name

    def _values_in(self, last: int | None) -> int:
        """Return how many partials the newest `last` rows have, all rows if it is None."""
        rows = len(self) if last is None else min(last, len(self))
        return self._inserted - self._inserted_before.get(self._end - rows, self._inserted)

    def _run(self, operation: Callable[..., Any], *arguments: Any) -> Any:
        """Let the algorithm work; if combine raises on the way, its state is half changed and never to be used again."""
        if self._failure is not None:
            message = (
                f"combine of {self.aggregate.name} raised an error before, so this window is lost: make a new one."
            )
            raise RuntimeError(message) from self._failure
        try:
            return operation(*arguments)
        except Exception as error:
            self._failure = error
            raise

    def _out_of_order(self, call: str) -> FiBA[Any]:
        if not isinstance(self._window, FiBA):
            message = f'{call} needs rows with times: use algorithm="fiba".'
            raise ValueError(message)
        return self._window


def _without_limits(value: Any) -> Any:
    """Return NumPy's numbers, which wrap around silently, as Python's."""
    if type(value).__module__ == "numpy" and getattr(value, "dtype", None) is not None and value.dtype.kind in "biuf":
        return value.item() if value.ndim == 0 else value
    return value
