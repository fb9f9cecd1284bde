"""Slides over whole columns, for windows that begin empty and are not kept: the fastest way, compiled or interpreted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sash.aggregates.base import Aggregate
from sash.aggregator.columns import (
    Column,
    interpreted_results,
    line_to_arrow,
    present_in_all,
    results_to_arrow,
    rows_of,
    types_of,
)
from sash.algorithms import Algorithm
from sash.kernels import Kernel, loops
from sash.kernels.kernel_io import Positions, check_bounds
from sash.kernels.whole_column import column_kernel


def slide_once(
    aggregate: Aggregate[Any], algorithm: type[Algorithm[Any]], columns: list[Column], length: int
) -> pa.Array:
    """Return each row's result over the newest `length` rows."""
    bits, inputs = present_in_all(columns), types_of(aggregate, columns)
    kernel = column_kernel(algorithm, [aggregate], inputs, loops.slide_rows, nullable=len(bits) > 0, length=length)
    [result] = kernel.slide_rows(tuple(column.values for column in columns), length, bits)
    return results_to_arrow(result, aggregate, columns)


def slide_ranges_once(
    aggregate: Aggregate[Any], algorithm: type[Algorithm[Any]], columns: list[Column], lengths: tuple[int, ...]
) -> list[pa.Array]:
    """Return each row's results over several ranges, which ascend. The columns have no nulls."""
    kernel = Kernel(algorithm, aggregate, types_of(aggregate, columns), loops.slide_ranges)
    [result] = kernel.slide_ranges(tuple(column.values for column in columns), lengths)
    return [line_to_arrow(result, line, aggregate, columns) for line in reversed(range(len(lengths)))]


def slide_between(
    aggregate: Aggregate[Any], algorithm: type[Algorithm[Any]], columns: list[Column], begins: Any, ends: Any
) -> pa.Array:
    """Return the result of the rows begins[i] … ends[i] - 1 for each i."""
    bits, inputs = present_in_all(columns), types_of(aggregate, columns)
    kernel = column_kernel(algorithm, [aggregate], inputs, loops.slide_between, nullable=len(bits) > 0)
    values = tuple(column.values for column in columns)
    [result] = kernel.slide_between(values, as_positions(begins), as_positions(ends), bits)
    return results_to_arrow(result, aggregate, columns)


def interpret_between(
    aggregate: Aggregate[Any], algorithm: type[Algorithm[Any]], given: tuple[Any, ...], begins: Any, ends: Any
) -> pa.Array:
    """Return the same for columns of objects, by the same loop, interpreted."""
    rows = rows_of(given, aggregate.inputs)
    begins, ends = as_positions(begins), as_positions(ends)
    check_bounds(begins, ends, len(rows))
    results = [aggregate.empty] * len(begins)
    step, newest = "", 0  # for the note of an error

    def lift(row: int) -> Any:
        nonlocal step, newest
        step, newest = "lifting", row
        partial = aggregate.lift(*rows[row])
        step = "combining up to"
        return partial

    def emit(row: int, _: int, partial: Any) -> None:
        nonlocal step
        step = "lowering the window that ends with"
        results[row] = aggregate.lower(partial)
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
