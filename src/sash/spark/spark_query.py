"""SparkQuery: a query on a Spark DataFrame, checked and prepared; the base of batch and streaming queries."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from sash.aggregates.sql import quote
from sash.columns.read_column import readable
from sash.engine.needed_columns import needed_columns
from sash.engine.prepare import prepare
from sash.options import SparkStreamOptions, SparkTableOptions
from sash.plan.query_spec import QuerySpec
from sash.plan.tree import Branch
from sash.spark.arrow_types import arrow_schema
from sash.spark.computed import in_own_case, with_computed
from sash.spark.private import expects_large_types
from sash.spark.schema import in_session_zone, read_schema, read_types, result_fields, with_types
from sash.workers.bucket_worker import BucketWorker


class SparkQuery:
    """A query and its DataFrame. Building it checks everything that can be checked before a row is read."""

    def __init__(self, query: QuerySpec, frame: DataFrame, options: SparkTableOptions | SparkStreamOptions) -> None:
        _check_order(query)
        frame, self.own_names = in_own_case(query, frame)
        """The names of columns that the query writes in another case, by the names that it uses."""
        frame, query = with_computed(query, frame)
        query = in_session_zone(query, frame)
        self.frame = frame
        self.compiled = options["compiled"]
        self.schema = read_schema(query, frame)
        self.types = read_types(options["types"] or {}, query)
        self.query = query = with_types(query, self.types)
        self.sent = frame if query.per_row else frame.select(*map(quote, self.schema.names))
        """What goes to Python: all columns if every row has a result, or the columns that the query reads, or slices."""
        needed = needed_columns(query, readable(self.schema.empty_table()))
        self.prepared = prepare(query, needed.schema, compiled=self.compiled)
        """The query over rows."""
        self.in_python = self.prepared
        """The query that Python evaluates: over rows, or over slices."""

    @property
    def shown(self) -> QuerySpec:
        """The query as an explanation shows it, with slices as they are cut here."""
        pairs = self.cuts_pairs and self.query.slicing != "panes"
        return replace(self.query, slicing="pairs") if pairs else self.query

    @property
    def cuts_pairs(self) -> bool:
        """Whether slices are cut where windows begin and end, because nothing reads them while they are open."""
        return False

    def run(self) -> DataFrame:
        """Return the results."""
        raise NotImplementedError

    def describe(self) -> Branch:
        """Return the branch of an explanation that says what Spark does."""
        raise NotImplementedError

    @cached_property
    def added(self) -> list[StructField]:
        """The columns of results."""
        return result_fields(self.query, self.in_python, self.types, self.frame.schema)

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

    @property
    def result_schema(self) -> StructType:
        """The columns of the result as the user sees them."""
        if not self.query.per_row:
            return self.results
        fields = [
            StructField(self.own_names.get(field.name, field.name), field.dataType, field.nullable, field.metadata)
            for field in self.results
        ]
        return StructType(fields)

    @property
    def worker(self) -> BucketWorker:
        """What is sent to Python workers."""
        results = arrow_schema(self.results, "UTC", large=expects_large_types(self.frame.sparkSession))
        return BucketWorker(self.in_python.query, self.in_python.interpreted, results, compiled=self.compiled)


def _check_order(query: QuerySpec) -> None:
    if query.time is None and not query.order_by:
        raise ValueError(
            "Rows of a Spark DataFrame have no order. Name the column that orders them: "
            'Query(time="ts", …) or Query(order_by="id", …).'
        )
