"""The kinds of data in this process: Arrow, pandas, Polars. Results are of the same kind.

Each kind is read as an Arrow table of the columns that the query needs. Results per row go back beside the input rows, which
keep their types, their order and, in pandas, their index. Results per window are data of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pyarrow as pa

from sash.engine.column_types import check_columns, readable, readable_schema
from sash.engine.computed import Values, check_conditions, source_columns, with_computed
from sash.engine.labels import check_labels, check_names, label_query, run_labels
from sash.engine.prepare import PreparedCache
from sash.engine.run_table import run_table
from sash.engine.select_sql import rows_where, select_from
from sash.expressions import Computed, Expression, Selection, expressions_in
from sash.plan.declared import Declared
from sash.windows.base import ALL_COLUMNS

NULLABLE = {
    pa.int8(): "Int8", pa.int16(): "Int16", pa.int32(): "Int32", pa.int64(): "Int64",
    pa.uint8(): "UInt8", pa.uint16(): "UInt16", pa.uint32(): "UInt32", pa.uint64(): "UInt64", pa.bool_(): "boolean",
}  # fmt: skip
"""The types of pandas that hold nulls; without them integers would become floats."""
NULLABLE_FLOATS = {pa.float32(): "Float32", pa.float64(): "Float64"}
"""The types of pandas that hold nulls beside NaN."""


class FrameKind:
    """A kind of data in this process."""

    description: ClassVar[str] = "a table in this process"
    options: ClassVar[tuple[str, ...]] = ("compiled", "threads", "at", "at_time")
    names: ClassVar[tuple[str, str]] = ("", "")
    """The top-level package and the name of the class; the package may not be installed."""

    def accepts(self, data: Any) -> bool:
        """Return whether data is of this kind."""
        return is_a(data, *self.names)

    def run(
        self,
        cache: PreparedCache,
        data: Any,
        *,
        compiled: bool | None = None,
        threads: int | None = None,
        at: Any = None,
        at_time: str | None = None,
    ) -> Any:
        """Return the results of a query, as data of the same kind: for each label, if there are labels."""
        labels = None if at is None else self.read_labels(cache.query, at, at_time)
        table = self.read(cache.query, data)
        prepared = cache.get(table.schema, compiled=compiled)
        if labels is None:
            results = run_table(prepared, table, threads)
        else:
            results = run_labels(prepared, table, labels, at_time, threads)
        return self.write(cache.query, data if at is None else at, results, data)

    def read_labels(self, query: Declared, labels: Any, at_time: str | None) -> pa.Table:
        """Return the keys and times of labels. Raise TypeError or ValueError if they do not fit the query."""
        self.check_labels(query, labels, at_time)
        check_names(query, self.input_schema(labels).names)
        return self.read(label_query(query, at_time), labels)

    def check_labels(self, query: Declared, labels: Any, at_time: str | None) -> None:
        """Raise TypeError or ValueError if a query takes no labels, or if these are of another kind."""
        check_labels(query, at_time)
        if not self.accepts(labels):
            given = f"{type(labels).__module__.partition('.')[0]}.{type(labels).__name__}"
            message = f"at= must be of the same kind as the events, a {'.'.join(self.names)}, but it is a {given}."
            raise TypeError(message)

    def read(self, query: Declared, data: Any) -> pa.Table:
        """Return the columns that a query reads."""
        raise NotImplementedError

    def write(self, query: Declared, data: Any, results: pa.Table, events: Any) -> Any:
        """Return the results: per row, beside the input rows; per window, as data of their own.

        `data` are the input rows, or labels; the results were computed from `events`.
        """
        raise NotImplementedError

    # -- SQL around a query --------------------------------------------------------------------------------------------

    quote: ClassVar[str] = '"'
    """The quote around names in SQL."""

    def rows_where(self, data: Any, condition: Expression) -> Any:
        """Return the rows for which a condition in SQL is true."""
        return self.keep(data, rows_where(self.to_table(data), condition))

    def select(self, data: Any, selection: Selection) -> Any:
        """Return what SQL makes of results."""
        return self.from_table(select_from(self.to_table(data), selection))

    def select_schema(self, data: Any, results: pa.Schema, selection: Selection) -> pa.Schema:  # noqa: ARG002 — Spark needs the data
        """Return the schema of what SQL makes of results of a schema."""
        return select_from(results.empty_table(), selection).schema

    def time_columns(self, data: Any) -> list[str]:
        """Return the columns that hold timestamps or dates."""
        return time_columns(self.input_schema(data))

    def only_columns(self, data: Any, names: list[str]) -> Any:
        """Return some columns, if the data has them, whatever their case."""
        return data.select(named_alike(names, self.input_schema(data).names))

    def to_table(self, data: Any) -> pa.Table:
        """Return all columns as an Arrow table."""
        raise NotImplementedError

    def from_table(self, table: pa.Table) -> Any:
        """Return an Arrow table as data of this kind."""
        raise NotImplementedError

    def keep(self, data: Any, mask: pa.ChunkedArray) -> Any:
        """Return the rows for which a mask is true."""
        return data.filter(mask)

    def schema(self, query: Declared, data: Any) -> pa.Schema:
        """Return the types of the columns that a query reads."""
        return self.read(query, data).schema

    def result_schema(self, cache: PreparedCache, data: Any, **options: Any) -> pa.Schema:
        """Return the Arrow schema of the results: that of a run over no rows."""
        needed = self.schema(cache.query, data)
        prepared = cache.get(needed, compiled=options.get("compiled"))
        at, at_time = options.get("at"), options.get("at_time")
        if at is None:
            results = run_table(prepared, needed.empty_table(), threads=1).schema
            return pa.schema([*(self.input_schema(data) if cache.query.per_row else ()), *results])
        labels = self.read_labels(cache.query, at, at_time).slice(0, 0)
        results = run_labels(prepared, needed.empty_table(), labels, at_time, threads=1).schema
        return pa.schema([*self.input_schema(at), *results])

    def input_schema(self, data: Any) -> pa.Schema:
        """Return the Arrow schema of all columns."""
        return data.schema


class ArrowTable(FrameKind):
    """A pyarrow Table."""

    names = ("pyarrow", "Table")

    def to_table(self, data: Any) -> pa.Table:
        """Return the table."""
        return data

    def from_table(self, table: pa.Table) -> Any:
        """Return the table."""
        return table

    def read(self, query: Declared, data: pa.Table) -> pa.Table:
        """Return the columns that a query reads."""
        check_columns(query, data.column_names)
        if query.computed:
            wanted = data if reads_all(query) else data.select(source_columns(query, data.column_names))
            return computed_columns(query, readable(wanted), data.column_names)
        return readable(needed_columns(query, data))

    def write(self, query: Declared, data: pa.Table, results: pa.Table, events: Any) -> pa.Table:  # noqa: ARG002 — results have types
        """Return the results."""
        if not query.per_row:
            return results
        for name in results.column_names:
            data = data.append_column(name, results[name])
        return data

    def schema(self, query: Declared, data: pa.Table) -> pa.Schema:
        """Return the types of the columns that a query reads."""
        return needed_schema(query, data.schema)


class ArrowBatch(ArrowTable):
    """A pyarrow RecordBatch."""

    names = ("pyarrow", "RecordBatch")

    def to_table(self, data: pa.RecordBatch) -> pa.Table:
        """Return the batch as a table."""
        return pa.Table.from_batches([data])

    def from_table(self, table: pa.Table) -> pa.RecordBatch:
        """Return a table as one batch."""
        made = table.combine_chunks()
        empty = [pa.array([], field.type) for field in made.schema]
        return next(iter(made.to_batches()), pa.RecordBatch.from_arrays(empty, schema=made.schema))

    def read(self, query: Declared, data: pa.RecordBatch) -> pa.Table:
        """Return the columns that a query reads."""
        return super().read(query, pa.Table.from_batches([data]))

    def write(self, query: Declared, data: pa.RecordBatch, results: pa.Table, events: Any) -> pa.RecordBatch:
        """Return the results as one batch."""
        return self.from_table(super().write(query, self.to_table(data), results, events))


class PandasFrame(FrameKind):
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

    def from_table(self, table: pa.Table) -> Any:
        """Return a table as a DataFrame; integers and booleans with nulls in pandas' nullable types."""
        import pandas as pd  # noqa: PLC0415 — optional

        return pd.DataFrame({name: self._series(table[name]) for name in table.column_names})

    def keep(self, data: Any, mask: pa.ChunkedArray) -> Any:
        """Return the rows for which a mask is true, with their index."""
        return data[mask.to_numpy()]

    def read(self, query: Declared, data: Any) -> pa.Table:
        """Return the columns that a query reads; the time may be in the index."""
        rows = self._rows(query, data)
        check_columns(query, list(rows.columns))
        needed = rows if reads_all(query) else rows[source_columns(query, list(rows.columns))]
        try:
            table = pa.Table.from_pandas(needed, preserve_index=False)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            reason = "; ".join(reversed([str(one).removesuffix(".") for one in error.args]))
            message = f"pyarrow cannot read the DataFrame: {reason}. Cast the column to one type."
            raise TypeError(message) from error
        if query.computed:
            return computed_columns(
                query, table if needed.columns.size else pa.table({"": pa.nulls(len(rows))}), list(rows.columns)
            )
        return table if query.columns else pa.table({"": pa.nulls(len(rows))})

    def write(self, query: Declared, data: Any, results: pa.Table, events: Any) -> Any:
        """Return the results; integers and booleans with nulls in pandas' nullable types, floats if the query reads such floats."""
        nullable = {**NULLABLE, **NULLABLE_FLOATS} if self._has_nullable_floats(query, events) else NULLABLE
        columns = {name: self._series(results[name], nullable) for name in results.column_names}
        if query.per_row:
            for column in columns.values():
                column.index = data.index
            return data.assign(**columns)
        import pandas as pd  # noqa: PLC0415 — optional

        made = pd.DataFrame(columns)
        rows = self._rows(query, data)
        for name in query.by:
            dtype = None if isinstance(name, Computed) else rows[name].dtype
            if dtype is None or made[name].dtype == dtype:
                continue
            if hasattr(dtype, "__from_arrow__"):  # a cast of NumPy's floats would make NaN and NA one key
                made[name] = pd.Series(dtype.__from_arrow__(results[name]), made.index)
            else:
                made[name] = made[name].astype(dtype)
        return made

    def _has_nullable_floats(self, query: Declared, events: Any) -> bool:
        """Return whether a query reads floats of a type in which NaN and NA differ."""
        rows = self._rows(query, events)
        dtypes = zip(rows.columns, rows.dtypes, strict=True)
        found = {name for name, dtype in dtypes if dtype.kind == "f" and hasattr(dtype, "__from_arrow__")}
        found -= set(query.by)  # no result is made of a key
        return bool(found) and (reads_all(query) or not found.isdisjoint(source_columns(query, list(rows.columns))))

    def input_schema(self, data: Any) -> pa.Schema:
        """Return the Arrow schema of all columns, without the index."""
        return pa.Schema.from_pandas(data, preserve_index=False)

    def _rows(self, query: Declared, data: Any) -> Any:
        """Return the DataFrame with the time from its index as a column, and with column names as strings."""
        rows = data
        if query.time is not None and query.time not in data.columns:
            if query.time in data.index.names:
                rows = data.reset_index()
            elif getattr(data.index.dtype, "kind", "") == "M":
                name = data.index.name
                called = "has no name" if name is None else f"is named {name!r}"
                message = (
                    f"There is no column {query.time!r}. The index holds times, but {called}. To use it as the time, run the "
                    f"query on data.rename_axis({query.time!r})."
                )
                raise ValueError(message)
        if not all(isinstance(name, str) for name in rows.columns):
            rows = rows.set_axis([str(name) for name in rows.columns], axis=1)
        return rows

    def _series(self, column: pa.ChunkedArray, nullable: Mapping[pa.DataType, str] = NULLABLE) -> Any:
        import pandas as pd  # noqa: PLC0415 — optional

        if pa.types.is_dictionary(column.type) and pa.types.is_null(column.type.value_type):
            column = pa.chunked_array([pa.nulls(len(column), column.type)])  # pyarrow cannot join dictionaries of nulls
        if pa.types.is_map(column.type):  # as dictionaries; to_pandas would make integers of nanoseconds in them
            return pd.Series(column.to_pylist(maps_as_pydicts="lossy"), dtype=object)
        if column.null_count and column.type in nullable:
            dtype = pd.api.types.pandas_dtype(nullable[column.type])
            return column.to_pandas(types_mapper={column.type: dtype}.get)
        return column.to_pandas(maps_as_pydicts="lossy")  # also within lists and structs


