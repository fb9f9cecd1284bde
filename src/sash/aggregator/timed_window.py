"""Windows of rows with times, in any order, by FiBA: interpreted, and compiled while `slide` moves over a column.

A compiled slide leaves the rows of its last window as columns. The next slide goes on from them; any other call inserts them into a tree first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sash.aggregator.held_window import no_row
from sash.aggregator.object_window import InterpretedWindow, python_number

if TYPE_CHECKING:
    from sash.columns.read_column import Column
    from sash.kernels.kernel_arrays import Positions


class TimedWindow(InterpretedWindow):
    """Rows with times, in any order, by FiBA."""

    _inserted = 0
    _newest_time: Any = None
    """The time of the row that was inserted last."""
    _columns: tuple[Column, ...] = ()
    """The rows that a compiled slide has left, until a call needs them in the tree."""
    _times: Positions | None = None
    """Their times."""
    _why = "rows with times are compiled only while slide moves over a column"

    @property
    def reason(self) -> str:
        """Why the window is interpreted; empty while it is not."""
        return "" if self._columns else self._why

    def insert(self, values: tuple[Any, ...], time: Any = None) -> None:
        """Add the row of a time."""
        self._load()
        self._newest_time = time
        try:
            lifted = self._lift(*map(python_number, values))
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
        self._load()
        lifted = []
        for time, values in rows:
            self._newest_time = time
            try:
                lifted.append((time, self._lift(*map(python_number, values))))
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

    def slide_columns(self, given: tuple[Any, ...], times: Any, length: int) -> Any:
        """Add columns row by row, in order of arrival, and return after each row the result of the times after newest - length."""
        from sash.aggregator import column_io, timed_columns  # noqa: PLC0415 — imports Numba
        from sash.columns.column_types import CannotCompileError  # noqa: PLC0415 — as above

        ticks = timed_columns.read_times(times, len(given[0]))
        try:
            columns = column_io.read_columns(given, self.aggregate)
            if not len(self._window):
                return self._slide_compiled(columns, ticks, length)
        except CannotCompileError as error:
            self._why = str(error)
        results = self._slide_rows(column_io.rows_of(given, self.aggregate.inputs), ticks.tolist(), length)
        return column_io.interpreted_results(self.aggregate, results, given)

    def _slide_compiled(self, columns: list[Column], times: Positions, length: int) -> Any:
        """Do so compiled, from the rows that the last slide has left. Raise CannotCompileError if that is not possible."""
        from sash.aggregator import timed_columns  # noqa: PLC0415 — imports Numba

        before = len(self)
        if self._times is not None and before:
            columns = timed_columns.joined(self._columns, columns, compared=self.aggregate.only_compares)
            times = timed_columns.joined_times(self._times, times)
        results = timed_columns.slide_times(self.aggregate, columns, times, length)
        self._columns, self._times = timed_columns.rows_within(columns, times, length)
        return results[before:]

    def _slide_rows(self, rows: list[Any], times: list[int], length: int) -> list[Any]:
        """Do so interpreted."""
        self._load()
        results = []
        for values, time in zip(rows, times, strict=True):
            newest = max(time, self._window.newest) if len(self) else time
            if time > newest - length:
                self.insert(values, time)
            self.evict(newest - length + 1)
            results.append(self.query())
        return results

    def _load(self) -> None:
        """Insert the rows that a compiled slide has left."""
        if self._columns and self._times is not None:
            from sash.aggregator.timed_columns import row_objects  # noqa: PLC0415 — imports pyarrow

            columns, times = self._columns, self._times
            self._columns = ()
            try:
                self.insert_many(list(zip(times.tolist(), row_objects(columns, self.aggregate), strict=True)))
            except BaseException:  # no row is lost
                self._columns = columns
                raise

    def _newest(self) -> str:
        return f"the row of time {self._newest_time!r}"

    @property
    def rows_so_far(self) -> int:
        """The number of rows that were ever inserted."""
        return self._inserted

    def evict(self, before: Any = None) -> None:
        """Remove the oldest row, or all rows whose time is less than `before`."""
        self._load()
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
        self._load()
        return self._result(self._query) if len(self) >= self._needed else self._used.result.empty

    def query_between(self, start: Any, end: Any) -> Any:
        """Return the result for the times from `start` up to before `end`."""
        if start is None or end is None:
            raise ValueError("query needs both start= and end=.")
        self._load()
        self._refuse_if_lost()
        try:
            total = self._window.query_between(start, end)
        except LookupError:  # no row has a time in the interval
            return self._used.result.empty
        return self._lowered(total)

    def __len__(self) -> int:
        """Return the number of rows in the window, nulls included."""
        return len(self._columns[0]) if self._columns else len(self._window)
