"""Aggregator: one algorithm for one aggregate, for people who move the window themselves (the papers' SWAG).

README.md lists the files in reading order.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, SupportsIndex

from sash.aggregates.base import Aggregate
from sash.aggregator.checks import (
    check_columns,
    check_duration,
    check_length,
    check_lengths,
    check_ranges,
    check_times,
    check_values,
    refuse_columns,
)
from sash.aggregator.held_window import HeldWindow
from sash.aggregator.object_window import ObjectWindow
from sash.aggregator.timed_window import TimedWindow
from sash.algorithms import ALGORITHMS, Algorithm, find_algorithm
from sash.plan.choose import Use, choose_algorithm

if TYPE_CHECKING:
    from sash.columns.read_column import Column


class Aggregator:
    """A window that you move yourself: insert and evict rows, and query the aggregate at any time.

    `aggregate` is an aggregate such as `agg.max("price")`. `algorithm` is "auto" or a name from `sash.catalogue()`. With `ranges`,
    numbers of rows, the window evicts rows itself and answers every range from the same rows.

    An aggregate of the time, such as `agg.slope("load")` or one with a half-life, takes the time as its last value, an integer. Its
    half-life is a number in the same unit, and its result is as of the newest value.

    Nulls and NaN: a null (None) is a row of the window without a value; NaN is a value, except in a NumPy-backed pandas Series, where
    it is null.
    Result: as in a query. Errors: TypeError if `aggregate` is not an aggregate. ValueError if the algorithm cannot compute it, or if
    a range is not a positive integer.

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

    Several ranges of one window:

    >>> window = sash.Aggregator(agg.sum("amount"), ranges=[2, 3])
    >>> for amount in (1, 2, 3, 4):
    ...     window.insert(amount)
    >>> window.query(last=2), window.query(last=3)
    (7, 9)

    A whole column in one compiled call:

    >>> sash.Aggregator(agg.max("price")).slide([7, 3, 5, 4], range=2).to_pylist()
    [7, 7, 5, 5]

    Rows out of order, each with a time:

    >>> window = sash.Aggregator(agg.concat("letter"), algorithm="fiba")
    >>> for letter, time in (("c", 30), ("a", 10), ("b", 20)):
    ...     window.insert(letter, time=time)
    >>> window.query(), window.query(start=10, end=30)
    ('abc', 'ab')
    """

    def __init__(
        self, aggregate: Aggregate[Any], algorithm: str = "auto", ranges: Sequence[SupportsIndex] | None = None
    ) -> None:
        """Choose the algorithm, or take the named one. Raise ValueError if it cannot compute the aggregate."""
        if not isinstance(aggregate, Aggregate):
            raise TypeError(f'{aggregate!r} is not an aggregate. Pass one, as in sash.Aggregator(agg.max("load")).')
        self.aggregate = aggregate
        self._inputs = aggregate.inputs
        self.ranges = check_ranges(ranges)
        self._asked_for = algorithm
        self.algorithm = self._find([], self.ranges)
        if self.ranges and self.algorithm.takes_times:
            raise ValueError(
                "fiba answers intervals of time, not numbers of rows. Leave ranges out, and call query(start=…, end=…)."
            )
        self._limit = max(self.ranges, default=0)
        self._window: HeldWindow = self._object_window(self.ranges)
        self._pending: list[Column] = []
        """The newest rows of a column that was slid over once, until a call needs the window that holds them."""
        self._pending_ranges: tuple[int, ...] = ()
        self._ran = self.algorithm
        """What slid over the column of the pending rows."""
        self._reason = "no column was given yet: rows one by one are interpreted"

    def insert(self, *values: Any, time: Any = None) -> None:
        """Add a row.

        `values` are the values of the row, one per column of the aggregate; None is a null. `time` is the time of the row and only
        for `algorithm="fiba"`, which accepts rows in any order of time; all other algorithms take the newest row. The cost is that of
        the algorithm's insert, see `sash.catalogue()`.

        Errors: TypeError if the number of values is wrong. ValueError if the algorithm takes no times.

        >>> import sash
        >>> from sash import agg
        >>> window = sash.Aggregator(agg.arg_max("load", "plug"))
        >>> window.insert(3.1, "kettle")
        >>> window.insert(None, "lamp")
        >>> window.query(), len(window)
        ('kettle', 2)
        """
        if len(values) != self._inputs:
            values = check_values(values, self.aggregate)
        window = self._current() if self._pending else self._window
        if window.holds_untyped_nulls and any(value is not None for value in values):
            window = self._as_objects(window, "a row was inserted after a column of nulls without a type")
        window.insert(values, time)

    def insert_many(self, values: Any, *, times: Any = None) -> None:
        """Add many rows in one compiled call.

        `values` is a column (Arrow, NumPy, pandas, Polars or a list), or a tuple of columns if the aggregate reads several. `times` are
        the times of the rows, in any order, and only for `algorithm="fiba"`. It is interpreted, but combines each node of its tree once,
        however many of the rows are in it.

        Errors: TypeError if the number or the type of the columns does not match the rows in the window. ValueError if `fiba` gets no
        times, or another algorithm gets some.

        >>> import sash
        >>> from sash import agg
        >>> window = sash.Aggregator(agg.sum("amount"))
        >>> window.insert_many([5, None, 7])
        >>> window.query(), len(window)
        (12, 3)
        """
        given = check_columns(values, self.aggregate)
        check_times(self.algorithm, times)
        if times is not None:
            from sash.aggregator.timed_columns import rows_with_times  # noqa: PLC0415 — imports pyarrow

            self._window.insert_many(rows_with_times(given, times, self._inputs))
            return
        columns = self._read_columns(given)
        window = self._window_for(columns, self.ranges)
        window.insert_many(self._rows_for(window, given, columns))

    def slide(
        self,
        values: Any,
        range: SupportsIndex | Sequence[SupportsIndex] | None = None,  # noqa: A002 — the papers' word for the length of a window
        *,
        bounds: tuple[Any, Any] | None = None,
        times: Any = None,
    ) -> Any:
        """Add a column row by row, and return the result of the last `range` rows after each row.

        `values` is a column (Arrow, NumPy, pandas, Polars or a list), or a tuple of columns if the aggregate reads several. `range` is a
        number of rows, or several; by default the `ranges` of the Aggregator. Several ranges take a pass each, or one pass for all if that
        takes less time. The window continues from its current rows and
        then holds the last `range` rows, so a long column may come in pieces. With `bounds=(begins, ends)` the i-th result is that of
        the rows `begins[i]` to `ends[i] - 1`, and the window does not change; neither bound may move back.

        With `algorithm="fiba"`, rows arrive in any order of `times`, a column of integers, and `range` is a length of time: the window holds
        the rows with times greater than the newest time minus `range`. A row that is older than that has no effect.

        Result: an Arrow array with the type that a query returns; for several ranges a dictionary of arrays.
        Errors: ValueError if no range is given, or if the bounds exceed the column. TypeError if the number or the type of the columns
        does not match. OverflowError if a sum of integers needs more than 64 bits.

        >>> import sash
        >>> from sash import agg
        >>> window = sash.Aggregator(agg.sum("amount"))
        >>> window.slide([1, 2, 3], range=2).to_pylist(), window.slide([4, 5], range=2).to_pylist()
        ([1, 3, 5], [7, 9])
        >>> sash.Aggregator(agg.sum("amount")).slide([1, 2, 3], bounds=([0, 0, 1], [1, 2, 3])).to_pylist()
        [1, 3, 5]
        >>> window = sash.Aggregator(agg.sum("amount"), algorithm="fiba")
        >>> window.slide([1, 2, 4, 8], range=10, times=[100, 107, 103, 112]).to_pylist()
        [1, 3, 7, 14]
        """
        given = check_columns(values, self.aggregate)
        if bounds is None:
            check_times(self.algorithm, times)
        if bounds is not None:
            return self._slide_between(given, *bounds)
        if times is not None:
            window: Any = self._window
            return window.slide_columns(given, times, check_duration(range))
        several = range is None or isinstance(range, Sequence)
        lengths = check_ranges(range if range is None or isinstance(range, Sequence) else [range]) or self.ranges
        if not lengths:
            raise ValueError("slide needs a number of rows. Pass range=… to slide, or ranges=[…] to the Aggregator.")
        for length in lengths if self.ranges else ():
            check_length(length, self.ranges, self.algorithm)
        columns = self._read_columns(given)
        results = None
        if columns and len(self) == 0 and self.ranges in ((), lengths):
            results = self._slide_once(columns, lengths)
        if results is None:
            results = self._slide_on(given, columns, lengths)
        return dict(zip(lengths, results, strict=True)) if several else results[0]

    def evict(self, *, before: Any = None, at: int | None = None) -> None:
        """Remove the oldest row, all rows older than a time, or any one row.

        With `algorithm="fiba"`, `before` removes all rows whose time is less than it. With
        `algorithm="reactive_aggregator"`, `at` removes the row that was inserted as number `at`, counted from 0 for the first
        row ever inserted, nulls included; the rows must have been inserted one by one. With `ranges`, the rows that are left count:
        the window then has room for another row, before it evicts the oldest one.

        Errors: IndexError if there is no row to remove. ValueError if the algorithm evicts in another way.

        >>> import sash
        >>> from sash import agg
        >>> window = sash.Aggregator(agg.sum("amount"), algorithm="fiba")
        >>> for amount, time in ((1, 10), (2, 20), (4, 30)):
        ...     window.insert(amount, time=time)
        >>> window.evict(before=30)
        >>> window.query()
        4
        >>> window = sash.Aggregator(agg.max("bid"), algorithm="reactive_aggregator")
        >>> for bid in (10, 30, 20):
        ...     window.insert(bid)
        >>> window.evict(at=1)  # the second bid is withdrawn
        >>> window.query(), len(window)
        (20, 2)
        """
        window = self._current() if self._pending else self._window
        if at is not None:
            if before is not None:
                raise ValueError("evict: give before= or at=, not both.")
            if isinstance(at, bool) or not isinstance(at, Integral):
                raise TypeError(
                    f"evict(at={at!r}): give the number of a row, counted from 0 for the first one inserted."
                )
            window.evict_at(int(at))
            return
        window.evict(before)

    def query(self, *, last: SupportsIndex | None = None, start: Any = None, end: Any = None) -> Any:
        """Return the result of the whole window, of its last rows, or of an interval of time.

        `last` is the number of rows, one of the announced `ranges` or any number if the algorithm answers all of them. With
        `algorithm="fiba"`, `start` and `end` select the rows with `start <= time < end`.

        Result: a Python value; None if there is no value, 0 for a count.
        Errors: ValueError if the algorithm cannot answer `last`, or if rows have no times.

        >>> import sash
        >>> from sash import agg
        >>> window = sash.Aggregator(agg.mean("load"), ranges=[2, 3])
        >>> for load in (1, 2, 3):
        ...     window.insert(load)
        >>> window.query(last=2), window.query()
        (2.5, 2.0)
        """
        window = self._current() if self._pending else self._window
        if start is not None or end is not None:
            return window.query_between(start, end)
        if last is None:
            return window.query()
        if not self.algorithm.takes_times:
            check_length(last, self.ranges, self.algorithm)
        return window.query(int(last))

    def freeze(self) -> bytes:
        """Return the window as bytes, which `thaw` turns into the same window in any process.

        The bytes hold a version number, a checksum and arrays, no pickle and no code.

        Errors: TypeError if the window is interpreted: only compiled windows, filled by `slide` or `insert_many`, can be frozen.

        >>> import sash
        >>> from sash import agg
        >>> window = sash.Aggregator(agg.max("price"))
        >>> window.insert_many([3, 9, 4])
        >>> frozen = window.freeze()
        >>> sash.Aggregator.thaw(agg.max("price"), frozen).query()
        9
        """
        window: Any = self._current()
        if not window.is_compiled:
            reason = self._reason if window.reason is None else "it holds rows with times"
            raise TypeError(f"Only a compiled window can be frozen, and this one is interpreted: {reason}.")
        named = [self.aggregate.name, *self.aggregate.columns]
        chosen = {"algorithm": self._asked_for, "class": window.algorithm.__name__}
        return bytes(window.encode({"aggregate": named, **chosen, "limits": list(self.ranges)}))

    @classmethod
    def thaw(cls, aggregate: Aggregate[Any], data: bytes) -> Aggregator:
        """Return the window that `freeze` turned into bytes.

        `aggregate` is the aggregate of the frozen window, `data` are the bytes.

        Errors: ValueError if the bytes are damaged, or belong to another aggregate.

        >>> import sash
        >>> from sash import agg
        >>> window = sash.Aggregator(agg.max("price"))
        >>> window.insert_many([3, 9, 4])
        >>> sash.Aggregator.thaw(agg.min("price"), window.freeze())
        Traceback (most recent call last):
        ValueError: The frozen window computes max(price), not min(price). Pass the same aggregate to thaw.
        """
        from sash.aggregator.compiled_window import columns_from_text, read_frozen  # noqa: PLC0415 — imports Numba
        from sash.aggregator.event_window import EventWindow  # noqa: PLC0415 — as above

        described = read_frozen(aggregate, data)
        thawed = cls(aggregate, described["algorithm"], described["limits"])
        # The algorithm of the frozen window, not the one that would be chosen now: costs may have been measured again.
        thawed.algorithm = next(known for known in ALGORITHMS if known.__name__ == described["class"])
        columns, ranges = columns_from_text(described["types"]), tuple(described["ranges"])
        window = EventWindow(aggregate, thawed.algorithm, ranges, thawed._limit, columns)
        window.decode(data, described)
        thawed._window, thawed._reason = window, ""
        return thawed

    def explain(self) -> str:
        """Return the algorithm, and whether it is compiled or why it is interpreted.

        >>> import sash
        >>> from sash import agg
        >>> print(sash.Aggregator(agg.concat("word")).explain())
        concat(word) by subtract_on_evict, interpreted: no column was given yet: rows one by one are interpreted
        """
        reason = self._reason if self._window.reason is None else self._window.reason
        interpreted = not self._window.is_compiled and not self._pending and reason
        how = f"interpreted: {reason}" if interpreted else "compiled"
        # A column that was slid over at once was sorted first, if the algorithm has such a form.
        is_sorted = self._pending and self.aggregate.laws.place is None
        ran = self._ran if self._pending else self.algorithm
        ran = (is_sorted and ran.sorted_in_advance) or ran
        return f"{self.aggregate.label} by {ran.about.name}, {how}"

    def __len__(self) -> int:
        """Return the number of rows in the window, nulls included."""
        return len(self._pending[0]) if self._pending else len(self._window)

    def __repr__(self) -> str:
        """Show the aggregate, the algorithm and the number of rows."""
        return f"<Aggregator {self.aggregate.label} by {self.algorithm.about.name}, {len(self)} rows>"

    def _find(self, columns: list[Column], ranges: tuple[int, ...], use: Use = "kept") -> type[Algorithm[Any]]:
        """Return the algorithm for windows of these lengths over these columns (none: objects)."""
        aggregate = self.aggregate
        if columns and aggregate.inputs == 1:
            aggregate = aggregate.of_kind(columns[0].kind)
        choice = choose_algorithm(aggregate, ranges, use=use, algorithm=self._asked_for)
        return find_algorithm(choice.algorithm, aggregate)

    # -- columns ---------------------------------------------------------------------------------------------------

    def _read_columns(self, given: tuple[Any, ...]) -> list[Column]:
        """Return the columns as a kernel takes them. If they must be interpreted, store the reason and return none."""
        from sash.aggregator.column_io import read_columns  # noqa: PLC0415 — imports pyarrow

        return self._or_reason(read_columns, given, self.aggregate) or []

    def _or_reason(self, call: Any, *arguments: Any) -> Any:
        """Return the result of a call. If it can't be compiled, store the reason and return None."""
        from sash.kernels import CannotCompileError  # noqa: PLC0415 — imports Numba

        try:
            return call(*arguments)
        except CannotCompileError as error:
            self._reason = str(error)
            return None

    def _rows_for(self, window: HeldWindow, given: tuple[Any, ...], columns: list[Column]) -> list[Any]:
        """Return rows in the form that a window takes: columns, or tuples of objects."""
        from sash.aggregator.column_io import refuse_nanoseconds, rows_of  # noqa: PLC0415 — imports pyarrow

        refuse_columns(window.algorithm)
        if window.is_compiled:
            return columns
        refuse_nanoseconds(given, self.aggregate)
        return rows_of(given, self.aggregate.inputs)

    # -- windows ---------------------------------------------------------------------------------------------------

    def _current(self) -> HeldWindow:
        """Return the window, after inserting pending rows."""
        if self._pending:
            from sash.columns.result_column import column_to_arrow  # noqa: PLC0415 — imports pyarrow

            columns, self._pending = self._pending, []
            try:
                window = self._window_for(columns, self.ranges or self._pending_ranges)
                # It may be interpreted although the column was compiled: recalculate does not compile for medians.
                window.insert_many(self._rows_for(window, tuple(map(column_to_arrow, columns)), columns))
            except BaseException:  # no row is lost, not even by Ctrl-C while a kernel compiles
                self._pending = columns
                raise
        return self._window

    def _window_for(self, columns: list[Column], ranges: tuple[int, ...]) -> HeldWindow:
        """Return the window in a form that takes these columns (none: objects); a new one if it is empty."""
        window: Any = self._current()
        if len(window) == 0:
            rows = window.rows_so_far
            window = self._new_window(columns, ranges)
            window.rows_before = rows
        elif not window.is_compiled:
            self._reason = "the window already held rows that were inserted one by one"
        elif columns and window.retyped(columns).takes(columns):
            window = window.retyped(columns)
        elif not columns and window.holds_untyped_nulls:
            window = self._as_objects(window, self._reason)
        else:
            held = ", ".join(map(str, window.types))
            now = ", ".join(str(column.type) for column in columns) or "objects"
            raise TypeError(
                f"This window holds rows of {held}, but the new rows are {now}. Cast the column, or make a new "
                "Aggregator."
            )
        self._window = window
        return self._window

    def _new_window(self, columns: list[Column], ranges: tuple[int, ...]) -> HeldWindow:
        if columns:
            from sash.aggregator.event_window import EventWindow  # noqa: PLC0415 — imports Numba

            self.algorithm = self._find(columns, ranges)
            options = (self.aggregate, self.algorithm, ranges, self._limit, columns)
            window: HeldWindow | None = self._or_reason(EventWindow, *options)
            if window is not None:
                self._reason = ""
                return window
        self.algorithm = self._find([], ranges)
        return self._object_window(ranges)

    def _object_window(self, ranges: tuple[int, ...]) -> HeldWindow:
        form = TimedWindow if self.algorithm.takes_times else ObjectWindow
        return form(self.aggregate, self.algorithm, ranges, self._limit)

    def _as_objects(self, nulls: HeldWindow, reason: str) -> HeldWindow:
        """Replace a compiled window of nulls without a type by one of objects, which takes values of any type."""
        self.algorithm = self._find([], nulls.ranges)
        window = self._object_window(nulls.ranges)
        window.rows_before = nulls.rows_so_far - len(nulls)
        window.insert_many([(None,) * self.aggregate.inputs] * len(nulls))
        self._window, self._reason = window, reason
        return window

    # -- sliding ---------------------------------------------------------------------------------------------------

    def _slide_once(self, columns: list[Column], lengths: tuple[int, ...]) -> list[Any] | None:
        """Slide over a whole column without a persistent window: the fastest way. Return None if it is not possible."""
        from sash.aggregator import whole_columns  # noqa: PLC0415 — imports pyarrow

        kept = self._find(columns, self.ranges or _several(lengths))
        has_nulls = any(len(column.bits) for column in columns)
        algorithm = self._find(columns, lengths[-1:] if has_nulls else lengths, "whole")
        whole = (self.aggregate, algorithm, columns)
        takes_one = len(lengths) == 1 or algorithm.about.ranges == "one"
        if takes_one or (has_nulls and self._asked_for == "auto"):  # a pass for each range
            results = [self._or_reason(whole_columns.slide_once, *whole, length) for length in lengths]
        elif has_nulls:
            return None
        else:
            results = self._or_reason(whole_columns.slide_ranges_once, *whole, lengths) or [None]
        if any(result is None for result in results):
            return None
        if len(columns[0]):
            self.algorithm, self._ran, self._reason = kept, algorithm, ""
            self._pending = [column.tail(max(lengths)) for column in columns]
            self._pending_ranges = _several(lengths)
            self._window.rows_before += len(columns[0]) - len(self._pending[0])
        return results

    def _slide_on(self, given: tuple[Any, ...], columns: list[Column], lengths: tuple[int, ...]) -> list[Any]:
        """Slide on from the rows in the window."""
        from sash.aggregator.column_io import interpreted_results  # noqa: PLC0415 — imports pyarrow

        if len(self):
            check_lengths(lengths, self._current().ranges, self.algorithm, self._limit)
        window = self._window_for(columns, self.ranges or _several(lengths))
        results = window.slide(self._rows_for(window, given, columns), lengths)
        if window.is_compiled:
            return results
        return [interpreted_results(self.aggregate, column, given) for column in results]

    def _slide_between(self, given: tuple[Any, ...], begins: Any, ends: Any) -> Any:
        from sash.aggregator import column_io, whole_columns  # noqa: PLC0415 — imports pyarrow

        refuse_columns(self.algorithm)
        results = None
        if columns := self._read_columns(given):
            algorithm = self._find(columns, (), "whole")
            results = self._or_reason(whole_columns.slide_between, self.aggregate, algorithm, columns, begins, ends)
        if results is None:
            algorithm = self._find([], (), "whole")
            results = column_io.interpret_between(self.aggregate, algorithm, given, begins, ends)
        return results


def _several(lengths: tuple[int, ...]) -> tuple[int, ...]:
    """Return the lengths that a window is made for: none for one length, because rows may be inserted without an eviction."""
    return lengths if len(lengths) > 1 else ()