class PolarsFrame(FrameKind):
    """A Polars DataFrame."""

    names = ("polars", "DataFrame")

    def to_table(self, data: Any) -> pa.Table:
        """Return all columns."""
        return data.to_arrow()

    def from_table(self, table: pa.Table) -> Any:
        """Return a table as a DataFrame."""
        import polars as pl  # noqa: PLC0415 — optional

        return pl.from_arrow(table)

    def keep(self, data: Any, mask: pa.ChunkedArray) -> Any:
        """Return the rows for which a mask is true."""
        import polars as pl  # noqa: PLC0415 — optional

        return data.filter(pl.Series(mask))

    def read(self, query: Declared, data: Any) -> pa.Table:
        """Return the columns that a query reads; an Enum as an ordered dictionary."""
        import polars as pl  # noqa: PLC0415 — optional

        check_columns(query, data.columns)
        own = {
            one: f"sash_{number}" for number, one in enumerate(expressions_in(query.computed)) if one.kind == "Polars"
        }
        made = self._with_own(query, data, own) if own else data
        needed = made if reads_all(query) else made.select([*source_columns(query, data.columns), *own.values()])
        if unknown := [name for name, kind in needed.schema.items() if kind in (pl.Int128, pl.UInt128)]:
            message = (
                f"Column {unknown[0]!r} is of type {needed.schema[unknown[0]]}, which Arrow does not have. Cast it, for example to "
                "Int64 or Decimal(38, 0)."
            )
            raise TypeError(message)
        table = needed.to_arrow(compat_level=pl.CompatLevel.oldest())
        for place, (name, kind) in enumerate(needed.schema.items()):
            if isinstance(kind, pl.Enum):  # Polars does not pass its order to Arrow
                codes = needed[name].to_physical().cast(pl.Int32).to_arrow()
                values = pa.array(kind.categories.to_list(), pa.string())
                table = table.set_column(place, name, pa.DictionaryArray.from_arrays(codes, values, ordered=True))
        if query.computed:
            rows = table.drop_columns(list(own.values()))
            rows = rows if rows.num_columns else pa.table({"": pa.nulls(data.height)})
            return computed_columns(
                query, readable(rows), data.columns, {one: table[name] for one, name in own.items()}
            )
        return table if query.columns else pa.table({"": pa.nulls(data.height)})

    def write(self, query: Declared, data: Any, results: pa.Table, events: Any) -> Any:
        """Return the results; keys and values in the types of their columns."""
        import polars as pl  # noqa: PLC0415 — optional

        made: Any = pl.from_arrow(results)
        kinds = {} if query.per_row else {name: self._type_of(name, data, made.schema[name]) for name in query.by}
        for name, aggregate in query.aggregates.items():
            if aggregate.gives == "value":
                names = [query.result_name(name, window) for window in query.windows] if query.per_row else [name]
                kinds |= dict.fromkeys(names, self._type_of(aggregate.columns[-1], events, made.schema[names[0]]))
        made = made.cast({name: kind for name, kind in kinds.items() if made.schema[name] != kind})
        return data.hstack(made) if query.per_row else made

    def _with_own(self, query: Declared, data: Any, own: dict[Expression, str]) -> Any:
        """Return the frame with a column for each expression of Polars. Raise ValueError or TypeError if one is wrong."""
        import polars as pl  # noqa: PLC0415 — optional

        types = {}
        for expression, name in own.items():
            if expression.source.meta.has_multiple_outputs():
                message = (
                    f"{expression.text} stands for several columns. Use one expression for each input of an aggregate."
                )
                raise ValueError(message)
            try:  # without rows, before any work
                none = data.head(0).lazy().select(expression.source.alias(name)).collect()
            except pl.exceptions.PolarsError as error:
                message = f"Polars cannot evaluate {expression.text}: {error}"
                raise ValueError(message) from error
            types[expression] = none.to_arrow(compat_level=pl.CompatLevel.oldest()).schema.field(0).type
        check_conditions(query, types)
        return data.with_columns(one.source.alias(name) for one, name in own.items())

    def _type_of(self, column: str, data: Any, otherwise: Any) -> Any:
        """Return the type of a column of a query; that of SQL is known from its result alone."""
        source = column.value if isinstance(column, Computed) else column
        if isinstance(source, Expression):
            return data.head(0).select(source.source).dtypes[0] if source.kind == "Polars" else otherwise
        return data.schema[source]

    def schema(self, query: Declared, data: Any) -> pa.Schema:
        """Return the types of the columns that a query reads."""
        return self.read(query, data.head(0).lazy().collect()).schema

    def input_schema(self, data: Any) -> pa.Schema:
        """Return the Arrow schema of all columns."""
        return data.head(0).lazy().collect().to_arrow().schema

    def result_schema(self, cache: PreparedCache, data: Any, **options: Any) -> pa.Schema:
        """Return the Arrow schema of the results: that of a run over no rows."""
        if self.accepts(options.get("at")):
            options = options | {"at": options["at"].head(0)}
        return self.run(cache, data.head(0), **options).lazy().collect().to_arrow().schema


