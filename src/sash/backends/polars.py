"""Polars: a DataFrame or a LazyFrame."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sash.backends.base import FrameBackend
from sash.columns.read_column import readable
from sash.engine.check_columns import check_columns
from sash.engine.needed_columns import check_conditions, read_computed, reads_all, source_columns
from sash.engine.prepare import PreparedCache
from sash.expressions import Expression, Selection, expressions_in, source_of
from sash.options import TableOptions
from sash.plan.query_spec import QuerySpec


class PolarsFrame(FrameBackend):
    """A Polars DataFrame."""

    names = ("polars", "DataFrame")

    def to_table(self, data: Any) -> pa.Table:
        """Return all columns."""
        return data.to_arrow()

    def from_table(self, table: pa.Table, *sources: Any) -> Any:  # noqa: ARG002 — the table has types
        """Return a table as a DataFrame."""
        import polars as pl  # noqa: PLC0415 — optional

        return pl.from_arrow(table)

    def keep(self, data: Any, mask: pa.ChunkedArray) -> Any:
        """Return the rows for which a mask is true."""
        import polars as pl  # noqa: PLC0415 — optional

        return data.filter(pl.Series(mask))

    def read(self, query: QuerySpec, data: Any) -> pa.Table:
        """Return the columns that a query reads; an Enum as an ordered dictionary."""
        import polars as pl  # noqa: PLC0415 — optional

        check_columns(query, data.columns)
        own = [expression for expression in expressions_in(query.computed) if expression.kind == "Polars"]
        names = {expression: f"sash_{number}" for number, expression in enumerate(own)}
        frame = self._with_own(query, data, names) if names else data
        needed = frame if reads_all(query) else frame.select([*source_columns(query, data.columns), *names.values()])
        if unknown := [name for name, dtype in needed.schema.items() if dtype in (pl.Int128, pl.UInt128)]:
            raise TypeError(
                f"Column {unknown[0]!r} is of type {needed.schema[unknown[0]]}, which Arrow does not have. Cast it, for example to "
                "Int64 or Decimal(38, 0)."
            )
        table = needed.to_arrow(compat_level=pl.CompatLevel.oldest())
        for place, (name, dtype) in enumerate(needed.schema.items()):
            if isinstance(dtype, pl.Enum):  # Polars does not pass its order to Arrow
                codes = needed[name].to_physical().cast(pl.Int32).to_arrow()
                values = pa.array(dtype.categories.to_list(), pa.string())
                table = table.set_column(place, name, pa.DictionaryArray.from_arrays(codes, values, ordered=True))
        native = {expression: table[name] for expression, name in names.items()}
        table = table.drop_columns(list(names.values()))
        if not (query.columns and table.num_columns):  # a table without columns would have no rows
            table = pa.table({"": pa.nulls(data.height)})
        return read_computed(query, readable(table), data.columns, native) if query.computed else table

    def write(self, query: QuerySpec, data: Any, results: pa.Table, events: Any) -> Any:
        """Return the results; keys and values in the types of their columns."""
        import polars as pl  # noqa: PLC0415 — optional

        frame: Any = pl.from_arrow(results)
        dtypes = {} if query.per_row else {name: self._type_of(name, data, frame.schema[name]) for name in query.by}
        for name, aggregate in query.aggregates.items():
            if aggregate.result.gives == "value":
                names = [query.result_name(name, window) for window in query.windows] if query.per_row else [name]
                dtypes |= dict.fromkeys(names, self._type_of(aggregate.columns[-1], events, frame.schema[names[0]]))
        frame = frame.cast({name: dtype for name, dtype in dtypes.items() if frame.schema[name] != dtype})
        return data.hstack(frame) if query.per_row else frame

    def _with_own(self, query: QuerySpec, data: Any, names: dict[Expression, str]) -> Any:
        """Return the frame with a column for each expression of Polars. Raise ValueError or TypeError if one is wrong."""
        import polars as pl  # noqa: PLC0415 — optional

        types = {}
        for expression, name in names.items():
            if expression.source.meta.has_multiple_outputs():
                raise ValueError(
                    f"{expression.text} stands for several columns. Use one expression for each input of an aggregate."
                )
            try:  # without rows, before any work
                none = data.head(0).lazy().select(expression.source.alias(name)).collect()
            except pl.exceptions.PolarsError as error:
                raise ValueError(f"Polars cannot evaluate {expression.text}: {error}") from error
            types[expression] = none.to_arrow(compat_level=pl.CompatLevel.oldest()).schema.field(0).type
        check_conditions(query, types)
        return data.with_columns(expression.source.alias(name) for expression, name in names.items())

    def _type_of(self, column: str, data: Any, otherwise: Any) -> Any:
        """Return the type of a column of a query; that of SQL is known from its result alone."""
        source = source_of(column)
        if isinstance(source, Expression):
            return data.head(0).select(source.source).dtypes[0] if source.kind == "Polars" else otherwise
        return data.schema[source]

    def schema(self, query: QuerySpec, data: Any) -> pa.Schema:
        """Return the types of the columns that a query reads."""
        return self.read(query, data.head(0).lazy().collect()).schema

    def names_of(self, data: Any) -> list[str]:
        """Return the names of all columns; Arrow may lack the type of one that the query does not read."""
        return list(data.lazy().collect_schema().names())

    def input_schema(self, data: Any) -> pa.Schema:
        """Return the Arrow schema of all columns."""
        return data.head(0).lazy().collect().to_arrow().schema

    def result_schema(self, cache: PreparedCache, data: Any, options: TableOptions) -> pa.Schema:
        """Return the Arrow schema of the results: that of a run over no rows."""
        at = options["at"].head(0) if self.accepts(options["at"]) else options["at"]
        return self.run(cache, data.head(0), {**options, "at": at}).lazy().collect().to_arrow().schema


class PolarsLazyFrame(PolarsFrame):
    """A Polars LazyFrame, which is collected."""

    names = ("polars", "LazyFrame")

    def to_table(self, data: Any) -> pa.Table:
        """Return all columns."""
        return super().to_table(data.collect())

    def from_table(self, table: pa.Table, *sources: Any) -> Any:
        """Return a table as a LazyFrame."""
        return super().from_table(table, *sources).lazy()

    def rows_where(self, data: Any, condition: Expression) -> Any:
        """Return the rows for which a condition in SQL is true."""
        return PolarsFrame().rows_where(data.collect(), condition).lazy()

    def select(self, data: Any, selection: Selection) -> Any:
        """Return what SQL makes of results."""
        return PolarsFrame().select(data.collect(), selection).lazy()

    def run(self, cache: PreparedCache, data: Any, options: TableOptions) -> Any:
        """Return the results of a query as a LazyFrame."""
        at = options["at"]
        if at is not None:
            self.check_labels(cache.query, at, options)
            at = at.collect()
        return PolarsFrame().run(cache, data.collect(), {**options, "at": at}).lazy()
