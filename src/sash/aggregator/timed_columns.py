"""Columns of rows with times, in order of arrival, for FiBA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sash.aggregates.base import Aggregate
from sash.aggregator.column_io import final_results, lowered_by_kernel, rows_of
from sash.columns.column_types import CannotCompileError
from sash.columns.read_column import Column, objects_of, present_in_all, read_numbers, to_arrow, types_of
from sash.columns.result_column import column_to_arrow
from sash.kernels.kernel_arrays import Positions
from sash.kernels.timed_kernel import TimedKernel

LARGEST_TIME = 2**61
"""Sums and differences of times and lengths up to this one fit into 64 bits."""


def read_times(times: Any, rows: int) -> Positions:
    """Return the times of rows as integers. Raise TypeError or ValueError if they are not one integer for each row."""
    array = to_arrow(times)
    if len(array) and not pa.types.is_integer(array.type):
        raise TypeError(
            f"times= has {array.type}, but slide needs integers. Cast the times, for example to microseconds."
        )
    if array.null_count or len(array) != rows:
        raise ValueError(
            f"times= has {len(array)} times, {array.null_count} of them null, for {rows} rows. Pass a time for every row."
        )
    ticks = np.ascontiguousarray(array.cast(pa.int64()).to_numpy())
    if rows and max(abs(int(ticks.min())), abs(int(ticks.max()))) > LARGEST_TIME:
        raise ValueError(f"times= has times beyond {LARGEST_TIME}. Use a coarser unit.")
    return ticks


def slide_times(aggregate: Aggregate[Any], columns: list[Column], times: Positions, length: int) -> pa.Array:
    """Return, for each row in order of arrival, the result of the rows with times after newest - length.

    Raise CannotCompileError if the rows must be interpreted.
    """
    if aggregate.result.of_newest:
        raise CannotCompileError(
            f"{aggregate.name} is not compiled for rows out of order: its result is of the newest row."
        )
    bits = present_in_all(columns)
    kernel = TimedKernel(lowered_by_kernel(aggregate), types_of(aggregate, columns))
    results = kernel.slide_times(tuple(column.values for column in columns), times, length, bits)
    return final_results(results, aggregate, columns)


def joined(held: Sequence[Column], columns: list[Column], *, compared: bool) -> list[Column]:
    """Return columns with the rows of a window before them. Raise TypeError if their types differ."""
    if [one.type for one in held] != [one.type for one in columns]:
        before, now = (", ".join(str(one.type) for one in each) for each in (held, columns))
        raise TypeError(
            f"This window holds rows of {before}, but the new rows are {now}. Cast the column, or make a new Aggregator."
        )
    pairs = zip(held, columns, strict=True)
    return [
        read_numbers(pa.concat_arrays([column_to_arrow(one), column_to_arrow(other)]), compared=compared)
        for one, other in pairs
    ]


def joined_times(held: Positions, times: Positions) -> Positions:
    """Return times with those of a window before them."""
    return np.concatenate([held, times])


def rows_within(columns: list[Column], times: Positions, length: int) -> tuple[tuple[Column, ...], Positions]:
    """Return the rows with times after newest - length, in order of time, then of arrival."""
    kept = np.flatnonzero(times > times.max() - length) if len(times) else np.empty(0, np.int64)
    kept = kept[np.argsort(times[kept], kind="stable")]
    taken = [read_numbers(column_to_arrow(column).take(pa.array(kept)), compared=column.flipped) for column in columns]
    return tuple(taken), times[kept]


def rows_with_times(given: tuple[Any, ...], times: Any, inputs: int) -> list[tuple[Any, tuple[Any, ...]]]:
    """Return pairs of a time and the values of a row. Raise ValueError if there is not a time for every row."""
    return list(zip(objects_of(times), rows_of(given, inputs), strict=True))


def row_objects(columns: Sequence[Column], aggregate: Aggregate[Any]) -> list[tuple[Any, ...]]:
    """Return the rows of columns as Python objects."""
    return rows_of(tuple(map(column_to_arrow, columns)), aggregate.inputs)