class PolarsLazyFrame(PolarsFrame):
    """A Polars LazyFrame, which is collected."""

    names = ("polars", "LazyFrame")

    def rows_where(self, data: Any, condition: Expression) -> Any:
        """Return the rows for which a condition in SQL is true."""
        return PolarsFrame().rows_where(data.collect(), condition).lazy()

    def select(self, data: Any, selection: Selection) -> Any:
        """Return what SQL makes of results."""
        return PolarsFrame().select(data.collect(), selection).lazy()

    def run(
        self,
        cache: PreparedCache,
        data: Any,
        *,
        compiled: bool | None = None,
        threads: int | None = None,
        at: Any = None,
        at_time: str | None = None,
    ) -> Any:
        """Return the results of a query as a LazyFrame."""
        labels = at
        if at is not None:
            self.check_labels(cache.query, at, at_time)
            labels = at.collect()
        frame = PolarsFrame()
        return frame.run(cache, data.collect(), compiled=compiled, threads=threads, at=labels, at_time=at_time).lazy()


def is_a(data: Any, package: str, name: str) -> bool:
    """Return whether data is an instance of a class, by name: the package need not be installed.

    >>> is_a(pa.table({}), "pyarrow", "Table"), is_a(3, "polars", "DataFrame")
    (True, False)
    """
    return any(base.__module__.partition(".")[0] == package and base.__name__ == name for base in type(data).__mro__)


