"""pandas: a DataFrame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from sash.backends.base import FrameBackend, named_alike
from sash.columns.column_types import column_type
from sash.engine.check_columns import check_columns, check_result_names
from sash.engine.needed_columns import read_computed, reads_all, source_columns
from sash.plan.query_spec import QuerySpec

NULLABLE = {
    pa.int8(): "Int8", pa.int16(): "Int16", pa.int32(): "Int32", pa.int64(): "Int64",
    pa.uint8(): "UInt8", pa.uint16(): "UInt16", pa.uint32(): "UInt32", pa.uint64(): "UInt64", pa.bool_(): "boolean",
}  # fmt: skip
"""The types of pandas that hold nulls; without them integers would become floats."""
NULLABLE_FLOATS = {pa.float32(): "Float32", pa.float64(): "Float64"}
"""The types of pandas that hold nulls beside NaN."""
MASKED = {**NULLABLE, **NULLABLE_FLOATS}
"""All nullable types of pandas."""


class PandasFrame(FrameBackend):
    """A pandas DataFrame. NaN is a missing value in its NumPy columns; its nullable and Arrow types tell NaN and NA apart."""

    names = ("pandas", "DataFrame")

    def only_columns(self, data: Any, names: list[str]) -> Any:
        """Return some columns, if the data has them."""
        return data[named_alike(names, list(data.columns))]

    def time_columns(self, data: Any) -> list[str]:
        """Return the columns that hold timestamps or dates, or the index if it does and has a name."""
        is_time = getattr(data.index.dtype, "kind", "") == "M" and data.index.name is not None
        return super().time_columns(data) or [str(data.index.name)] * is_time

    def to_table(self, data: Any) -> pa.Table:
        """Return all columns, and the index if it has a name."""
        hidden = any(name is None or name in data.columns for name in data.index.names)
        rows = data if hidden else data.reset_index()
        return pa.Table.from_pandas(rows.set_axis([str(name) for name in rows.columns], axis=1), preserve_index=False)

    def from_table(self, table: pa.Table, *sources: Any) -> Any:
        """Return a table as a DataFrame; integers and booleans with nulls in pandas' nullable types.

        SQL does not say which columns it has read for a result. So a column of the name and type of a source column has that one's type,
        and others have Arrow types or nullable types if the sources have such columns.
        """
        import pandas as pd  # noqa: PLC0415 — optional

        dtypes = dtypes_of_sql(table.schema, sources)
        return pd.DataFrame({name: self._series(table[name], dtypes.get(name)) for name in table.column_names})

    def keep(self, data: Any, mask: pa.ChunkedArray) -> Any:
        """Return the rows for which a mask is true, with their index."""
        return data[mask.to_numpy()]

    def read(self, query: QuerySpec, data: Any) -> pa.Table:
        """Return the columns that a query reads; the time may be in the index."""
        rows = self._rows(query, data)
        check_columns(query, list(rows.columns))
        needed = rows if reads_all(query) else rows[source_columns(query, list(rows.columns))]
        try:
            table = pa.Table.from_pandas(needed, preserve_index=False)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            reason = "; ".join(reversed([str(part).removesuffix(".") for part in error.args]))
            raise TypeError(f"pyarrow cannot read the DataFrame: {reason}. Cast the column to one type.") from error
        except TypeError as error:  # of a Decimal that is infinite
            infinite = [str(name) for name in needed.columns if needed[name].map(_is_infinite).any()]
            if not infinite:
                raise
            problem = f"Decimals have no infinity, but the column {infinite[0]!r} holds one"
            raise TypeError(f"{problem}. Replace it, or cast the column to float64.") from error
        if not (query.columns and table.num_columns):  # a table without columns would have no rows
            table = pa.table({"": pa.nulls(len(rows))})
        return read_computed(query, table, list(rows.columns)) if query.computed else table

    def write(self, query: QuerySpec, data: Any, results: pa.Table, events: Any) -> Any:
        """Return the results, nullable ones from nullable columns. Integers and booleans with nulls are nullable in any case."""
        dtypes = self._result_dtypes(query, events, results.schema)
        columns = {name: self._series(results[name], dtypes.get(name)) for name in results.column_names}
        if query.per_row:
            for column in columns.values():
                column.index = data.index
            return data.assign(**columns)
        import pandas as pd  # noqa: PLC0415 — optional

        frame = pd.DataFrame(columns)
        rows = self._rows(query, data)
        for name in query.by:
            dtype = None if name in query.computed else rows[name].dtype
            if dtype is None or frame[name].dtype == dtype:
                continue
            if hasattr(dtype, "__from_arrow__"):  # a cast of NumPy's floats would make NaN and NA one key
                frame[name] = pd.Series(dtype.__from_arrow__(results[name]), frame.index)
            else:
                frame[name] = frame[name].astype(dtype)
        return frame

    def _result_dtypes(self, query: QuerySpec, events: Any, results: pa.Schema) -> dict[str, Any]:
        """Return the types of results that are made of columns of pandas' nullable or Arrow types, with or without nulls."""
        import pandas as pd  # noqa: PLC0415 — optional

        rows = self._rows(query, events)
        own = {
            name: dtype
            for name, dtype in zip(rows.columns, rows.dtypes, strict=True)
            if hasattr(dtype, "__from_arrow__")
        }
        found: dict[str, Any] = {}
        if not own:
            return found
        for name, aggregate in query.aggregates.items():
            alone = replace(query, aggregates={name: aggregate}, windows={}, by=(), time=None, order_by=())
            sources = source_columns(alone, list(rows.columns)) or [str(query.time)]  # a count of rows
            read = [own[column] for column in sources if column in own]
            names = [query.result_name(name, window) for window in query.windows] if query.per_row else [name]
            for column in names:
                if column not in results.names:  # with wide=True
                    continue
                dtype = results.field(column).type
                if any(isinstance(each, pd.ArrowDtype) for each in read) and not holds_maps(dtype):
                    found[column] = pd.ArrowDtype(dtype)
                elif any(each.kind in "iufb" for each in read) and dtype in MASKED:
                    found[column] = pd.api.types.pandas_dtype(MASKED[dtype])
                elif column_type(dtype).group == "string" and isinstance(read[-1] if read else None, pd.StringDtype):
                    found[column] = read[-1]
        if query.time in own and isinstance(own[query.time], pd.ArrowDtype) and not query.per_row:
            bounds = [name for name in ("window_start", "window_end") if name in results.names]
            found |= {name: pd.ArrowDtype(results.field(name).type) for name in bounds}
        return found

    def input_schema(self, data: Any) -> pa.Schema:
        """Return the Arrow schema of all columns, without the index."""
        return pa.Schema.from_pandas(data, preserve_index=False)

    def names_of(self, data: Any) -> list[str]:
        """Return the names of all columns, and of the index."""
        return [*map(str, data.columns), *(str(name) for name in data.index.names if name is not None)]

    def check_result_names(self, query: QuerySpec, data: Any) -> None:
        """Raise ValueError if a result that stands beside its row would have the name of a column; other names in the index do no harm."""
        check_result_names(query, list(self._rows(query, data).columns))

    def _rows(self, query: QuerySpec, data: Any) -> Any:
        """Return the DataFrame with the time from its index as a column, and with column names as strings."""
        rows = data
        if query.time is not None and query.time not in data.columns:
            if query.time in data.index.names:
                rows = data.reset_index()
            elif getattr(data.index.dtype, "kind", "") == "M":
                name = data.index.name
                called = "has no name" if name is None else f"is named {name!r}"
                raise ValueError(
                    f"There is no column {query.time!r}. The index holds times, but {called}. To use it as the time, run the "
                    f"query on data.rename_axis({query.time!r})."
                )
        if not all(isinstance(name, str) for name in rows.columns):
            rows = rows.set_axis([str(name) for name in rows.columns], axis=1)
        return rows

    def _series(self, column: pa.ChunkedArray, dtype: Any = None) -> Any:
        """Return a column; in a type of pandas' own if there is one, or if integers or booleans have nulls."""
        import pandas as pd  # noqa: PLC0415 — optional

        if dtype is not None:
            return pd.Series(dtype.__from_arrow__(column))
        if column_type(column.type).group == "dictionary" and column.type.value_type == pa.null():
            column = pa.chunked_array([pa.nulls(len(column), column.type)])  # pyarrow cannot join dictionaries of nulls
        if column_type(column.type).group == "map":  # to_pandas would make integers of nanoseconds in them
            return pd.Series(column.to_pylist(maps_as_pydicts="lossy"), dtype=object)
        if column.null_count and column.type in NULLABLE:
            dtype = pd.api.types.pandas_dtype(NULLABLE[column.type])
            return column.to_pandas(types_mapper={column.type: dtype}.get)
        return column.to_pandas(maps_as_pydicts="lossy")  # also within lists and structs


