"""Aggregator: one algorithm for one aggregate, for people who move the window themselves (the papers' SWAG).

columns.py      columns as they are given and as a kernel takes them     interpreted.py  a window of Python objects
compiled.py     a window of numbers in machine code's own form
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sash.aggregates.base import Aggregate
from sash.aggregator.checks import check_ranges, refuse_what_is_no_aggregate
from sash.aggregator.object_window import Interpreted
from sash.algorithms import Algorithm, SharedAlgorithm, find_algorithm
from sash.algorithms.fiba import FiBA
from sash.plan.choose import choose_algorithm

if TYPE_CHECKING:
    from sash.aggregator.columns import Column
    from sash.aggregator.compiled_window import Compiled


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

    A whole column at once runs as machine code:

    >>> sash.Aggregator(agg.max("price")).slide([7, 3, 5, 4], range=2).to_pylist()
    [7, 7, 5, 5]

    Rows that come out of order have a time, and any stretch of time can be asked for:

    >>> window = sash.Aggregator(agg.concat("letter"), algorithm="fiba")
    >>> for letter, time in (("c", 30), ("a", 10), ("b", 20)):
    ...     window.insert(letter, time=time)
    >>> window.query(), window.query(start=10, end=30)
    ('abc', 'ab')
    """

    def __init__(self, aggregate: Aggregate[Any], algorithm: str = "auto", ranges: Sequence[int] | None = None) -> None:
        """Choose the algorithm, or take the named one, and refuse a pair that can't work."""
        refuse_what_is_no_aggregate(aggregate)
        self.aggregate = aggregate
        self.ranges = check_ranges(ranges)
        self._asked_for = algorithm
        self.algorithm = self._find(aggregate, self.ranges)
        if self.ranges and issubclass(self.algorithm, FiBA):
            message = "fiba answers times, not numbers of rows: leave ranges out and ask with query(start=…, end=…)."
            raise ValueError(message)
        self._limit = max(self.ranges, default=0)
        self._form: Interpreted | Compiled = Interpreted(aggregate, self.algorithm, self.ranges, self._limit)
        self._pending: list[Column] = []
        """The newest rows of a column that was slid over, until something asks for the window that they make."""
        self._pending_ranges: tuple[int, ...] = ()
        self._reason = "no column was given yet: rows one by one are interpreted"

    def insert(self, *values: Any, time: Any = None) -> None:
        """Add the newest row, or the row of a time: one value for each column of the aggregate.

        Cost: that of the algorithm's insert, see `sash.catalogue()`.
        """
        if self.aggregate.inputs == 0:
            values = ()
        elif len(values) != self.aggregate.inputs:
            message = f"{self.aggregate.name} takes {self.aggregate.inputs} value(s) a row, not {len(values)}."
            raise TypeError(message)
        form = self._settled()
        if isinstance(form, Interpreted):
            form.insert(values, time)
        elif time is not None:
            message = f'{self._name} takes rows in order: leave time out, or use algorithm="fiba".'
            raise ValueError(message)
        else:
            form.insert(values or (True,))

    def insert_many(self, values: Any) -> None:
        """Add a whole column of rows, or a tuple of columns for an aggregate of several, in one compiled call.

        >>> import sash
        >>> from sash import agg
        >>> window = sash.Aggregator(agg.sum("amount"))
        >>> window.insert_many([5, None, 7])
        >>> window.query(), len(window)
        (12, 3)
        """
        given = self._check_columns(values)
        columns = self._numbers_of(given)
        form = self._form_for(columns, self.ranges)
        if isinstance(form, Interpreted):
            self._refuse_without_times()
            for row in machine().rows_of(given, self.aggregate.inputs):
                form.insert(row)
        else:
            form.insert_many(columns)

    def slide(
        self,
        values: Any,
        range: int | Sequence[int] | None = None,  # noqa: A002 — the papers' word for the length of a window
        *,
        bounds: tuple[Any, Any] | None = None,
    ) -> Any:
        """Add a whole column row by row and return, as Arrow, what the newest `range` rows give after each of them.

        `values` is a column of any kind (Arrow, NumPy, pandas, Polars, a list), or a tuple of columns. The window goes on
        from where it was, and holds the newest `range` rows in the end, so that a column may come in pieces. Several
        ranges give a dictionary with a column for each. With `bounds=(begins, ends)` the result is that of the rows
        begins[i] … ends[i] - 1 for each i instead, and the window itself isn't touched.

        >>> import sash
        >>> from sash import agg
        >>> window = sash.Aggregator(agg.sum("amount"))
        >>> window.slide([1, 2, 3], range=2).to_pylist(), window.slide([4, 5], range=2).to_pylist()
        ([1, 3, 5], [7, 9])
        >>> sash.Aggregator(agg.sum("amount")).slide([1, 2, 3], bounds=([0, 0, 1], [1, 2, 3])).to_pylist()
        [1, 3, 5]
        """
        given = self._check_columns(values)
        if bounds is not None:
            return self._slide_between(given, *bounds)
        several = not isinstance(range, int)
        lengths = check_ranges([range] if isinstance(range, int) else range) or self.ranges
        self._check_lengths(lengths)
        columns = self._numbers_of(given)
        answers = None
        if columns and len(self) == 0 and self.ranges in ((), lengths):
            answers = self._slide_once(columns, lengths)
        if answers is None:
            answers = self._slide_on(given, columns, lengths)
        return dict(zip(lengths, answers, strict=True)) if several else answers[0]

    def evict(self, *, before: Any = None) -> None:
        """Remove the oldest row, or all rows whose time is less than `before`."""
        form = self._settled()
        if before is None and len(form) == 0:
            message = "evict: the window is empty, so there is no row to remove."
            raise IndexError(message)
        if isinstance(form, Interpreted):
            form.evict(before)
        elif before is not None:
            message = 'evict(before=…) needs rows with times: use algorithm="fiba".'
            raise ValueError(message)
        else:
            form.evict()

    def query(self, *, last: int | None = None, start: Any = None, end: Any = None) -> Any:
        """Return the result for the whole window, its `last` rows, or the times from `start` up to before `end`.

        A window with no value gives null (None); a count gives 0.
        """
        form = self._settled()
        if start is not None or end is not None:
            if isinstance(form, Interpreted):
                return form.query_between(start, end)
            message = 'query(start=…, end=…) needs rows with times: use algorithm="fiba".'
            raise ValueError(message)
        if last is not None and not issubclass(self.algorithm, FiBA):
            self._refuse_length(last)
        return form.query(last)

    def freeze(self) -> bytes:
        """Return the window as bytes (versioned, no pickle), from which `thaw` makes it again in another process.

        >>> import sash
        >>> from sash import agg
        >>> window = sash.Aggregator(agg.max("price"))
        >>> window.insert_many([3, 9, 4])
        >>> sash.Aggregator.thaw(agg.max("price"), window.freeze()).query()
        9
        """
        form = self._settled()
        if isinstance(form, Interpreted):
            message = f"Only a compiled window can be frozen, and this one is interpreted: {self._reason}."
            raise TypeError(message)
        named = [self.aggregate.name, *self.aggregate.columns]
        made_with = {"aggregate": named, "algorithm": self._asked_for, "limits": list(self.ranges)}
        return form.freeze(made_with)

    @classmethod
    def thaw(cls, aggregate: Aggregate[Any], data: bytes) -> Aggregator:
        """Return the window that was frozen, of the same aggregate."""
        described = machine().read_header(data)
        if described["aggregate"] != [aggregate.name, *aggregate.columns]:
            frozen, *columns = described["aggregate"]
            label = f"{aggregate.name}({', '.join(aggregate.columns)})"
            message = f"This window is one of {frozen}({', '.join(columns)}), not of {label}: thaw it as such."
            raise ValueError(message)
        window = cls(aggregate, described["algorithm"], described["limits"])
        form = window._new_form(machine().columns_from_text(described["types"]), tuple(described["ranges"]))
        assert not isinstance(form, Interpreted)
        form.thaw(data, described)
        window._form, window._reason = form, ""
        return window

    def explain(self) -> str:
        """Return which algorithm works here, and whether compiled or why not.

        >>> import sash
        >>> from sash import agg
        >>> print(sash.Aggregator(agg.concat("word")).explain())
        concat(word) by subtract_on_evict, interpreted: no column was given yet: rows one by one are interpreted
        """
        interpreted = isinstance(self._form, Interpreted) and not self._pending and self._reason
        how = f"interpreted: {self._reason}" if interpreted else "compiled"
        return f"{self._label} by {self._name}, {how}"

    def __len__(self) -> int:
        """Return how many rows are in the window, nulls included."""
        return len(self._pending[0]) if self._pending else len(self._form)

    def __repr__(self) -> str:
        """Show the aggregate, the algorithm and the number of rows."""
        return f"<Aggregator {self._label} by {self._name}, {len(self)} rows>"

    @property
    def _name(self) -> str:
        return self.algorithm.about.name

    @property
    def _label(self) -> str:
        return f"{self.aggregate.name}({', '.join(self.aggregate.columns)})"

    def _find(self, aggregate: Aggregate[Any], ranges: tuple[int, ...]) -> type[Algorithm[Any]]:
        """Return the algorithm for a form of the aggregate and windows of these lengths."""
        choice = choose_algorithm(aggregate, len(ranges) or 1, algorithm=self._asked_for)
        return find_algorithm(choice.algorithm, aggregate)

    # -- columns ---------------------------------------------------------------------------------------------------

    def _check_columns(self, values: Any) -> tuple[Any, ...]:
        """Return the columns that were given, as many as the aggregate takes, one for `count()`."""
        given = values if isinstance(values, tuple) else (values,)
        if len(given) != max(1, self.aggregate.inputs):
            message = f"{self.aggregate.name} takes {self.aggregate.inputs} column(s), not {len(given)}: give a tuple."
            raise TypeError(message)
        return given

    def _numbers_of(self, given: tuple[Any, ...]) -> list[Column]:
        """Return the columns as a kernel takes them, or none and keep the reason why they are interpreted."""
        try:
            columns: list[Column] = machine().read_columns(given, self.aggregate)
        except machine().CannotCompileError as error:
            self._reason = str(error)
            return []
        return columns

    def _kind_of(self, columns: list[Column]) -> Aggregate[Any]:
        """Return the form of the aggregate for these columns."""
        one = self.aggregate.inputs == 1 and columns
        return self.aggregate.of_kind(columns[0].kind) if one else self.aggregate

    # -- forms -----------------------------------------------------------------------------------------------------

    def _settled(self) -> Interpreted | Compiled:
        """Return the window in the form that it has, made of the rows that wait for it if there are any."""
        if self._pending:
            columns, self._pending = self._pending, []
            form = self._form_for(columns, self.ranges or self._pending_ranges)
            assert not isinstance(form, Interpreted)
            form.insert_many(columns)
        return self._form

    def _form_for(self, columns: list[Column], ranges: tuple[int, ...]) -> Interpreted | Compiled:
        """Return the window in a form that takes these columns (none: objects), another one if it is empty."""
        form = self._settled()
        if len(form) == 0:
            self._form = form = self._new_form(columns, ranges)
        elif isinstance(form, Interpreted):
            self._reason = "the window already held rows that were inserted one by one"
        elif columns and form.retyped(columns).takes(columns):
            self._form = form = form.retyped(columns)
        else:
            held = ", ".join(map(str, form.types))
            now = ", ".join(str(column.type) for column in columns) or "objects"
            message = (
                f"This window holds rows of {held}, and {now} were given: cast the column, or make a new Aggregator."
            )
            raise TypeError(message)
        return form

    def _new_form(self, columns: list[Column], ranges: tuple[int, ...]) -> Interpreted | Compiled:
        if columns:
            self.algorithm = self._find(self._kind_of(columns), ranges)
            try:
                form: Compiled = machine().Compiled(self.aggregate, self.algorithm, ranges, columns, self._limit)
            except machine().CannotCompileError as error:
                self._reason = str(error)
            else:
                self._reason = ""
                return form
        self.algorithm = self._find(self.aggregate, ranges)
        return Interpreted(self.aggregate, self.algorithm, ranges, self._limit)

    # -- sliding ---------------------------------------------------------------------------------------------------

    def _slide_once(self, columns: list[Column], lengths: tuple[int, ...]) -> list[Any] | None:
        """Slide over a column that is there as a whole: the fastest, since the window needs not be kept on the way."""
        algorithm = self._find(self._kind_of(columns), lengths)
        try:
            if len(lengths) == 1:
                results = [machine().slide_once(self.aggregate, algorithm, columns, lengths[0])]
            elif any(len(column.bits) for column in columns):
                return None
            else:
                results = machine().slide_ranges_once(self.aggregate, algorithm, columns, lengths)
        except machine().CannotCompileError as error:
            self._reason = str(error)
            return None
        self.algorithm, self._reason = algorithm, ""
        if len(columns[0]):
            self._pending = [column.tail(max(lengths)) for column in columns]
            self._pending_ranges = lengths if len(lengths) > 1 else ()
        return results

    def _slide_on(self, given: tuple[Any, ...], columns: list[Column], lengths: tuple[int, ...]) -> list[Any]:
        """Slide on from what the window holds."""
        if len(self):
            self._refuse_other_ranges(self._settled().ranges, lengths)
        form = self._form_for(columns, self.ranges or lengths)
        if not isinstance(form, Interpreted):
            return form.slide(columns, lengths)
        self._refuse_without_times()
        results: list[list[Any]] = [[] for _ in lengths]
        widest = self._limit or max(lengths)
        for row in machine().rows_of(given, self.aggregate.inputs):
            while len(form) >= widest:
                form.evict()
            form.insert(row)
            for answers, length in zip(results, lengths, strict=True):
                answers.append(form.query(None if length == widest else length))
        return [machine().objects_to_arrow(answers) for answers in results]

    def _slide_between(self, given: tuple[Any, ...], begins: Any, ends: Any) -> Any:
        self._refuse_without_times()
        columns = self._numbers_of(given)
        algorithm = self._find(self._kind_of(columns), ())
        if columns:
            try:
                return machine().slide_between(self.aggregate, algorithm, columns, begins, ends)
            except machine().CannotCompileError as error:
                self._reason = str(error)
        return machine().interpret_between(self.aggregate, self._find(self.aggregate, ()), given, begins, ends)

    # -- refusals --------------------------------------------------------------------------------------------------

    def _refuse_without_times(self) -> None:
        if issubclass(self.algorithm, FiBA):
            message = "fiba takes rows with times, one by one: use another algorithm for a column of rows in order."
            raise ValueError(message)

    def _check_lengths(self, lengths: tuple[int, ...]) -> None:
        if not lengths:
            message = "slide: over how many rows? Give range=… here, or ranges=[…] to the Aggregator."
            raise ValueError(message)
        for length in lengths if self.ranges else ():
            self._refuse_length(length)

    def _refuse_other_ranges(self, made_for: tuple[int, ...], lengths: tuple[int, ...]) -> None:
        """Say so if a window that holds rows can't answer these lengths, because its algorithm was made for others."""
        shares = issubclass(self.algorithm, SharedAlgorithm)
        widest = self._limit or max(lengths)
        known = set(made_for) if made_for and self.algorithm.takes_nulls else set(lengths) if shares else {widest}
        if not set(lengths) <= known:
            message = (
                f"This window holds rows that {self._name} keeps for other ranges: "
                f"give ranges={list(lengths)} to the Aggregator."
            )
            raise ValueError(message)

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


def machine() -> Any:
    """Return the module for whole columns; it imports Numba and pyarrow, which `import sash` does not."""
    return import_module("sash.aggregator.compiled_window")