def computed_columns(query: Declared, table: pa.Table, names: list[str], native: Values | None = None) -> pa.Table:
    """Return the columns that a query reads, with those that are computed from others."""
    return needed_columns(query, readable(with_computed(query, table, native, names)))


def needed_schema(query: Declared, schema: pa.Schema) -> pa.Schema:
    """Return the types of the columns that a query reads. Raise ValueError if one is missing."""
    if query.computed:
        return ArrowTable().read(query, schema.empty_table()).schema
    check_columns(query, schema.names)
    needed = schema if reads_all(query) else pa.schema([schema.field(name) for name in query.columns])
    return readable_schema(needed)


def needed_columns(query: Declared, table: pa.Table) -> pa.Table:
    """Return the columns of a table that a query reads: all, if windows read whole rows or no column is named."""
    return table if reads_all(query) else table.select(query.columns)


def reads_all(query: Declared) -> bool:
    """Return whether a query needs all columns: windows read whole rows, or the query names no column."""
    return any(ALL_COLUMNS in window.columns for window in query.windows.values()) or not query.columns


def time_columns(schema: pa.Schema) -> list[str]:
    """Return the columns that hold timestamps or dates.

    >>> time_columns(pa.schema({"ts": pa.timestamp("us"), "load": pa.float64()}))
    ['ts']
    """
    return [one.name for one in schema if pa.types.is_timestamp(one.type) or pa.types.is_date(one.type)]


def named_alike(names: list[str], columns: list[Any]) -> list[Any]:
    """Return the columns that have one of the names, whatever their case.

    >>> named_alike(["TS", "load"], ["ts", "x"])
    ['ts']
    """
    wanted = {name.lower() for name in names}
    return [column for column in columns if str(column).lower() in wanted]
