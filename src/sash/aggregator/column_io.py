"""The columns that an Aggregator reads, and the columns of results that it returns.

Some results depend on more than `lower`: on a second number of the partial, or on a time. Kernels return plain numbers, so they lower the
second number as a result of its own. The engines finish results in the same way:

    partial ──lower─────► result ──┐
    partial ──auxiliary─► number ──┼──finish──► final result
    time of the result ────────────┘
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregates.base import Aggregate, with_fields
from sash.aggregates.ends import last
from sash.aggregator.object_window import ObjectWindow
from sash.algorithms import Algorithm
from sash.columns.buffers import Bits, as_arrow, as_numpy, unpack
from sash.columns.column_types import CannotCompileError, column_type
from sash.columns.python_values import python_to_arrow
from sash.columns.read_column import Column, check_is_column, objects_of, ones, read_numbers, to_arrow
from sash.columns.result_column import difference_type, maps_to_arrow, objects_to_arrow, results_to_arrow
from sash.columns.time_probes import check_arithmetic, gives_for
from sash.kernels.kernel_arrays import Positions, ResultColumn, Values, check_bounds

KEYS = last("keys")
"""An aggregate that returns values of its column, as the keys of a map are."""


def read_columns(given: tuple[Any, ...], aggregate: Aggregate[Any]) -> list[Column]:
    """Convert the columns of an aggregate; `count()` reads only the length of its column.

    Raise CannotCompileError if a column must be interpreted.
    """
    if aggregate.inputs == 0:
        check_is_column(given[0])
        return [ones(len(given[0]))]
    columns = [read_numbers(values, compared=aggregate.only_compares) for values in given]
    lengths = [str(len(column)) for column in columns]
    if len(set(lengths)) > 1:
        raise ValueError(f"The columns have different lengths: {', '.join(lengths)} rows.")
    check_arithmetic(aggregate, [column.type for column in columns])
    return columns


def rows_of(given: tuple[Any, ...], inputs: int) -> list[tuple[Any, ...]]:
    """Return the rows of columns as Python objects, for the interpreter."""
    rows = list(zip(*(objects_of(values) for values in given), strict=True))
    return rows if inputs else [()] * len(rows)


def refuse_nanoseconds(given: tuple[Any, ...], aggregate: Aggregate[Any]) -> None:
    """Raise TypeError for times whose middle would be a float, which has too few digits; a query computes it in ticks."""
    for values in given if "ticks" in aggregate.forms.variants else ():
        dtype = getattr(values, "type", getattr(values, "dtype", None))
        if getattr(dtype, "unit", "") == "ns" or str(dtype).endswith("64[ns]"):
            raise TypeError(
                f"Aggregator cannot compute {aggregate.name} of nanoseconds ({dtype}). Cast the column to microseconds, "
                "or use a Query."
            )


def final_results(
    results: Sequence[ResultColumn], aggregate: Aggregate[Any], columns: list[Column], line: int | None = None
) -> pa.Array:
    """Return what a kernel lowered (see `lowered_by_kernel`) as Arrow, after the last step of the aggregate.

    With several ranges, each has a `line` in the results.
    """
    if line is not None:
        results = [
            ResultColumn(result.values[line], None if result.bits is None else result.bits[line]) for result in results
        ]
    arrays = [
        results_to_arrow(result.values, result.bits, lowered, columns)
        for result, lowered in zip(results, lowered_by_kernel(aggregate), strict=True)
    ]
    return finish_column(aggregate, arrays[0], arrays[1] if len(arrays) > 1 else None)


def of_rows_with_values(aggregate: Aggregate[Any], results: pa.Array, bits: Bits) -> pa.Array:
    """Return results that are null where the newest row has a null, if they belong to that row; `bits` are those of the newest rows."""
    if not aggregate.result.of_newest or not len(bits):
        return results
    return pc.if_else(as_arrow(unpack(bits, len(results))), results, pa.scalar(None, results.type))


def interpreted_results(aggregate: Aggregate[Any], results: list[Any], given: tuple[Any, ...]) -> pa.Array:
    """Return interpreted results as Arrow; times in the type of their column, as compiled ones."""
    if aggregate.forms.inner is not None:
        to_keys, to_items = partial(interpreted_results, KEYS), partial(interpreted_results, aggregate.forms.inner)
        return maps_to_arrow(results, partial(to_keys, given=given[:1]), partial(to_items, given=given[1:]))
    if not given or any(isinstance(values, list | tuple) for values in given):
        return objects_to_arrow(results)
    try:
        types = [to_arrow(values).type for values in given]
        gives = gives_for(aggregate, types)
    except CannotCompileError:
        return objects_to_arrow(results)
    row = column_type(types[-1])
    if gives == "value" and (row.is_time or row.group == "interval"):
        return python_to_arrow(results, types[-1])
    if gives == "difference" and row.is_time:
        return pa.array(results, difference_type(types[-1]))
    return objects_to_arrow(results)


def interpret_between(
    aggregate: Aggregate[Any], algorithm: type[Algorithm[Any]], given: tuple[Any, ...], begins: Any, ends: Any
) -> pa.Array:
    """Return the result of the rows begins[i] … ends[i] - 1 for each i, for columns of objects, interpreted."""
    rows = rows_of(given, aggregate.inputs)
    begins, ends = as_positions(begins), as_positions(ends)
    check_bounds(begins, ends, len(rows))
    window = ObjectWindow(aggregate, algorithm, (), 0)
    results = []
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        window.evict_to(begin)
        for row in rows[window.rows_so_far : end]:
            window.insert(row)
            window.evict_to(begin)  # a row between two windows is in no window
        results.append(window.query())
    return interpreted_results(aggregate, results, given)


def as_positions(bounds: Any) -> Positions:
    """Return bounds as row numbers. Raise TypeError if they are not a column of integers."""
    array = np.asarray(bounds)
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise TypeError(f"bounds must be two columns of row numbers (integers), not of {array.dtype}.")
    return np.ascontiguousarray(array, np.int64)


def lowered_by_kernel(aggregate: Aggregate[Any]) -> list[Aggregate[Any]]:
    """Return what a kernel lowers from a partial: the result, and the second number if there is one.

    >>> from sash import agg
    >>> [one.lower.__name__ for one in lowered_by_kernel(agg.slope("y", "x"))]
    ['slope_of', 'x_moment']
    """
    auxiliary = aggregate.result.auxiliary
    if auxiliary is None:
        return [aggregate]
    return [aggregate, with_fields(aggregate, lower=auxiliary, gives="number", empty=None)]


def finish_column(
    aggregate: Aggregate[Any], results: pa.Array, auxiliary: pa.Array | None, ticks: Callable[[], Values] | None = None
) -> pa.Array:
    """Return the final results. `ticks` returns the times that they belong to; None for those of the newest values."""
    if aggregate.result.finish is None:
        return results
    numbers = None if auxiliary is None else _numbers(auxiliary)
    times = ticks() if ticks is not None else numbers
    final = np.ma.MaskedArray(aggregate.result.finish(_numbers(results), numbers, times))
    return as_arrow(final.data, np.ma.getmaskarray(final) | as_numpy(results.is_null()))


def _numbers(column: pa.Array) -> Any:
    """Return a column as an array, 0 for null."""
    values = as_numpy(column)
    return np.where(as_numpy(column.is_null()), 0, values) if column.null_count else values