def dtypes_of_sql(results: pa.Schema, sources: Sequence[Any]) -> dict[str, Any]:
    """Return the types of results of SQL over some DataFrames, where they are not those of NumPy.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": pd.array([1], "Int64"), "n": [1]})
    >>> dtypes_of_sql(pa.schema({"x": pa.int64(), "n": pa.int64(), "y": pa.float64()}), [frame])
    {'x': Int64Dtype(), 'y': Float64Dtype()}
    """
    import pandas as pd  # noqa: PLC0415 — optional

    known = {str(name): dtype for frame in reversed(sources) for name, dtype in frame.dtypes.items()}
    extensions = [dtype for dtype in known.values() if hasattr(dtype, "__from_arrow__")]
    has_arrow = any(isinstance(dtype, pd.ArrowDtype) for dtype in extensions)
    has_masked = any(str(dtype) in MASKED.values() for dtype in extensions)
    strings = next((dtype for dtype in extensions if isinstance(dtype, pd.StringDtype)), None)
    dtypes: dict[str, Any] = {}
    for field in results:
        dtype, source = field.type, known.get(field.name)
        if str(source) in (str(pd.ArrowDtype(dtype)), MASKED.get(dtype)):
            dtypes[field.name] = source
        elif source is not None and not hasattr(source, "__from_arrow__") and _is_numpy(source, dtype):
            continue
        elif has_arrow and not holds_maps(dtype):
            dtypes[field.name] = pd.ArrowDtype(dtype)
        elif has_masked and dtype in MASKED:
            dtypes[field.name] = pd.api.types.pandas_dtype(MASKED[dtype])
        elif strings is not None and column_type(dtype).group == "string":
            dtypes[field.name] = strings
    return dtypes


def _is_infinite(value: Any) -> bool:
    return isinstance(value, Decimal) and value.is_infinite()


def _is_numpy(source: Any, dtype: pa.DataType) -> bool:
    """Return whether a result may be an unchanged column of NumPy's type."""
    return source.kind in "OM" or (dtype in MASKED and bool(dtype.to_pandas_dtype() == source))


def holds_maps(dtype: pa.DataType) -> bool:
    """Return whether values of a type are maps, or hold some: pandas would make lists of pairs of them, instead of dictionaries.

    >>> holds_maps(pa.list_(pa.map_(pa.string(), pa.int64()))), holds_maps(pa.list_(pa.string()))
    (True, False)
    """
    return pa.types.is_map(dtype) or any(holds_maps(dtype.field(place).type) for place in range(dtype.num_fields))
