"""SparkQuery: a query on a Spark DataFrame, checked and prepared; the base of batch and streaming queries.

It knows the columns that the query reads, and the columns of its results, before any row is read.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — the usual name
from pyspark.sql.types import ArrayType, DataType, StructField, StructType, TimestampType, VariantType

from sash.aggregates.base import with_fields
from sash.aggregates.sql import quote
from sash.columns.read_column import readable
from sash.columns.result_column import try_out
from sash.engine.check_columns import check_columns, check_result_names, input_types
from sash.engine.needed_columns import needed_columns
from sash.engine.prepare import Prepared, Recent, prepare
from sash.engine.row_block import KEY_HASH
from sash.engine.run_table import run_table
from sash.options import SparkStreamOptions, SparkTableOptions
from sash.plan.query_spec import ADDED, QuerySpec
from sash.plan.tree import Branch
from sash.spark.arrow_types import arrow_schema, arrow_type, has, is_collated, spark_type
from sash.spark.computed import CASE, ignores_case, in_own_case, with_computed
from sash.spark.private import expects_large_types
from sash.workers.bucket_worker import BucketWorker
from sash.workers.own_columns import OWN

ZONE = "spark.sql.session.timeZone"


class SparkQuery:
    """A query and its DataFrame. Building it checks everything that can be checked before a row is read."""

    cuts_pairs = False
    """Whether slices are cut where windows begin and end, because nothing reads them while they are open."""
    has_slices = False
    """Whether a plan without Python may group rows by where their slice begins, in the column WINDOW."""

    def __init__(self, query: QuerySpec, frame: DataFrame, options: SparkTableOptions | SparkStreamOptions) -> None:
        if query.time is None and not query.order_by:
            raise ValueError(
                "Rows of a Spark DataFrame have no order. Name the column that orders them: "
                'Query(time="ts", …) or Query(order_by="id", …).'
            )
        frame, self.own_names = in_own_case(query, frame)
        """The names of columns that the query writes in another case, by the names that it uses."""
        frame, query = with_computed(query, frame)
        query = in_utc(query, frame)
        self.frame = frame
        self.compiled = options["compiled"]
        self.schema = read_schema(query, frame)
        self.types = read_types(options["types"] or {}, query)
        given = {
            name: with_fields(query.aggregates[name], type=arrow_type(dtype, "UTC"))
            for name, dtype in self.types.items()
        }
        self.query = query = replace(query, aggregates={**query.aggregates, **given})
        needed = needed_columns(query, readable(self.schema.empty_table()))
        self.prepared = prepare(query, needed.schema, compiled=self.compiled)
        """The query over rows."""
        self.in_python = self.prepared
        """The query that Python evaluates: over rows, or over slices."""

    @cached_property
    def sent(self) -> DataFrame:
        """What goes to Python: all columns if every row has a result, or the columns that the query reads, or slices."""
        return self.frame if self.query.per_row else self.frame.select(*map(quote, self.schema.names))

    @property
    def shown(self) -> QuerySpec:
        """The query as an explanation shows it, with slices as they are cut here."""
        pairs = self.cuts_pairs and self.query.slicing != "panes"
        return replace(self.query, slicing="pairs") if pairs else self.query

    def run(self) -> DataFrame:
        """Return the results."""
        raise NotImplementedError

    def describe(self) -> Branch:
        """Return the branch of an explanation that says what Spark does."""
        raise NotImplementedError

    @cached_property
    def added(self) -> list[StructField]:
        """The columns of results, before any row is known. Keys and values have the types of their columns."""
        query, schema, prepared = self.query, self.frame.schema, self.in_python
        owners = {name: name for name in query.aggregates}
        if query.per_row:
            owners = {query.result_name(name, window): name for name in owners for window in query.windows}
        fields = []
        for field in schema_of_results(prepared):
            name = owners.get(field.name, "")
            aggregate = query.aggregates.get(name)
            if field.name in query.by and not query.per_row:
                fields.append(schema[field.name])
                continue
            if name in self.types:
                dtype = self.types[name]
            elif aggregate is not None and aggregate.result.gives in ("value", "values"):
                dtype = schema[aggregate.columns[-1]].dataType
                dtype = dtype if aggregate.result.gives == "value" else ArrayType(dtype)
            else:
                if aggregate is not None and field.type == pa.null():
                    _refuse_unknown_type(prepared, name)
                dtype = _result_type(field.type, name)
            fields.append(StructField(field.name, dtype))
        return fields

    @property
    def row_fields(self) -> list[StructField]:
        """The columns of the frame, without those that the query computes."""
        return [field for field in self.frame.schema.fields if field.name not in set(self.query.computed)]

    @property
    def results(self) -> StructType:
        """The columns of the result; rows keep their own."""
        return StructType([*(self.row_fields if self.query.per_row else []), *self.added])

    def in_own_case(self, frame: DataFrame) -> DataFrame:
        """Return results whose input rows have the names of the data, if the query writes them in another case."""
        return frame.withColumnsRenamed(self.own_names) if self.query.per_row and self.own_names else frame

    def marked(self, results: DataFrame, names: Sequence[str], metadata: Mapping[str, str]) -> DataFrame:
        """Return results with metadata for some columns."""
        if not names:
            return results
        columns = [
            F.col(quote(name)).alias(name, metadata=dict(metadata)) if name in names else F.col(quote(name))
            for name in results.columns
        ]
        return results.select(*columns)

    @property
    def stored_schema(self) -> pa.Schema:
        """The columns of the rows that a stream stores."""
        return self.schema.append(pa.field(KEY_HASH, pa.int32())) if self.query.by else self.schema

    @property
    def result_schema(self) -> StructType:
        """The columns of the result as the user sees them."""
        names = self.own_names if self.query.per_row else {}
        fields = [(names.get(it.name, it.name), it.dataType, it.nullable, it.metadata) for it in self.results]
        return StructType([StructField(*field) for field in fields])

    @property
    def worker(self) -> BucketWorker:
        """What is sent to Python workers."""
        results = arrow_schema(self.results, "UTC", large=expects_large_types(self.frame.sparkSession))
        return BucketWorker(self.in_python.query, self.in_python.interpreted, results, compiled=self.compiled)


MOST_RESULTS = 64
"""The number of queries of which the types of results are known."""
_known_results: Recent[Hashable, pa.Schema] = Recent(MOST_RESULTS)
"""The types of results, by query and schema."""


def schema_of_results(prepared: Prepared) -> pa.Schema:
    """Return the types of results. A run without rows gives them, which takes some milliseconds, so those of recent queries are stored."""
    aggregates = prepared.query.aggregates.values()
    key = prepared.identity, prepared.compiled, *((it.lower, it.result.type) for it in aggregates)
    schema = _known_results.get(key)
    if schema is None:
        schema = run_table(prepared, prepared.no_rows, threads=1).schema
        if all(it.is_built_in for it in aggregates):  # the types of others may change with values that they read
            _known_results[key] = schema
    return schema


def read_schema(declared: QuerySpec, frame: DataFrame, *, all_columns: bool = False) -> pa.Schema:
    """Return the columns that a query reads of a frame, or all columns, as Spark sends them to Python.

    Raises ValueError for names that Spark can't tell apart, TypeError for types that can't be sent or compared.
    """
    check_columns(declared, frame.columns)
    check_result_names(declared, frame.columns)
    refuse_same_names(declared, frame)
    schema, names = frame.schema, [*declared.columns]
    if all_columns or declared.per_row or any("*" in window.columns for window in declared.windows.values()):
        names = frame.columns  # all go to Python and back
    for name in names:
        if frame.columns.count(name) > 1:
            raise ValueError(f"There are {frame.columns.count(name)} columns named {name!r}. Rename all but one.")
        if name.lower() in OWN:
            raise ValueError(f"Sash needs the column name {name!r} for itself on Spark. Rename your column.")
    refuse_incomparable(declared, schema)
    zone = zone_of(frame.sparkSession)
    return pa.schema([_arrow_field(schema[name], zone) for name in names])


def zone_of(session: SparkSession) -> str:
    """Return the time zone of a session."""
    return session.conf.get(ZONE) or "UTC"


def in_utc(declared: QuerySpec, frame: DataFrame) -> QuerySpec:
    """Return the query with days, weeks and months of UTC, unless its windows have another zone.

    A TIMESTAMP has no zone of its own: Spark shows it in that of the session, which others may set. A TIMESTAMP_NTZ has none, and a
    date neither.
    """
    if not any(field.name == declared.time and isinstance(field.dataType, TimestampType) for field in frame.schema):
        return declared
    return replace(declared, windows={name: window.in_zone("UTC") for name, window in declared.windows.items()})


def refuse_same_names(declared: QuerySpec, frame: DataFrame) -> None:
    """Raise ValueError if two names differ only in case and the session is not case-sensitive."""
    if not ignores_case(frame):
        return
    names = (
        [*frame.columns, *declared.row_columns] if declared.per_row else [*declared.by, *ADDED, *declared.aggregates]
    )
    known: dict[str, str] = {}
    for name in names:
        if (other := known.setdefault(name.lower(), name)) != name:
            raise ValueError(
                f"Spark ignores case, so {other!r} and {name!r} are the same name. Rename one, or set {CASE}=true."
            )
    for name in declared.columns:
        if same := [other for other in frame.columns if other.lower() == name.lower() and other != name]:
            raise ValueError(
                f"Spark ignores case, so columns {name!r} and {same[0]!r} have the same name. Rename one, or set {CASE}=true."
            )


def _arrow_field(field: StructField, zone: str) -> pa.Field:
    try:
        return arrow_schema(StructType([field]), zone).field(0)
    except (TypeError, ValueError) as error:  # ValueError from Arrow: an array of nulls that may not be null
        raise TypeError(
            f"Column {field.name!r} is of type {field.dataType.simpleString()}, which Spark cannot send to Python. Drop it "
            "(df.drop) or cast it."
        ) from error


def refuse_incomparable(declared: QuerySpec, schema: StructType) -> None:
    """Raise TypeError for keys or order columns with a collation, which only Spark knows, and for keys with variants."""
    for name in (*declared.by, *declared.order_by):
        dtype = schema[name].dataType
        if is_collated(dtype):
            raise TypeError(
                f"Column {name!r} is of type {dtype.simpleString()}. Python cannot compare strings with a collation. Use a "
                'column that has the same value for equal strings, such as F.lower(…), and cast it to "string".'
            )
        if name in declared.by and has(VariantType, dtype):
            raise TypeError(
                f"The key {name!r} is of type {dtype.simpleString()}, and Spark cannot group by it. Extract a value with "
                "variant_get(…)."
            )


def read_types(types: Any, declared: QuerySpec) -> dict[str, DataType]:
    """Parse the argument `types` of `run`. Raises TypeError or ValueError if it is invalid."""
    if not isinstance(types, Mapping):
        raise TypeError(
            f'types={types!r} is not a dictionary. Use names of aggregates and types, as in {{"peak": "double"}}.'
        )
    if unknown := [name for name in types if name not in declared.aggregates]:
        raise ValueError(
            f"types: there is no aggregate {unknown[0]!r}. The query has {', '.join(declared.aggregates)}."
        )
    return {name: dtype if isinstance(dtype, DataType) else _named_type(name, dtype) for name, dtype in types.items()}


def _named_type(name: str, dtype: Any) -> DataType:
    try:
        named = DataType.fromDDL(f"x {dtype}")
        assert isinstance(named, StructType)
        return named.fields[0].dataType
    except Exception as error:
        raise ValueError(
            f'types: {name!r}: {dtype!r} is not a Spark type. Examples: "double", "array<string>".'
        ) from error


def _refuse_unknown_type(prepared: Prepared, name: str) -> None:
    aggregate = prepared.query.aggregates[name]
    types = input_types(aggregate, prepared.schema)
    if types and all(dtype == pa.null() for dtype in types):
        return  # nulls give nulls
    try:
        try_out(aggregate, types)
        tried = ""
    except Exception as error:  # noqa: BLE001 — whatever the user's functions raise
        tried = f" (tried on made-up values, it raised {type(error).__name__}: {error})"
    raise TypeError(
        f"{name!r}: Spark needs the result type of {aggregate.label} before it runs, but Sash cannot determine it{tried}. "
        f'State the type, as in run(df, types={{"{name}": "double"}}).'
    )


def _result_type(dtype: pa.DataType, name: str) -> DataType:
    try:
        return spark_type(dtype)
    except TypeError as error:
        raise TypeError(
            f"{name!r} returns {dtype}, a type that Spark does not have. Let lower return another type, such as a string."
        ) from error
