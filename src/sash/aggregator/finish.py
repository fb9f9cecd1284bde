"""The last step of aggregates whose results depend on more than `lower`: on a second number of the partial, or on a time.

    partial ──lower───► result ──┐
    partial ──auxiliary─► number ──┼──finish──► final result
    time of the result ──────────┘

Kernels return plain numbers, so they lower the second number as a result of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.aggregates.base import Aggregate, with_fields
from sash.columns.buffers import as_arrow, as_numpy


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
    aggregate: Aggregate[Any],
    results: pa.Array,
    auxiliary: pa.Array | None,
    ticks: Callable[[], npt.NDArray[Any]] | None = None,
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
