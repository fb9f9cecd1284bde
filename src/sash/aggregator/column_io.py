"""The columns that an Aggregator reads, and the columns of results that it returns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregates.base import Aggregate
from sash.aggregates.ends import last
from sash.aggregator.finish import finish_column, lowered_by_kernel
from sash.columns.buffers import Bits, as_arrow, unpack
from sash.columns.column_types import CannotCompileError, column_type
from sash.columns.read_column import Column, check_is_column, objects_of, ones, read_numbers, to_arrow
from sash.columns.result_column import difference_type, maps_to_arrow, objects_to_arrow, results_to_arrow
from sash.columns.time_probes import check_arithmetic, gives_for
from sash.kernels.kernel_arrays import ResultColumn

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
    if len({len(column) for column in columns}) > 1:
        raise ValueError(
            f"The columns have different lengths: {', '.join(str(len(column)) for column in columns)} rows."
        )
    check_arithmetic(aggregate, [column.type for column in columns])
    return columns


def rows_of(given: tuple[Any, ...], inputs: int) -> list[tuple[Any, ...]]:
    """Return the rows of columns as Python objects, for the interpreter."""
    rows = list(zip(*(objects_of(values) for values in given), strict=True))
    return rows if inputs else [()] * len(rows)


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
        return pa.array(results, types[-1])
    if gives == "difference" and row.is_time:
        return pa.array(results, difference_type(types[-1]))
    return objects_to_arrow(results)
