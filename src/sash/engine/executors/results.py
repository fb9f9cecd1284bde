"""Results of kernels as Arrow columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sash.aggregates.base import Aggregate, with_fields
from sash.aggregator.finish import finish_column, lowered_by_kernel
from sash.columns.buffers import as_arrow
from sash.columns.read_column import Column
from sash.columns.result_column import decoded, results_to_arrow
from sash.kernels.kernel_arrays import ResultColumn
from sash.windows.base import Ints

Results = dict[str, pa.Array]
"""By the names of aggregates."""


def to_results(
    aggregates: Mapping[str, Aggregate[Any]],
    answers: Sequence[ResultColumn],
    columns: list[Column],
    dictionary: pa.Array | None,
    schema: pa.Schema,
) -> Results:
    """Return what a kernel has computed from some columns, by the names of aggregates.

    `dictionary` has the values that the integers of the last column stand for, if it is coded.
    """
    results = {}
    remaining = iter(answers)
    for name, aggregate in aggregates.items():
        if aggregate.forms.entries:
            results[name] = as_lists([_to_arrow(entry, next(remaining), columns) for entry in aggregate.forms.entries])
            continue
        array = _to_arrow(aggregate, next(remaining), columns)
        if aggregate.result.gives == "value" and dictionary is not None:
            array = decoded(array, dictionary, schema.field(aggregate.columns[-1]).type)
        results[name] = array
    return results


def _to_arrow(aggregate: Aggregate[Any], answer: ResultColumn, columns: list[Column]) -> pa.Array:
    if answer.bits is not None and len(answer.values) and answer.valid.all():
        answer = replace(answer, bits=None)  # Arrow has no bitmap without nulls
    return results_to_arrow(answer.values, answer.bits, aggregate, columns)


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
    variants: Mapping[str, Aggregate[Any]] = {
        kind: with_min_rows(variant, min_rows) for kind, variant in aggregate.forms.variants.items()
    }
    entries = tuple(with_min_rows(entry, min_rows) for entry in aggregate.forms.entries)
    return with_fields(
        aggregate, at_least=max(min_rows, aggregate.result.at_least), empty=None, variants=variants, entries=entries
    )


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
