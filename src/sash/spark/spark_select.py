"""SQL around a query on Spark: the rows that WHERE keeps, what a select list makes of results, and tables that FROM names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it
from pyspark.sql.types import StructType

from sash.engine.select_sql import READERS, format_of
from sash.expressions import Expression, Order, Selection, in_case

FORMATS = {**{ending: reader.removeprefix("read_") for ending, reader in READERS.items()}, ".orc": "orc"}
"""Spark's formats of files, by the ending of the name without .gz and .zst."""


def rows_where(frame: DataFrame, condition: Expression) -> DataFrame:
    """Return the rows for which a condition is true."""
    return frame.where(F.expr(condition.text))


def select_from(frame: DataFrame, selection: Selection) -> DataFrame:
    """Return what a selection makes of results. Raise ValueError for ORDER BY and LIMIT of a stream."""
    if frame.isStreaming and not selection.by_rows:
        raise ValueError(
            "ORDER BY, LIMIT and OFFSET need all results, but a stream has no end. Leave them out, or run on a table."
        )
    names = frame.columns
    if selection.having is not None:
        frame = rows_where(frame, selection.having)
    if selection.order:
        frame = frame.orderBy(*[_ordered(order, names) for order in selection.order])
    if selection.offset:
        frame = frame.offset(selection.offset)
    if selection.limit is not None:
        frame = frame.limit(selection.limit)
    if selection.outputs is None:
        return frame
    return frame.select(*[_column(value, names).alias(name) for name, value in selection.columns(names)])


def _column(value: Any, names: list[str]) -> Column:
    if isinstance(value, Expression):
        return F.expr(value.text)
    if isinstance(value, str):
        return F.col(f"`{in_case(value, names).replace('`', '``')}`")
    return F.struct(*[F.col(column).alias(name) for name, column in value.items()])


def _ordered(order: Order, names: list[str]) -> Column:
    column = _column(order.value, names)
    direction = "desc" if order.descending else "asc"
    nulls = {None: "", True: "_nulls_first", False: "_nulls_last"}[order.nulls_first]
    ordered: Column = getattr(column, f"{direction}{nulls}")()
    return ordered


def select_schema(frame: DataFrame, schema: StructType, selection: Selection) -> StructType:
    """Return the schema of what a selection makes of results of a schema."""
    return select_from(frame.sparkSession.createDataFrame([], schema), selection).schema


def read_files(session: SparkSession, path: str) -> DataFrame:
    """Return the rows of files. Raise ValueError if the ending of the path names no format."""
    file_format = format_of(path, FORMATS)
    separator = "\t" if ".tsv" in Path(path).name.lower() else ","
    options: dict[str, Any] = {"header": True, "inferSchema": True, "sep": separator} if file_format == "csv" else {}
    return session.read.format(file_format).options(**options).load(path)
