"""A window of numbers: the algorithm's class fused with the aggregate, its state in NumPy arrays."""

from __future__ import annotations

import base64
import sys
from bisect import bisect_left
from typing import Any

import numpy as np
import pyarrow as pa

from sash.aggregates.base import Aggregate
from sash.aggregator.columns import (
    Column,
    empty_column,
    nulls,
    objects_to_arrow,
    present_in_all,
    read_columns,
    read_numbers,
    results_to_arrow,
    rows_of,
)
from sash.algorithms import Algorithm, OrderStatisticsTree
from sash.kernels import CannotCompileError, Kernel, loops
from sash.kernels.array_codec import decode_state, encode_state, read_header
from sash.kernels.functions import fingerprint
from sash.kernels.kernel_io import Positions, ResultColumn, check_bounds
from sash.kernels.lanes import count_lanes
from sash.kernels.ranks import RankKernel
from sash.kernels.read import read_algorithm

NO_LIMIT = 2**62


class Compiled:
    """Keeps a window in machine code's own form, between calls too."""

    def __init__(
        self,
        aggregate: Aggregate[Any],
        algorithm: type[Algorithm[Any]],
        ranges: tuple[int, ...],
        columns: list[Column],
        limit: int = 0,
    ) -> None:
        """Compile for columns like these; `ranges` are the lengths that will be asked for, where they are known."""
        if counts_inserts(algorithm, ranges) and len(present_in_all(columns)):
            message = f"{algorithm.about.name} counts inserts, so for several ranges it must be given the nulls too."
            raise CannotCompileError(message)
        self.aggregate = aggregate
        self.algorithm = algorithm
        self.ranges = ranges
        self.types = tuple(column.type for column in columns)
        self.limit = limit
        self._nothing = [empty_column(kind) for kind in self.types]
        self.kernel = Kernel(algorithm, aggregate, _names(aggregate, self._nothing), loops.advance)
        self.capacity = max(ranges, default=8)
        self.state = self.kernel.new_state(ranges, self.capacity)
        self._failure: Exception | None = None

    def retyped(self, columns: list[Column]) -> Compiled:
        """Return the window for columns like these, another one if it holds nothing but nulls that had no type yet."""
        if any(kind != pa.null() for kind in self.types) or all(column.type == pa.null() for column in columns):
            return self
        typed = Compiled(self.aggregate, self.algorithm, self.ranges, columns, self.limit)
        typed.insert_many([nulls(len(self), kind) for kind in typed.types])
        return typed

    def takes(self, columns: list[Column]) -> bool:
        """Tell whether columns fit what the window holds; those of nulls only fit any."""
        return all(column.type in (kind, pa.null()) for column, kind in zip(columns, self.types, strict=True))

    def insert(self, values: tuple[Any, ...]) -> None:
        """Add the newest row."""
        self.insert_many([self._as_column(value, kind) for value, kind in zip(values, self.types, strict=True)])

    def insert_many(self, columns: list[Column]) -> None:
        """Add rows, letting go of the oldest where there would be more than the limit, if there is one."""
        self._advance(columns, self.limit or NO_LIMIT)

    def slide(self, columns: list[Column], lengths: tuple[int, ...]) -> list[pa.Array]:
        """Add rows and return what each length answers after each of them."""
        answer = self._advance(columns, self.limit or max(lengths), lengths)
        order = sorted(lengths, reverse=True)
        results = {
            length: result_of_range(answer, number, self.aggregate, columns) for number, length in enumerate(order)
        }
        return [results[length] for length in lengths]

    def evict(self) -> None:
        """Remove the oldest row."""
        self._advance(self._nothing, len(self) - 1)

    def query(self, last: int | None = None) -> Any:
        """Return the result for the whole window or its `last` rows."""
        answer = self._advance(self._nothing, NO_LIMIT, (last or max(len(self), 1),), answer_now=True)
        result = result_of_range(answer, 0, self.aggregate, self._nothing)[0].as_py()
        return self.aggregate.empty if result is None else result

    def __len__(self) -> int:
        """Return how many rows are in the window, nulls included."""
        return int(self.state.span[1] - self.state.span[0])

    def freeze(self, described: dict[str, Any]) -> bytes:
        """Return the window as bytes that `thaw` makes the same window of."""
        self._refuse_if_lost()
        described |= {"types": types_to_text(self.types), "ranges": list(self.ranges), "capacity": self.capacity}
        described |= {"functions": self._functions(), "python": sys.implementation.cache_tag}
        return encode_state(self.state, described)

    def thaw(self, data: bytes, described: dict[str, Any]) -> None:
        """Take over a window that was frozen."""
        # Another Python compiles the same function to other bytecode, so that one can't tell.
        if described["python"] == sys.implementation.cache_tag and described["functions"] != self._functions():
            message = f"lift or combine of {self.aggregate.name} is another than when this window was frozen."
            raise ValueError(message)
        self.capacity = described["capacity"]
        self.state = decode_state(data, self.state)

    def _functions(self) -> str:
        """Return what tells apart the functions that made the partials; lower may be another one."""
        aggregate = self.kernel.aggregates[0]
        known = [
            function for function in (aggregate.lift, aggregate.combine, aggregate.inverse) if function is not None
        ]
        return fingerprint(*known)

    def _refuse_if_lost(self) -> None:
        if self._failure is not None:
            message = f"{self.aggregate.name} raised an error before, so this window is lost: make a new Aggregator."
            raise RuntimeError(message) from self._failure

    def _refuse_nulls(self, columns: list[Column]) -> None:
        """Say so if the algorithm counts inserts and there are nulls, which it would not count."""
        if counts_inserts(self.algorithm, self.ranges) and len(present_in_all(columns)):
            message = f"{self.algorithm.about.name} counts inserts, not nulls, in several ranges: use slideside."
            raise ValueError(message)

    def _advance(
        self, columns: list[Column], limit: int, lengths: tuple[int, ...] = (), *, answer_now: bool = False
    ) -> ResultColumn:
        columns = [
            nulls(len(column), kind) if column.type != kind else column
            for column, kind in zip(columns, self.types, strict=True)
        ]
        self._refuse_if_lost()
        self._refuse_nulls(columns)
        self._make_room(max(1, min(limit, len(self) + len(columns[0]))))
        ordered = sorted(lengths, reverse=True)
        try:
            [answer] = self.kernel.advance(
                self.state,
                tuple(column.values for column in columns),
                present_in_all(columns),
                limit=limit,
                lengths=np.array(ordered, np.int64),
                numbers=np.array([self._number_of(length) for length in ordered], np.int64),
                answer_now=answer_now,
            )
        except Exception as error:
            self._failure = error
            raise
        return answer

    def _number_of(self, length: int) -> int:
        """Return the number of the narrowest range that a length fits into: it gives the same if there are no more rows."""
        number = bisect_left(self.ranges, length)
        if number == len(self.ranges) and counts_inserts(self.algorithm, self.ranges):
            message = f"{self.algorithm.about.name} keeps the newest {max(self.ranges)} rows at most, not {length}."
            raise ValueError(message)
        return min(number, max(0, len(self.ranges) - 1))

    def _make_room(self, rows: int) -> None:
        if rows > self.capacity:
            self.capacity = max(rows, 2 * self.capacity)
            self.state = self.kernel.grow(self.state, self.capacity)

    def _as_column(self, value: Any, kind: pa.DataType) -> Column:
        message = f"{value!r} doesn't fit a window of {kind}: insert values of that type, or make a new Aggregator."
        try:
            given = pa.array([value])
            if pa.types.is_string(given.type) or (pa.types.is_boolean(kind) and pa.types.is_integer(given.type)):
                raise TypeError(message)
            return read_numbers(given.cast(kind))  # unlike pa.array(…, kind), it doesn't round
        except (pa.ArrowException, OverflowError) as error:
            raise TypeError(message) from error


