"""What a query on a Spark DataFrame is checked for and made of, whether the frame is whole or a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from sash.engine.column_types import readable
from sash.engine.local import Local
from sash.engine.tables import needed_of
from sash.plan.declared import Declared
from sash.spark.batch.worker import Worker
from sash.spark.private import expects_large_types
from sash.spark.schema import arrow_of, read_schema, read_types, result_fields, with_types
from sash.spark.sql import quote


class Prepared:
    """A query and the frame that it is for."""

    def __init__(
        self, declared: Declared, frame: DataFrame, *, compiled: bool, types: Mapping[str, Any] | None
    ) -> None:
        _refuse_no_order(declared)
        self.frame = frame
        self.compiled = compiled
        self.schema = read_schema(declared, frame)
        self.types = read_types(types or {}, declared)
        self.declared = declared = with_types(declared, self.types)
        self.needed = frame if declared.per_row else frame.select(*map(quote, self.schema.names))
        """What goes to Python: for results of rows all columns, or slices."""
        needed = needed_of(declared, readable(self.schema.empty_table()))
        self.local = Local(declared, needed.schema, compiled=compiled, threads=1)
        self.answered = self.local
        """The query that Python answers."""

    @property
    def shown(self) -> Declared:
        """The query as an explanation shows it, with slices as they are cut for it here."""
        pairs = self.cuts_pairs and self.declared.slicing != "panes"
        return replace(self.declared, slicing="pairs") if pairs else self.declared

    @property
    def cuts_pairs(self) -> bool:
        """Whether slices are cut where windows begin and where they end, as slices that can't be read while open must be."""
        return False

    @cached_property
    def added(self) -> list[StructField]:
        """The columns of results."""
        return result_fields(self.declared, self.answered, self.types, self.frame.schema)

    @property
    def results(self) -> StructType:
        """The columns of the result; rows keep theirs."""
        return StructType([*(self.frame.schema.fields if self.declared.per_row else []), *self.added])

    @property
    def worker(self) -> Worker:
        """What is sent to Python workers."""
        results = arrow_of(self.results, expects_large_types(self.frame.sparkSession))
        answered = self.answered
        return Worker(answered.declared, answered.interpreted, results, compiled=self.compiled)


def _refuse_no_order(declared: Declared) -> None:
    if declared.time is None and not declared.order_by:
        message = (
            "Rows of a Spark DataFrame have no order of their own: say which column orders them, as in "
            'Query(time="ts", …) or Query(order_by="id", …).'
        )
        raise ValueError(message)
