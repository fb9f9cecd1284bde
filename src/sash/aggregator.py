"""Aggregator: one algorithm for one aggregate, for people who move the window themselves (the papers' SWAG)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sash.aggregates.base import Aggregate
from sash.aggregates.nulls import counting_values
from sash.algorithms import SharedAlgorithm, find_algorithm
from sash.algorithms.fiba import FiBA
from sash.plan.choose import choose_algorithm


class Aggregator:
    """A window that rows enter at one end and leave at the other, and its aggregate at any moment.

    >>> import sash
    >>> from sash import agg
    >>> window = sash.Aggregator(agg.max("price"))
    >>> for price in (7, 3, 5):
    ...     window.insert(price)
    >>> window.query()
    7
    >>> window.evict()
    >>> window.query(), len(window)
    (5, 2)

    With `ranges` the window lets go of rows itself and answers every range from one structure:

    >>> window = sash.Aggregator(agg.sum("amount"), ranges=[2, 3])
    >>> for amount in (1, 2, 3, 4):
    ...     window.insert(amount)
    >>> window.query(last=2), window.query(last=3)
    (7, 9)

    Rows that come out of order have a time, and any stretch of time can be asked for:

    >>> window = sash.Aggregator(agg.concat("letter"), algorithm="fiba")
    >>> for letter, time in (("c", 30), ("a", 10), ("b", 20)):
    ...     window.insert(letter, time=time)
    >>> window.query(), window.query(start=10, end=30)
    ('abc', 'ab')
    """

    def __init__(self, aggregate: Aggregate[Any], algorithm: str = "auto", ranges: Sequence[int] | None = None) -> None:
        """Choose the algorithm, or take the named one, and refuse a pair that can't work."""
        _refuse_what_is_no_aggregate(aggregate)
        self.ranges = _check_ranges(ranges)
        if algorithm == "auto":
            algorithm = choose_algorithm(aggregate, len(self.ranges) or 1).algorithm
        self.aggregate = aggregate
        self.algorithm = find_algorithm(algorithm, aggregate)
        self._limit = max(self.ranges, default=0)
        if self.ranges and issubclass(self.algorithm, FiBA):
            message = "fiba answers times, not numbers of rows: leave ranges out and ask with query(start=…, end=…)."
            raise ValueError(message)
        if len(self.ranges) > 1 and not issubclass(self.algorithm, SharedAlgorithm):
            message = f"{algorithm} answers one range: leave ranges out, or use flatfat, flatfit, b_int or slideside."
            raise ValueError(message)
        self._sees_nulls = self.algorithm.takes_nulls
        self._used = counting_values(aggregate) if self._sees_nulls else aggregate
        self._window = self.algorithm(self._used, self.ranges)
        self._failure: Exception | None = None
        self._begin = 0
        self._end = 0
        self._inserted = 0
        self._inserted_before: dict[int, int] = {}
        """By row: how many partials the algorithm was given before it. Most algorithms never see a null."""

    def insert(self, *values: Any, time: Any = None) -> None:
        """Add the newest row, or the row of a time: one value for each column of the aggregate.

        Cost: that of the algorithm's insert, see `sash.catalogue()`.
        """
        if self.aggregate.inputs == 0:
            values = ()
        elif len(values) != self.aggregate.inputs:
            message = f"{self.aggregate.name} takes {self.aggregate.inputs} value(s) a row, not {len(values)}."
            raise TypeError(message)
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

    def evict(self, *, before: Any = None) -> None:
        """Remove the oldest row, or all rows whose time is less than `before`."""
        if before is not None:
            self._run(self._out_of_order("evict(before=…)").evict, before)
            return
        if len(self) == 0:
            message = "evict: the window is empty, so there is no row to remove."
            raise IndexError(message)
        if isinstance(self._window, FiBA):
            self._run(self._window.evict)
            return
        held_before = self._inserted_before.pop(self._begin)
        self._begin += 1
        if self._inserted_before.get(self._begin, self._inserted) > held_before:
            self._run(self._window.evict)

    def query(self, *, last: int | None = None, start: Any = None, end: Any = None) -> Any:
        """Return the result for the whole window, its `last` rows, or the times from `start` up to before `end`.

        A window with no value gives null (None); a count gives 0.
        """
        if start is not None or end is not None:
            return self._query_between(start, end)
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

    def __len__(self) -> int:
        """Return how many rows are in the window, nulls included."""
        return len(self._window) if isinstance(self._window, FiBA) else self._end - self._begin

    def __repr__(self) -> str:
        """Show the aggregate, the algorithm and the number of rows."""
        columns = ", ".join(self.aggregate.columns)
        return f"<Aggregator {self.aggregate.name}({columns}) by {self._name}, {len(self)} rows>"

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

    @property
    def _name(self) -> str:
        return self.algorithm.about.name

    def _values_in(self, last: int | None) -> int:
        """Return how many partials the newest `last` rows have, all rows if it is None."""
        if last is not None:
            self._refuse_length(last)
        rows = len(self) if last is None else min(last, len(self))
        return self._inserted - self._inserted_before.get(self._end - rows, self._inserted)

    def _refuse_length(self, last: int) -> None:
        if isinstance(last, bool) or not isinstance(last, int) or last < 1:
            message = f"query(last={last!r}): a window has a whole number of rows, at least one."
            raise ValueError(message)
        if self.ranges and last not in self.ranges:
            named = ", ".join(map(str, self.ranges))
            message = f"query(last={last}): this window was made for the ranges {named}; add {last} to ranges=."
            raise ValueError(message)
        if not self.ranges and (not issubclass(self.algorithm, SharedAlgorithm) or self.algorithm.takes_nulls):
            message = f"{self._name} answers what it was made for: to ask for query(last={last}), give ranges=[{last}]."
            raise ValueError(message)

    def _query_between(self, start: Any, end: Any) -> Any:
        window = self._out_of_order("query(start=…, end=…)")
        if start is None or end is None:
            message = "query(start=…, end=…): give both ends of the stretch of time."
            raise ValueError(message)
        try:
            partial = window.query_between(start, end)
        except LookupError:  # no row has such a time
            return self._used.empty
        return self._used.lower(partial)

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


def _refuse_what_is_no_aggregate(aggregate: Any) -> None:
    if not isinstance(aggregate, Aggregate):
        message = f'{aggregate!r} is not an aggregate: give one, as in sash.Aggregator(agg.max("load")).'
        raise TypeError(message)


def _check_ranges(ranges: Sequence[int] | None) -> tuple[int, ...]:
    if ranges is not None and not isinstance(ranges, Sequence):
        message = f"ranges={ranges!r}: give a list of numbers of rows, as in ranges=[{ranges!r}]."
        raise TypeError(message)
    for length in ranges or ():
        if isinstance(length, bool) or not isinstance(length, int) or length < 1:
            message = f"ranges: {length!r} is not a number of rows; each range must be an integer of at least 1."
            raise ValueError(message)
    return tuple(sorted(set(ranges or ())))
