"""`wide=True`: lists of quantiles, histograms and maps of `per_value` as columns of their own.

quantile("load", [0.5, 0.9])           p             ──►   p_0.5  p_0.9
histogram("load", [0, 10, 20])         bins          ──►   bins_0_10  bins_10_20
per_value("plug", sum("load"))         load_per_plug ──►   load_per_plug_1  load_per_plug_2
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregates.base import Aggregate
from sash.plan.query_spec import QuerySpec


def is_wide(options: Any) -> bool:
    """Return whether the options of a run ask for wide results."""
    return bool(options["wide"])


def results_of(query: QuerySpec) -> dict[str, Aggregate[Any]]:
    """Return the aggregate of each column of the results."""
    if not query.per_row:
        return dict(query.aggregates)
    named = query.aggregates.items()
    return {query.result_name(name, window): aggregate for name, aggregate in named for window in query.window_names}


def check_known(query: QuerySpec, what: str) -> None:
    """Raise ValueError if columns of the results depend on values, so that they are not known before a run. `what` needs to know them."""
    for name, aggregate in results_of(query).items():
        if (inner := aggregate.forms.inner) is not None:
            column = aggregate.columns[0]
            example = f"agg.{inner.name}({', '.join(map(repr, inner.named_columns))}{', ' * bool(inner.named_columns)}where=\"{column} = 'a'\")"
            raise ValueError(
                f"wide=True: {name!r} has a column for each value of {column!r}, but {what} needs to know them before it runs. "
                f"Use one aggregate for each value, as in {example}."
            )


def entry_columns(query: QuerySpec, names: Iterable[str]) -> dict[str, list[str]]:
    """Return the columns that stand for each column of the results with a list of fixed length. Raise ValueError if one has the name of another."""
    found = {
        name: [f"{name}_{entry}" for entry in aggregate.call.entry_names]
        for name, aggregate in results_of(query).items()
        if aggregate.call.entry_names
    }
    check_free([column for columns in found.values() for column in columns], names)
    return found


def check_free(columns: list[str], names: Iterable[str]) -> None:
    """Raise ValueError if a column is named like another one."""
    taken = set(names)
    for name in columns:
        if name in taken:
            raise ValueError(
                f"wide=True: the result would have two columns named {name!r}. Give the aggregate another name."
            )
        taken.add(name)


def widen(query: QuerySpec, table: pa.Table, names: Iterable[str] = ()) -> pa.Table:
    """Return results with columns in place of lists and maps; `names` are those of further columns."""
    named = [*names, *table.column_names]
    entries = entry_columns(query, named)
    columns: dict[str, Any] = {}
    for name, aggregate in results_of(query).items():
        if name in entries:
            columns |= {entry: pc.list_element(table[name], place) for place, entry in enumerate(entries[name])}
        elif aggregate.forms.inner is not None:
            of_values = dict(_by_value(name, table[name], aggregate.forms.inner.result.empty))
            check_free([*of_values], [*named, *columns])
            columns |= of_values
        else:
            columns[name] = table[name]
    others = {name: table[name] for name in table.column_names if name not in results_of(query)}
    return pa.table(others | columns)


def _by_value(name: str, maps: pa.ChunkedArray, empty: Any) -> Iterator[tuple[str, pa.Array]]:
    """Yield a column for each key of maps, in the order of keys."""
    if pa.types.is_null(maps.type):  # no row has a value
        return
    array = maps.combine_chunks() if isinstance(maps, pa.ChunkedArray) else maps
    offsets = np.asarray(array.offsets)
    keys = array.keys.slice(offsets[0], offsets[-1] - offsets[0]) if len(offsets) else array.keys
    rows = np.repeat(np.arange(len(array)), np.diff(offsets))
    encoded = keys if pa.types.is_dictionary(keys.type) else keys.dictionary_encode()
    codes = np.asarray(encoded.indices)
    known = np.unique(codes)
    values = encoded.dictionary.take(pa.array(known))
    for place in np.asarray(pc.sort_indices(values)):
        found = np.flatnonzero(codes == known[place])
        items = np.full(len(array), -1)
        items[rows[found]] = found + offsets[0]
        column = array.items.take(pa.array(items, mask=items < 0))
        yield f"{name}_{values[int(place)].as_py()}", column if empty is None else pc.fill_null(column, empty)


def widen_schema(query: QuerySpec, schema: pa.Schema) -> pa.Schema:
    """Return the schema of wide results."""
    entries = entry_columns(query, schema.names)
    fields: list[pa.Field] = []
    for field in schema:
        wide = entries.get(field.name)
        fields += [field] if wide is None else [pa.field(name, field.type.value_type) for name in wide]
    return pa.schema(fields, schema.metadata)


def wide_names(query: QuerySpec, names: Iterable[str]) -> list[str]:
    """Return the columns that stand for some columns of the results."""
    entries: Mapping[str, list[str]] = entry_columns(query, ())
    return [column for name in names for column in entries.get(name, [name])]
