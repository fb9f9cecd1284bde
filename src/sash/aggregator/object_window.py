"""Windows of Python objects: the algorithm's class, interpreted. One class for rows in order, one for rows with times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn

from sash.aggregates.base import Aggregate, object_lift, result_of
from sash.aggregates.nulls import counting_values
from sash.algorithms import Algorithm

PYTHON_TYPES = frozenset((float, int, bool, str, bytes))
"""The types of values that are lifted as they are. Others may be null, or a number of NumPy."""
NO_LIMIT = 2**62


def refuse_time(algorithm: type[Algorithm[Any]], time: Any) -> None:
    """Raise ValueError if a row has a time, and the algorithm takes rows in order."""
    if time is not None:
        raise ValueError(f'{algorithm.about.name} takes rows in order. Leave time out, or use algorithm="fiba".')


def no_times(call: str) -> ValueError:
    """Return the error of a call that needs rows with times."""
    return ValueError(f'{call} needs rows with times. Use algorithm="fiba".')


def no_row() -> IndexError:
    """Return the error of an eviction from an empty window."""
    return IndexError("evict: the window is empty, so there is no row to remove.")


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
    rows_before = 0
    """How many rows the Aggregator had before this window: `evict(at=…)` counts them too."""
    is_compiled = False
    holds_untyped_nulls = False
    """Whether a compiled window holds only nulls, from columns without a type."""

    def __post_init__(self) -> None:
        """Make the state of an empty window: each form of windows has another."""

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
        """Remove the oldest row, or all rows whose time is less than `before`. Raise IndexError if there is no row."""
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

    def _check_stored(self, rows: int) -> None:
        """Raise ValueError if the algorithm answers only its ranges, and all of them hold fewer rows."""
        most = max(self.ranges, default=rows)
        if rows > most and self.algorithm.answers_ranges and not self.algorithm.answers_any_length:
            raise ValueError(
                f"{self.algorithm.about.name} stores the newest {most} rows at most, not {rows}. Evict rows before the query, "
                "or pass ranges=[…] to the Aggregator."
            )

    def _refuse_if_lost(self) -> None:
        """Raise RuntimeError after an error in combine: the state is half changed, so the window is never used again."""
        if self._failure is not None:
            raise RuntimeError(
                f"An earlier error in {self.aggregate.name} left this window incomplete. Make a new Aggregator."
            ) from self._failure


class InterpretedWindow(HeldWindow):
    """Rows of Python objects. An event calls few functions, because each call takes as long as a comparison of numbers."""

    def __post_init__(self) -> None:
        used = counting_values(self.aggregate) if self.algorithm.takes_nulls else self.aggregate
        self._used = used
        """The form of the aggregate that the algorithm computes."""
        self._lift = object_lift(used)
        self._lower = used.lower if used.result.finish is None else partial(result_of, used)
        self._needed = used.result.rows_needed
        self._window: Any = self.algorithm(used, self.ranges)
        # After an error in combine, a function that raises replaces these.
        self._insert: Callable[..., None] = self._window.insert
        self._evict: Callable[..., None] = self._window.evict
        self._query: Callable[..., Any] = self._window.query
        self._query_last: Callable[..., Any] = getattr(self._window, "query_last", self._query)

    def _newest(self) -> str:
        """Return the name of the newest row, for notes of errors."""
        raise NotImplementedError

    def _note(self, error: Exception, step: str, row: str) -> None:
        """Add the aggregate, the step and the row to an error of the aggregate's functions."""
        error.add_note(f"{self.aggregate.label} failed while {step} {row}.")

    def _lose(self, error: Exception, row: str = "") -> None:
        """Refuse all later calls of the algorithm, and add a note to an error of its combine."""
        if self._failure is None:
            self._note(error, "combining up to", row or self._newest())
            self._failure = error
            self._insert = self._evict = self._query = self._query_last = self._refuse

    def _refuse(self, *_: Any) -> NoReturn:
        self._refuse_if_lost()
        raise AssertionError

    def _result(self, query: Callable[..., Any], *arguments: Any) -> Any:
        """Return the lowered result of a query of the algorithm."""
        try:
            total = query(*arguments)
        except Exception as error:
            self._lose(error)
            raise
        return self._lowered(total)

    def _lowered(self, total: Any) -> Any:
        try:
            return self._lower(total)
        except Exception as error:
            self._note(error, "lowering the window that ends with", self._newest())
            raise


