"""Windows of Python objects: the algorithm's class, interpreted. One class for rows in order, one for rows with times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sash.aggregates.base import Aggregate, object_lift, result_of
from sash.aggregates.nulls import counting_values
from sash.algorithms import Algorithm, FiBA, SharedAlgorithm


def refuse_time(algorithm: type[Algorithm[Any]], time: Any) -> None:
    """Raise ValueError if a row has a time, and the algorithm takes rows in order."""
    if time is not None:
        raise ValueError(f'{algorithm.about.name} takes rows in order. Leave time out, or use algorithm="fiba".')


def no_times(call: str) -> ValueError:
    """Return the error of a call that needs rows with times."""
    return ValueError(f'{call} needs rows with times. Use algorithm="fiba".')


@dataclass(eq=False)
class HeldWindow:
    """The window of an Aggregator: what windows of objects and compiled windows have in common. It begins empty."""

    aggregate: Aggregate[Any]
    algorithm: type[Algorithm[Any]]
    ranges: tuple[int, ...]
    """The announced lengths."""
    limit: int
    """The maximum number of rows; 0 if there is none."""
    _failure: Exception | None = field(default=None, init=False)
    _row = ""
    """The newest row, for notes of errors."""
    rows_before = 0
    """How many rows the Aggregator had before this window: `evict(at=…)` counts them too."""
    is_compiled = False
    holds_untyped_nulls = False
    """Whether a compiled window holds only nulls, from columns without a type."""

    def __post_init__(self) -> None:
        self._used = counting_values(self.aggregate) if self.algorithm.takes_nulls else self.aggregate
        """The form of the aggregate that the algorithm computes."""

    @property
    def rows_so_far(self) -> int:
        """The number of rows that were ever inserted, those before this window included."""
        raise NotImplementedError

    def insert(self, values: tuple[Any, ...], time: Any = None) -> None:
        """Add the newest row, or a row with a time. If the window is at its limit, evict the oldest row."""
        raise NotImplementedError

    def insert_many(self, rows: list[Any]) -> None:
        """Add rows, in the form that the window holds."""
        raise NotImplementedError

    def slide(self, rows: list[Any], lengths: tuple[int, ...]) -> list[Any]:
        """Add rows and return, for each length, the results after each row."""
        raise NotImplementedError

    def evict(self, before: Any = None) -> None:
        """Remove the oldest row, or all rows whose time is less than `before`."""
        raise NotImplementedError

    def evict_at(self, position: int) -> None:  # noqa: ARG002 — for windows that evict any row
        """Remove the row that was inserted as number `position`."""
        name = self.algorithm.about.name
        raise ValueError(f'{name} does not evict rows by position. evict(at=…) needs algorithm="reactive_aggregator".')

    def query(self, last: int | None = None) -> Any:
        """Return the result for the whole window or its `last` rows."""
        raise NotImplementedError

    def query_between(self, start: Any, end: Any) -> Any:  # noqa: ARG002 — for windows of rows with times
        """Return the result for the times from `start` up to before `end`."""
        raise no_times("query(start=…, end=…)")

    def __len__(self) -> int:
        """Return the number of rows in the window, nulls included."""
        raise NotImplementedError

    def _run(self, operation: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call the algorithm. After an error in combine its state is half changed, so the window is never used again."""
        self._refuse_if_lost()
        try:
            with self._noting("combining up to"):
                return operation(*arguments, **options)
        except Exception as error:
            self._failure = error
            raise

    @contextmanager
    def _noting(self, step: str) -> Iterator[None]:
        """Add the aggregate, the step and the row to an error of the aggregate's functions."""
        try:
            yield
        except Exception as error:
            if self._row:  # machine code names the row itself
                error.add_note(f"{self.aggregate.label} failed while {step} {self._row}.")
            raise

    def _lower(self, partial: Any) -> Any:
        with self._noting("lowering the window that ends with"):
            return result_of(self._used, partial)

    def _lower_if_enough(self, values: int, query: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of a query of the algorithm; that of an empty window if there are too few values."""
        if values < self._used.result.rows_needed:
            return self._used.result.empty
        self._check_stored(values)
        return self._lower(self._run(query, *arguments))

    def _check_stored(self, rows: int) -> None:
        """Raise ValueError if the algorithm answers only its ranges, and all of them hold fewer rows."""
        most = max(self.ranges, default=rows)
        if rows > most and self.algorithm.answers_ranges and not self.algorithm.answers_any_length:
            raise ValueError(
                f"{self.algorithm.about.name} stores the newest {most} rows at most, not {rows}. Evict rows before the query, "
                "or pass ranges=[…] to the Aggregator."
            )

    def _refuse_if_lost(self) -> None:
        if self._failure is not None:
            raise RuntimeError(
                f"An earlier error in {self.aggregate.name} left this window incomplete. Make a new Aggregator."
            ) from self._failure


class ObjectWindow(HeldWindow):
    """Rows in order. It counts rows and values separately, because most algorithms never see a null."""

    _begin = 0
    """No row before this one is in the window."""
    _end = 0
    _inserted = 0
    _values = 0
    """The number of partials in the window."""
    _column_start = 0
    """The number of rows before the current column, for notes of errors."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._lift = object_lift(self._used)
        self._window: Any = self.algorithm(self._used, self.ranges)
        self._rows: dict[int, tuple[int, bool]] = {}
        """By row in the window: the number of partials that were inserted before it, and whether it has one itself."""

    def insert(self, values: tuple[Any, ...], time: Any = None) -> None:
        """Add the newest row."""
        is_value = self.algorithm.takes_nulls or all(value is not None for value in values)
        self._row = f"row {self._end - self._column_start}"
        with self._noting("lifting"):  # nothing has changed yet
            partial = self._lift(*map(_python_number, values)) if is_value else None
        refuse_time(self.algorithm, time)
        if self.limit and len(self) == self.limit:
            self.evict()
        if is_value:
            self._run(self._window.insert, partial)
        self._rows[self._end] = self._inserted, is_value
        self._end += 1
        self._inserted += is_value
        self._values += is_value

    def insert_many(self, rows: list[Any]) -> None:
        """Add rows."""
        self._column_start = self._end
        for row in rows:
            self.insert(row)
        self._column_start = 0

    def slide(self, rows: list[Any], lengths: tuple[int, ...]) -> list[Any]:
        """Add rows and return, for each length, the results after each row."""
        results: list[list[Any]] = [[] for _ in lengths]
        widest = self.limit or max(lengths)
        self._column_start = self._end
        for row in rows:
            while len(self) >= widest:
                self.evict()
            self.insert(row)
            for column, length in zip(results, lengths, strict=True):
                column.append(self.query(None if length == widest else length))
        self._column_start = 0
        return results

    def evict(self, before: Any = None) -> None:
        """Remove the oldest row."""
        if before is not None:
            raise no_times("evict(before=…)")
        while self._begin not in self._rows:
            self._begin += 1
        self._evict_row(self._begin)

    def evict_to(self, row: int) -> None:
        """Remove all rows before a row, which is counted from the first one inserted."""
        while self._rows and self._end - len(self._rows) < row:
            self.evict()

    def evict_at(self, position: int) -> None:
        """Remove the row that was inserted as number `position`. Raise IndexError if it is not in the window."""
        if not self.algorithm.evicts_any:
            super().evict_at(position)
        if position - self.rows_before not in self._rows:
            raise IndexError(
                f"evict(at={position}): this row is not in the window, which has had {self.rows_so_far} rows so far."
            )
        self._evict_row(position - self.rows_before)

    def _evict_row(self, row: int) -> None:
        position, is_value = self._rows.pop(row)
        self._values -= is_value
        if is_value and self.algorithm.evicts_any:
            self._run(self._window.evict_at, position)
        elif is_value:
            self._run(self._window.evict)

    def query(self, last: int | None = None) -> Any:
        """Return the result for the whole window or its `last` rows."""
        values = self._values
        if last is not None and last < len(self) and not self.algorithm.evicts_any:  # which answers no other length
            values = self._inserted - self._rows[self._end - last][0]
        if self._used.result.of_newest and not (self._rows and next(reversed(self._rows.values()))[1]):
            return self._used.result.empty  # the newest row has no value
        if last is not None and isinstance(self._window, SharedAlgorithm):
            return self._lower_if_enough(values, self._window.query_last, values)
        return self._lower_if_enough(values, self._window.query)

    @property
    def rows_so_far(self) -> int:
        """The number of rows that were ever inserted, those before this window included."""
        return self.rows_before + self._end

    def __len__(self) -> int:
        """Return the number of rows in the window, nulls included."""
        return len(self._rows)


class TimedWindow(HeldWindow):
    """Rows with times, in any order, by FiBA."""

    _rows = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._window: FiBA[Any] = FiBA(self._used)

    def insert(self, values: tuple[Any, ...], time: Any = None) -> None:
        """Add the row of a time."""
        self._row = f"the row of time {time!r}"
        with self._noting("lifting"):
            partial = self._used.lift(*map(_python_number, values))
        self._run(self._window.insert, partial, time)
        self._rows += 1

    @property
    def rows_so_far(self) -> int:
        """The number of rows that were ever inserted."""
        return self._rows

    def evict(self, before: Any = None) -> None:
        """Remove the oldest row, or all rows whose time is less than `before`."""
        self._run(self._window.evict, before)

    def query(self, last: int | None = None) -> Any:
        """Return the result for the whole window."""
        if last is not None:
            raise ValueError("fiba answers intervals of time. Call query(start=…, end=…) instead of query(last=…).")
        return self._lower_if_enough(len(self), self._window.query)

    def query_between(self, start: Any, end: Any) -> Any:
        """Return the result for the times from `start` up to before `end`."""
        if start is None or end is None:
            raise ValueError("query needs both start= and end=.")
        try:
            partial = self._window.query_between(start, end)
        except LookupError:  # no row has a time in the interval
            return self._used.result.empty
        return self._lower(partial)

    def __len__(self) -> int:
        """Return the number of rows in the window, nulls included."""
        return len(self._window)


def _python_number(value: Any) -> Any:
    """Convert NumPy's numbers, which wrap around silently, to Python's."""
    if type(value).__module__ == "numpy" and getattr(value, "dtype", None) is not None and value.dtype.kind in "biuf":
        return value.item() if value.ndim == 0 else value
    return value
