"""Windows of Python objects in order: the algorithm's class, interpreted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from sash.aggregates.base import object_lift, result_of
from sash.aggregates.nulls import counting_values
from sash.aggregator.held_window import NO_LIMIT, HeldWindow, no_row, no_times, refuse_time

PYTHON_TYPES = frozenset((float, int, bool, str, bytes))
"""The types of values that are lifted as they are. Others may be null, or a number of NumPy."""


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
                values = tuple(map(python_number, values))
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


def python_number(value: Any) -> Any:
    """Convert NumPy's numbers, which wrap around silently, to Python's."""
    if type(value).__module__ == "numpy" and getattr(value, "dtype", None) is not None and value.dtype.kind in "biuf":
        return value.item() if value.ndim == 0 else value
    return value
