"""The last step of aggregates whose results depend on more than `lower` (see `aggregator/column_io.py`), for the results of a query.

A pass lowers the second number as a result of its own, under a name that no column of the user has. `evaluate` calls `finish_columns`
for each window, so that all engines share this step. The times are those of the rows, or `window_end`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from sash.aggregates.base import Aggregate
from sash.aggregator.column_io import finish_column, lowered_by_kernel
from sash.windows.base import Ints

SUFFIX = "\0auxiliary"


def with_auxiliary(aggregates: Mapping[str, Aggregate[Any]]) -> dict[str, Aggregate[Any]]:
    """Return aggregates by the names of their results, followed by those that lower second numbers from the same partials.

    >>> from sash import agg
    >>> [form.lower.__name__ for form in with_auxiliary({"s": agg.slope("y", "x"), "n": agg.count()}).values()]
    ['slope_of', 'unchanged', 'x_moment']
    """
    auxiliary = {
        f"{name}{SUFFIX}": second
        for name, aggregate in aggregates.items()
        for second in lowered_by_kernel(aggregate)[1:]
    }
    return {**aggregates, **auxiliary}


def finish_columns(
    aggregates: Mapping[str, Aggregate[Any]], columns: Mapping[str, pa.Array], ticks: Callable[[], Ints]
) -> dict[str, pa.Array]:
    """Return the final results; `ticks` returns the times that they belong to."""
    return {
        name: finish_column(aggregates[name], column, columns.get(f"{name}{SUFFIX}"), ticks)
        for name, column in columns.items()
        if not name.endswith(SUFFIX)
    }