class ObjectWindow(InterpretedWindow):
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
        self._takes_nulls, self._evicts_any = self.algorithm.takes_nulls, self.algorithm.evicts_any
        self._of_newest, self._answers_ranges = self._used.result.of_newest, self.algorithm.answers_ranges
        self._evict = self._window.evict_at if self._evicts_any else self._window.evict
        limited = self.algorithm.answers_ranges and not self.algorithm.answers_any_length
        self._most = max(self.ranges, default=NO_LIMIT) if limited else NO_LIMIT
        """The number of values up to which the algorithm answers."""
        self._rows: dict[int, int] = {}
        """By row in the window: the number n of partials that were inserted before it, or ~n if the row has none itself."""

    def insert(self, values: tuple[Any, ...], time: Any = None) -> None:
        """Add the newest row."""
        if time is not None:
            refuse_time(self.algorithm, time)
        is_value = True
        for value in values:
            if type(value) not in PYTHON_TYPES:
                values = tuple(map(_python_number, values))
                is_value = self._takes_nulls or all(value is not None for value in values)
                break
        row = self._end
        if is_value:
            try:
                lifted = self._lift(*values)
            except Exception as error:  # nothing has changed yet
                self._note(error, "lifting", self._name_of(row))
                raise
        if self.limit and len(self._rows) == self.limit:
            self.evict()
        if is_value:
            try:
                self._insert(lifted)
            except Exception as error:
                self._lose(error, self._name_of(row))
                raise
            self._rows[row] = self._inserted
            self._inserted += 1
            self._values += 1
        else:
            self._rows[row] = ~self._inserted
        self._end = row + 1

    def insert_many(self, rows: list[Any]) -> None:
        """Add rows."""
        self._column_start = self._end
        try:
            for row in rows:
                self.insert(row)
        finally:
            self._column_start = 0

    def slide(self, rows: list[Any], lengths: tuple[int, ...]) -> list[Any]:
        """Add rows and return, for each length, the results after each row."""
        results: list[list[Any]] = [[] for _ in lengths]
        widest = self.limit or max(lengths)
        self._column_start = self._end
        try:
            for row in rows:
                while len(self) >= widest:
                    self.evict()
                self.insert(row)
                for column, length in zip(results, lengths, strict=True):
                    column.append(self.query(None if length == widest else length))
        finally:
            self._column_start = 0
        return results

    def evict(self, before: Any = None) -> None:
        """Remove the oldest row."""
        if before is not None:
            raise no_times("evict(before=…)")
        if not self._rows:
            raise no_row()
        row = self._begin
        while (position := self._rows.pop(row, None)) is None:  # a row that `evict_at` removed
            row += 1
        self._begin = row + 1
        if position >= 0:
            self._evict_value(position)

    def evict_to(self, row: int) -> None:
        """Remove all rows before a row, which is counted from the first one inserted."""
        while self._rows and self._end - len(self._rows) < row:
            self.evict()

    def evict_at(self, position: int) -> None:
        """Remove the row that was inserted as number `position`. Raise IndexError if it is not in the window."""
        if not self._evicts_any:
            super().evict_at(position)
        if position - self.rows_before not in self._rows:
            raise IndexError(
                f"evict(at={position}): this row is not in the window, which has had {self.rows_so_far} rows so far."
            )
        inserted = self._rows.pop(position - self.rows_before)
        if inserted >= 0:
            self._evict_value(inserted)

    def _evict_value(self, position: int) -> None:
        self._values -= 1
        try:
            if self._evicts_any:
                self._evict(position)
            else:
                self._evict()
        except Exception as error:
            self._lose(error)
            raise

    def query(self, last: int | None = None) -> Any:
        """Return the result for the whole window or its `last` rows."""
        values = self._values
        if last is not None and last < len(self._rows) and not self._evicts_any:  # which answers no other length
            position = self._rows[self._end - last]
            values = self._inserted - (position if position >= 0 else ~position)
        if values < self._needed or (self._of_newest and next(reversed(self._rows.values())) < 0):
            return self._used.result.empty  # too few values, or the newest row has none
        if values > self._most:
            self._check_stored(values)
        if last is not None and self._answers_ranges:
            return self._result(self._query_last, values)
        return self._result(self._query)

    def _newest(self) -> str:
        return self._name_of(self._end - 1)

    def _name_of(self, row: int) -> str:
        return f"row {row - self._column_start}"

    @property
    def rows_so_far(self) -> int:
        """The number of rows that were ever inserted, those before this window included."""
        return self.rows_before + self._end

    def __len__(self) -> int:
        """Return the number of rows in the window, nulls included."""
        return len(self._rows)


