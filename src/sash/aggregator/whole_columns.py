"""Slides over whole columns, for windows that begin empty and are not kept: the fastest way, compiled or interpreted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sash.aggregates.base import Aggregate, object_lift
from sash.aggregator.columns import (
    Column,
    final_line,
    final_results,
    interpreted_results,
    of_rows_with_values,
    present_in_all,
    rows_of,
    types_of,
)
from sash.aggregator.finish import lowered_by_kernel
from sash.algorithms import Algorithm
from sash.kernels import Kernel, loops
from sash.kernels.kernel_io import Positions, check_bounds
from sash.kernels.whole_column import column_kernel


def slide_once(
    aggregate: Aggregate[Any], algorithm: type[Algorithm[Any]], columns: list[Column], length: int
) -> pa.Array:
    """Return each row's result over the newest `length` rows."""
    bits, inputs = present_in_all(columns), types_of(aggregate, columns)
    lowered = lowered_by_kernel(aggregate)
    kernel = column_kernel(algorithm, lowered, inputs, loops.slide_rows, nullable=len(bits) > 0, length=length)
    results = kernel.slide_rows(tuple(column.values for column in columns), length, bits)
    return of_rows_with_values(aggregate, final_results(results, aggregate, columns), bits)


def slide_ranges_once(
    aggregate: Aggregate[Any], algorithm: type[Algorithm[Any]], columns: list[Column], lengths: tuple[int, ...]
) -> list[pa.Array]:
    """Return each row's results over several ranges, which ascend. The columns have no nulls."""
    kernel = Kernel(algorithm, lowered_by_kernel(aggregate), types_of(aggregate, columns), loops.slide_ranges)
    results = kernel.slide_ranges(tuple(column.values for column in columns), lengths)
    return [final_line(results, line, aggregate, columns) for line in reversed(range(len(lengths)))]


def slide_between(
    aggregate: Aggregate[Any], algorithm: type[Algorithm[Any]], columns: list[Column], begins: Any, ends: Any
) -> pa.Array:
    """Return the result of the rows begins[i] … ends[i] - 1 for each i."""
    bits, inputs = present_in_all(columns), types_of(aggregate, columns)
    kernel = column_kernel(algorithm, lowered_by_kernel(aggregate), inputs, loops.slide_between, nullable=len(bits) > 0)
    values, ends = tuple(column.values for column in columns), as_positions(ends)
    results = kernel.slide_between(values, as_positions(begins), ends, bits)
    if aggregate.of_newest and len(bits):
        present = np.unpackbits(bits, count=len(columns[0]), bitorder="little")
        bits = np.packbits(present[np.maximum(ends - 1, 0)], bitorder="little")  # an empty window has no result anyway
    return of_rows_with_values(aggregate, final_results(results, aggregate, columns), bits)


def interpret_between(
    aggregate: Aggregate[Any], algorithm: type[Algorithm[Any]], given: tuple[Any, ...], begins: Any, ends: Any
) -> pa.Array:
    """Return the same for columns of objects, by the same loop, interpreted."""
    rows = rows_of(given, aggregate.inputs)
    begins, ends = as_positions(begins), as_positions(ends)
    check_bounds(begins, ends, len(rows))
    results = [aggregate.empty] * len(begins)
    step, newest = "", 0  # for the note of an error
    lift_row = object_lift(aggregate)

    def lift(row: int) -> Any:
        nonlocal step, newest
        step, newest = "lifting", row
        partial = lift_row(*rows[row])
        step = "combining up to"
        return partial

    def emit(row: int, _: int, partial: Any) -> None:
        nonlocal step
        step = "lowering the window that ends with"
        if not aggregate.of_newest or None not in rows[ends[row] - 1]:
            results[row] = aggregate.result_of(partial)
        step = "combining up to"

    try:
        loops.slide_between(
            algorithm(aggregate),
            len(begins),
            begins.tolist(),
            ends.tolist(),
            max(1, aggregate.at_least),
            lambda row: None not in rows[row],
            lift,
            emit,
        )
    except Exception as error:
        error.add_note(f"{aggregate.label} failed while {step} row {newest}.")
        raise
    return interpreted_results(aggregate, results, given)


def as_positions(bounds: Any) -> Positions:
    """Return bounds as row numbers. Raise TypeError if they are not a column of integers."""
    array = np.asarray(bounds)
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        message = f"bounds must be two columns of row numbers (integers), not of {array.dtype}."
        raise TypeError(message)
    return np.ascontiguousarray(array, np.int64)
