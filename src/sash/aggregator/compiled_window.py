"""A window of numbers: the algorithm's class fused with the aggregate, its state in NumPy arrays between calls.

Slides over whole columns, for windows that begin empty and are not kept, are faster: they need no such state (whole_columns.py).
"""

from __future__ import annotations

import base64
import sys
from bisect import bisect_left
from dataclasses import InitVar, dataclass
from numbers import Integral
from typing import Any

import numpy as np
import pyarrow as pa

from sash.aggregates.base import Aggregate
from sash.aggregator.column_io import final_results, lowered_by_kernel, of_rows_with_values
from sash.aggregator.held_window import NO_LIMIT, HeldWindow, no_row, no_times, refuse_time
from sash.columns.column_types import column_type
from sash.columns.python_values import python_to_arrow
from sash.columns.read_column import Column, nulls, present_in_all, read_numbers, types_of
from sash.kernels import CannotCompileError, Kernel, loops
from sash.kernels.array_codec import decode_state, encode_state, read_header
from sash.kernels.functions import fingerprint
from sash.kernels.kernel_arrays import ResultColumn


@dataclass(eq=False)
class CompiledWindow(HeldWindow):
    """Rows of numbers in machine code's own form."""

    columns: InitVar[list[Column]]
    is_compiled = True
    _newest_is_null = False

    def __post_init__(self, columns: list[Column]) -> None:
        """Compile for columns of these types. Raise CannotCompileError if that is not possible."""
        # A kernel never inserts nulls, and this algorithm would have to count them.
        self._refuses_nulls = self.algorithm.takes_nulls and len(self.ranges) > 1
        if self._refuses_nulls and len(present_in_all(columns)):
            raise CannotCompileError(
                f"{self.algorithm.about.name} counts inserts, so for several ranges it must be given the nulls too."
            )
        self.types = tuple(column.type for column in columns)
        self.holds_untyped_nulls = all(dtype == pa.null() for dtype in self.types)
        self._no_rows = [nulls(0, dtype, compared=self.aggregate.only_compares) for dtype in self.types]
        inputs = types_of(self.aggregate, self._no_rows)
        self.kernel = Kernel(self.algorithm, lowered_by_kernel(self.aggregate), inputs, loops.advance)
        self.capacity = max(self.ranges, default=8)
        self.state = self.kernel.new_state(self.ranges, self.capacity)

    def retyped(self, columns: list[Column]) -> CompiledWindow:
        """Return the window for columns of these types: another one if it holds only nulls without a type."""
        if not self.holds_untyped_nulls or all(column.type == pa.null() for column in columns):
            return self
        typed = type(self)(self.aggregate, self.algorithm, self.ranges, self.limit, columns)
        typed.insert_many([nulls(len(self), dtype) for dtype in typed.types])
        typed.rows_before = self.rows_so_far - typed.rows_so_far
        return typed

    def takes(self, columns: list[Column]) -> bool:
        """Tell whether columns have the types of the window; columns of nulls fit any type."""
        return all(column.type in (dtype, pa.null()) for column, dtype in zip(columns, self.types, strict=True))

    def insert(self, values: tuple[Any, ...], time: Any = None) -> None:
        """Add the newest row."""
        refuse_time(self.algorithm, time)
        row = zip(values or (True,), self.types, strict=True)  # count() reads no column, but counts the rows of one
        self.insert_many([_as_column(value, dtype, compared=self.aggregate.only_compares) for value, dtype in row])

    def insert_many(self, rows: list[Any]) -> None:
        """Add rows, given as columns; evict the oldest rows beyond the limit, if there is one."""
        self._advance(rows, self.limit or NO_LIMIT)

    def slide(self, rows: list[Any], lengths: tuple[int, ...]) -> list[Any]:
        """Add rows, given as columns, and return for each length the results after each row."""
        results = self._advance(rows, self.limit or max(lengths), lengths)
        order = sorted(lengths, reverse=True)
        lines = (final_results(results, self.aggregate, self._no_rows, order.index(length)) for length in lengths)
        return [of_rows_with_values(self.aggregate, line, present_in_all(rows)) for line in lines]

    def evict(self, before: Any = None) -> None:
        """Remove the oldest row."""
        if before is not None:
            raise no_times("evict(before=…)")
        if len(self) == 0:
            raise no_row()
        self._advance(self._no_rows, len(self) - 1)

    def evict_at(self, position: int) -> None:
        """Raise ValueError: a compiled window evicts the oldest row only."""
        if self.algorithm.evicts_any:
            raise ValueError(
                "evict(at=…): this window was filled by columns, so it evicts only the oldest row. Insert rows one by one."
            )
        super().evict_at(position)

    def query(self, last: int | None = None) -> Any:
        """Return the result for the whole window or its `last` rows."""
        results = self._advance(self._no_rows, NO_LIMIT, (last or max(len(self), 1),), emit_now=True)
        value = final_results(results, self.aggregate, self._no_rows, 0)[0].as_py()
        has_none = value is None or (self.aggregate.result.of_newest and self._newest_is_null)
        return self.aggregate.result.empty if has_none else value

    @property
    def rows_so_far(self) -> int:
        """The number of rows that were ever inserted, those before this window included."""
        return self.rows_before + int(self.state.span[1])

    def __len__(self) -> int:
        """Return the number of rows in the window, nulls included."""
        return int(self.state.span[1] - self.state.span[0])

    def encode(self, described: dict[str, Any]) -> bytes:
        """Return the window as bytes; `described` goes into their header."""
        self._refuse_if_lost()
        described |= {"types": types_to_text(self.types), "ranges": list(self.ranges), "capacity": self.capacity}
        described |= {"functions": self._functions(), "python": sys.implementation.cache_tag}
        described |= {"newest_is_null": self._newest_is_null}
        return encode_state(self.state, described)

    def decode(self, data: bytes, described: dict[str, Any]) -> None:
        """Replace the state by that of the bytes. Raise ValueError if the aggregate's functions have changed."""
        # Another version of Python compiles the same function to other bytecode: then they can't be compared.
        if described["python"] == sys.implementation.cache_tag and described["functions"] != self._functions():
            raise ValueError(
                f"lift or combine of {self.aggregate.name} has changed since this window was frozen. "
                "Thaw it with the same aggregate."
            )
        self.capacity = described["capacity"]
        self._newest_is_null = described.get("newest_is_null", False)
        self.state = decode_state(data, self.state)

    def _functions(self) -> str:
        """Return the fingerprint of the functions that make partials; lower may change."""
        aggregate = self.kernel.design.aggregates[0]
        functions = (aggregate.lift, aggregate.combine, aggregate.inverse)
        return fingerprint(*(function for function in functions if function is not None))

    def _advance(
        self, columns: list[Column], limit: int, lengths: tuple[int, ...] = (), *, emit_now: bool = False
    ) -> list[ResultColumn]:
        columns = [
            nulls(len(column), dtype) if column.type != dtype else column
            for column, dtype in zip(columns, self.types, strict=True)
        ]
        self._refuse_if_lost()
        validity = present_in_all(columns)
        if self._refuses_nulls and len(validity):
            raise ValueError(
                f"{self.algorithm.about.name} counts inserts, not nulls, in several ranges: use slideside."
            )
        self._make_room(max(1, min(limit, len(self) + len(columns[0]))))
        ordered = sorted(lengths, reverse=True)
        numbers = np.array([self._number_of(length) for length in ordered], np.int64)
        options: dict[str, Any] = {"limit": limit, "lengths": np.array(ordered, np.int64), "numbers": numbers}
        values = tuple(column.values for column in columns)
        try:
            results = self.kernel.advance(self.state, values, validity, **options, emit_now=emit_now)
        except Exception as error:
            self._failure = error
            raise
        rows = len(columns[0])
        if rows:
            self._newest_is_null = len(validity) > 0 and not validity[(rows - 1) // 8] >> (rows - 1) % 8 & 1
        return results

    def _number_of(self, length: int) -> int:
        """Return the number of the narrowest range that holds a length: the result is the same without more rows."""
        number = bisect_left(self.ranges, length)
        self._check_stored(length)
        return min(number, max(0, len(self.ranges) - 1))

    def _make_room(self, rows: int) -> None:
        if rows > self.capacity:
            self.capacity = max(rows, 2 * self.capacity)
            self.state = self.kernel.grow(self.state, self.capacity)


def _as_column(value: Any, dtype: pa.DataType, *, compared: bool) -> Column:
    """Return a column with one row. Raise TypeError if the value does not fit the type exactly."""
    message = f"{value!r} does not fit into a window of {dtype}. Insert values of that type, or make a new Aggregator."
    try:
        # Arrow infers int64 for integers, which does not hold all of uint64.
        whole = dtype == pa.uint64() and isinstance(value, Integral) and not isinstance(value, bool)
        array = python_to_arrow([value], dtype if whole else None)
        if array.type == pa.string() or (dtype == pa.bool_() and column_type(array.type).group == "int"):
            raise TypeError(message)
        return read_numbers(array.cast(dtype), compared=compared)  # unlike pa.array(…, dtype), it doesn't round
    except (pa.ArrowException, OverflowError) as error:
        raise TypeError(message) from error


def read_frozen(aggregate: Aggregate[Any], data: bytes) -> dict[str, Any]:
    """Return the header of a frozen window. Raise ValueError if the window computes another aggregate."""
    described: dict[str, Any] = read_header(data)
    if described["aggregate"] != [aggregate.name, *aggregate.columns]:
        frozen, *columns = described["aggregate"]
        label = f"{aggregate.name}({', '.join(aggregate.columns)})"
        raise ValueError(
            f"The frozen window computes {frozen}({', '.join(columns)}), not {label}. Pass the same aggregate to thaw."
        )
    return described


def types_to_text(types: tuple[pa.DataType, ...]) -> str:
    """Return Arrow types as text, in Arrow's own encoding.

    >>> [str(column.type) for column in columns_from_text(types_to_text((pa.timestamp("us", "UTC"), pa.int64())))]
    ['timestamp[us, tz=UTC]', 'int64']
    """
    schema = pa.schema([(str(number), dtype) for number, dtype in enumerate(types)])
    return base64.b64encode(schema.serialize()).decode()


def columns_from_text(text: str) -> list[Column]:
    """Return empty columns of the Arrow types that `types_to_text` encoded."""
    return [nulls(0, dtype) for dtype in pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text))).types]