class TimedWindow(InterpretedWindow):
    """Rows with times, in any order, by FiBA."""

    _inserted = 0
    _newest_time: Any = None
    """The time of the row that was inserted last."""

    def insert(self, values: tuple[Any, ...], time: Any = None) -> None:
        """Add the row of a time."""
        self._newest_time = time
        try:
            lifted = self._lift(*map(_python_number, values))
        except Exception as error:
            self._note(error, "lifting", self._newest())
            raise
        try:
            self._insert(lifted, time)
        except Exception as error:
            self._lose(error)
            raise
        self._inserted += 1

    def insert_many(self, rows: list[Any]) -> None:
        """Add rows with times, given as pairs of a time and the values."""
        lifted = []
        for time, values in rows:
            self._newest_time = time
            try:
                lifted.append((time, self._lift(*map(_python_number, values))))
            except Exception as error:  # nothing has changed yet
                self._note(error, "lifting", self._newest())
                raise
        self._refuse_if_lost()
        try:
            self._window.insert_many(lifted)
        except Exception as error:
            self._lose(error)
            raise
        self._inserted += len(rows)

    def slide_times(self, rows: list[Any], times: list[int], length: int) -> list[Any]:
        """Add rows in order of arrival, and return after each the result of the times after newest - length."""
        results = []
        for values, time in zip(rows, times, strict=True):
            newest = time if len(self) == 0 else max(time, self._window.newest)
            if time > newest - length:
                self.insert(values, time)
            self._evict_before(newest - length + 1)
            results.append(self.query())
        return results

    def _evict_before(self, time: Any) -> None:
        if len(self):
            self.evict(time)

    def _newest(self) -> str:
        return f"the row of time {self._newest_time!r}"

    @property
    def rows_so_far(self) -> int:
        """The number of rows that were ever inserted."""
        return self._inserted

    def evict(self, before: Any = None) -> None:
        """Remove the oldest row, or all rows whose time is less than `before`."""
        if before is None and len(self) == 0:
            raise no_row()
        try:
            self._evict(before)
        except Exception as error:
            self._lose(error)
            raise

    def query(self, last: int | None = None) -> Any:
        """Return the result for the whole window."""
        if last is not None:
            raise ValueError("fiba answers intervals of time. Call query(start=…, end=…) instead of query(last=…).")
        return self._result(self._query) if len(self) >= self._needed else self._used.result.empty

    def query_between(self, start: Any, end: Any) -> Any:
        """Return the result for the times from `start` up to before `end`."""
        if start is None or end is None:
            raise ValueError("query needs both start= and end=.")
        self._refuse_if_lost()
        try:
            total = self._window.query_between(start, end)
        except LookupError:  # no row has a time in the interval
            return self._used.result.empty
        return self._lowered(total)

    def __len__(self) -> int:
        """Return the number of rows in the window, nulls included."""
        return len(self._window)


def _python_number(value: Any) -> Any:
    """Convert NumPy's numbers, which wrap around silently, to Python's."""
    if type(value).__module__ == "numpy" and getattr(value, "dtype", None) is not None and value.dtype.kind in "biuf":
        return value.item() if value.ndim == 0 else value
    return value
