"""Slides over whole columns, for windows that begin empty and are not kept: faster than a window with a state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sash.aggregates.base import Aggregate
from sash.aggregator.column_io import as_positions, final_results, lowered_by_kernel, of_rows_with_values
from sash.algorithms import Algorithm
from sash.columns.buffers import unpack
from sash.columns.read_column import Column, present_in_all, types_of
from sash.kernels import Kernel, loops
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
    return [final_results(results, aggregate, columns, line) for line in reversed(range(len(lengths)))]


def slide_between(
    aggregate: Aggregate[Any], algorithm: type[Algorithm[Any]], columns: list[Column], begins: Any, ends: Any
) -> pa.Array:
    """Return the result of the rows begins[i] … ends[i] - 1 for each i."""
    bits, inputs = present_in_all(columns), types_of(aggregate, columns)
    kernel = column_kernel(algorithm, lowered_by_kernel(aggregate), inputs, loops.slide_between, nullable=len(bits) > 0)
    values, ends = tuple(column.values for column in columns), as_positions(ends)
    results = kernel.slide_between(values, as_positions(begins), ends, bits)
    if aggregate.result.of_newest and len(bits):
        present = unpack(bits, len(columns[0]))
        bits = np.packbits(present[np.maximum(ends - 1, 0)], bitorder="little")  # an empty window has no result anyway
    return of_rows_with_values(aggregate, final_results(results, aggregate, columns), bits)
