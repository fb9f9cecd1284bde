"""Results as Arrow columns, and the last step of those that depend on more than `lower` (see `aggregator/finish.py`).

A pass lowers the second number as a result of its own, under a name that no column of the user has. `evaluate` calls `finish_columns`
for each window, so that all engines share this step. The times are those of the rows, or `window_end`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sash.aggregates.base import Aggregate, with_fields
from sash.aggregator.finish import finish_column, lowered_by_kernel
from sash.columns.buffers import as_arrow
from sash.windows.base import Ints

Results = dict[str, pa.Array]
"""By the names of aggregates."""


def kernel_forms(aggregates: Sequence[Aggregate[Any]]) -> list[Aggregate[Any]]:
    """Return the aggregates that a kernel computes: for a list, those of its entries.

    >>> from sash import agg
    >>> kernel_forms([agg.quantile("x", [0.5, 0.9]), agg.median("x")])
    [quantile("x", 0.5), quantile("x", 0.9), median("x")]
    """
    return [form for aggregate in aggregates for form in aggregate.forms.entries or (aggregate,)]


def as_lists(entries: Sequence[pa.Array]) -> pa.Array:
    """Return a column of lists from the columns of their entries; a list is null if its entries are.

    >>> as_lists([pa.array([1, None]), pa.array([2, None])]).to_pylist()
    [[1, 2], None]
    """
    width, windows = len(entries), len(entries[0])
    positions = np.arange(windows)[:, None] + windows * np.arange(width)
    values = pa.concat_arrays(entries).take(as_arrow(positions.ravel()))
    offsets = as_arrow(np.arange(windows + 1, dtype=np.int32) * np.int32(width))
    mask = entries[0].is_null() if entries[0].null_count else None
    return pa.ListArray.from_arrays(offsets, values, mask=mask)


def join_results(sections: Sequence[Results]) -> Results:
    """Return the results of sections, one after the other."""
    return {name: pa.concat_arrays([section[name] for section in sections]) for name in sections[0]}


def with_min_rows(aggregate: Aggregate[Any], min_rows: int) -> Aggregate[Any]:
    """Return an aggregate whose result is null for fewer than `min_rows` values; this holds for counts, too.

    >>> from sash import agg
    >>> with_min_rows(agg.count(), 3).result.empty is None
    True
    """
    forms, at_least = aggregate.forms, max(min_rows, aggregate.result.at_least)
    variants = {kind: with_min_rows(variant, min_rows) for kind, variant in forms.variants.items()}
    entries = tuple(with_min_rows(entry, min_rows) for entry in forms.entries)
    return with_fields(aggregate, at_least=at_least, empty=None, variants=variants, entries=entries)


SUFFIX = "\0auxiliary"


def with_auxiliary(aggregates: Mapping[str, Aggregate[Any]]) -> dict[str, Aggregate[Any]]:
    """Return aggregates by the names of their results, followed by those that lower second numbers from the same partials.

    >>> from sash import agg
    >>> [form.lower.__name__ for form in with_auxiliary({"s": agg.slope("y", "x"), "n": agg.count()}).values()]
    ['slope_of', 'unchanged', 'x_moment']
    """
    lowered = {name: lowered_by_kernel(aggregate) for name, aggregate in aggregates.items()}
    return {**aggregates, **{f"{name}{SUFFIX}": second for name, forms in lowered.items() for second in forms[1:]}}


def finish_columns(aggregates: Mapping[str, Aggregate[Any]], columns: Results, ticks: Callable[[], Ints]) -> Results:
    """Return the final results; `ticks` returns the times that they belong to."""
    names = [name for name in columns if not name.endswith(SUFFIX)]
    return {name: finish_column(aggregates[name], columns[name], columns.get(name + SUFFIX), ticks) for name in names}
