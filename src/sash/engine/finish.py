"""The last step of aggregates whose results depend on more than their partials: on the time of the row, or on a second number.

    partial ──lower───► result ──┐
    partial ──beside──► number ──┼──finish──► final result
    time of the row, window_end ─┘

A pass lowers the second number as a result of its own, under a name that no column of the user has. `evaluate` calls `finish_columns`
for each window, so that all engines share this step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sash.aggregates.base import Aggregate
from sash.kernels.kernel_io import as_arrow, as_numpy
from sash.windows.base import Ints

SUFFIX = "\0beside"


def with_besides(aggregates: Mapping[str, Aggregate[Any]]) -> dict[str, Aggregate[Any]]:
    """Return aggregates by the names of their results, followed by those that lower second numbers from the same partials.

    >>> from sash import agg
    >>> [one.lower.__name__ for one in with_besides({"s": agg.slope("y", "x"), "n": agg.count()}).values()]
    ['slope_of', 'unchanged', 'x_moment']
    """
    besides = {
        f"{name}{SUFFIX}": replace(aggregate, lower=aggregate.beside, gives="number", empty=None)
        for name, aggregate in aggregates.items()
        if aggregate.beside is not None
    }
    return {**aggregates, **besides}


def lower_all(lowers: Sequence[Callable[[Any], Any]], partial: Any) -> tuple[Any, ...]:
    """Return what several functions make of a partial, for the interpreter."""
    return tuple(lower(partial) for lower in lowers)


def finish_columns(
    aggregates: Mapping[str, Aggregate[Any]], columns: Mapping[str, pa.Array], ticks: Callable[[], Ints]
) -> dict[str, pa.Array]:
    """Return the final results; `ticks` returns the times that they belong to."""
    finished = {name: column for name, column in columns.items() if not name.endswith(SUFFIX)}
    for name in finished:
        finish = aggregates[name].finish
        if finish is not None:
            besides = columns.get(f"{name}{SUFFIX}")
            results = _numbers(columns[name])
            final = np.ma.MaskedArray(finish(results, None if besides is None else _numbers(besides), ticks()))
            finished[name] = as_arrow(final.data, np.ma.getmaskarray(final) | as_numpy(columns[name].is_null()))
    return finished


def _numbers(column: pa.Array) -> Any:
    """Return a column as an array, 0 for null."""
    values = as_numpy(column)
    return np.where(as_numpy(column.is_null()), 0, values) if column.null_count else values