def counts_inserts(algorithm: type[Algorithm[Any]], ranges: tuple[int, ...]) -> bool:
    """Tell whether an algorithm would have to be given the nulls too, which a kernel doesn't."""
    return algorithm.takes_nulls and len(ranges) > 1


def _names(aggregate: Aggregate[Any], columns: list[Column]) -> tuple[str, ...]:
    return tuple(column.values.dtype.name for column in columns[: aggregate.inputs])


def types_to_text(types: tuple[pa.DataType, ...]) -> str:
    """Return Arrow types in Arrow's own form, as text.

    >>> [str(column.type) for column in columns_from_text(types_to_text((pa.timestamp("us", "UTC"), pa.int64())))]
    ['timestamp[us, tz=UTC]', 'int64']
    """
    schema = pa.schema([(str(number), kind) for number, kind in enumerate(types)])
    return base64.b64encode(schema.serialize()).decode()


def columns_from_text(text: str) -> list[Column]:
    """Return empty columns of the Arrow types that `types_to_text` was given."""
    return [empty_column(kind) for kind in pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text))).types]


def slide_once(
    aggregate: Aggregate[Any], algorithm: type[Algorithm[Any]], columns: list[Column], length: int
) -> pa.Array:
    """Return each row's result over the newest `length` rows, from a window that begins empty and is not kept."""
    bits = present_in_all(columns)
    kernel = _kernel_for(aggregate, algorithm, columns, loops.slide_rows, nullable=len(bits) > 0, length=length)
    [answer] = kernel.slide_rows(tuple(column.values for column in columns), length, bits)
    return results_to_arrow(answer, aggregate, columns)


def slide_ranges_once(
    aggregate: Aggregate[Any], algorithm: type[Algorithm[Any]], columns: list[Column], lengths: tuple[int, ...]
) -> list[pa.Array]:
    """Return each row's results over several ranges, from a window that begins empty and is not kept; no nulls."""
    kernel = Kernel(algorithm, aggregate, _names(aggregate, columns), loops.slide_ranges)
    [answer] = kernel.slide_ranges(tuple(column.values for column in columns), lengths)
    return [result_of_range(answer, len(lengths) - 1 - number, aggregate, columns) for number in range(len(lengths))]


def result_of_range(answer: ResultColumn, number: int, aggregate: Aggregate[Any], columns: list[Column]) -> pa.Array:
    """Return the line of one range as Arrow."""
    bits = None if answer.bits is None else answer.bits[number]
    return results_to_arrow(ResultColumn(answer.values[number], bits), aggregate, columns)


def slide_between(
    aggregate: Aggregate[Any], algorithm: type[Algorithm[Any]], columns: list[Column], begins: Any, ends: Any
) -> pa.Array:
    """Return the result of the rows begins[i] … ends[i] - 1 for each i."""
    bits = present_in_all(columns)
    kernel = _kernel_for(aggregate, algorithm, columns, loops.slide_between, nullable=len(bits) > 0)
    [answer] = kernel.slide_between(
        tuple(column.values for column in columns), as_positions(begins), as_positions(ends), bits
    )
    return results_to_arrow(answer, aggregate, columns)


def _kernel_for(
    aggregate: Aggregate[Any],
    algorithm: type[Algorithm[Any]],
    columns: list[Column],
    loop: Any,
    *,
    nullable: bool,
    length: int = 0,
) -> Kernel:
    """Return the fastest kernel for columns that are there as a whole."""
    inputs = _names(aggregate, columns)
    if algorithm is OrderStatisticsTree:  # what is known as a whole can be sorted beforehand, which is faster by far
        return RankKernel(aggregate, inputs)
    sharing = loop is loops.slide_rows and not nullable
    lanes = count_lanes(read_algorithm(algorithm), length) if sharing else 1
    return Kernel(algorithm, aggregate, inputs, loop, nullable=nullable, lanes=lanes)


def interpret_between(
    aggregate: Aggregate[Any], algorithm: type[Algorithm[Any]], given: tuple[Any, ...], begins: Any, ends: Any
) -> pa.Array:
    """Return the same for columns of objects, by the same loop, interpreted."""
    rows = rows_of(given, aggregate.inputs)
    begins, ends = as_positions(begins), as_positions(ends)
    check_bounds(begins, ends, len(rows))
    results = [aggregate.empty] * len(begins)

    def emit(row: int, _: int, partial: Any) -> None:
        results[row] = aggregate.lower(partial)

    loops.slide_between(
        algorithm(aggregate),
        len(begins),
        begins.tolist(),
        ends.tolist(),
        max(1, aggregate.at_least),
        lambda row: None not in rows[row],
        lambda row: aggregate.lift(*rows[row]),
        emit,
    )
    return objects_to_arrow(results)


def as_positions(bounds: Any) -> Positions:
    """Return bounds as row numbers, or say that they are none."""
    array = np.asarray(bounds)
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        message = f"bounds: each is a column of row numbers, not of {array.dtype}."
        raise TypeError(message)
    return np.ascontiguousarray(array, np.int64)


__all__ = [
    "CannotCompileError",
    "Compiled",
    "columns_from_text",
    "interpret_between",
    "objects_to_arrow",
    "read_columns",
    "read_header",
    "rows_of",
    "slide_between",
    "slide_once",
    "slide_ranges_once",
]
