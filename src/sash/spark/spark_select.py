"""SQL around a query on Spark: the rows that WHERE keeps, what a select list makes of results, and tables that FROM names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it
from pyspark.sql.types import StructType

from sash.expressions import Expression, Order, Selection, in_case

FORMATS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".orc": "orc",
}
"""Spark's formats of files, by the ending of the name without .gz and .zst."""


def rows_where(frame: DataFrame, condition: Expression) -> DataFrame:
    """Return the rows for which a condition is true."""
    return frame.where(F.expr(condition.text))


def select_from(frame: DataFrame, selection: Selection) -> DataFrame:
    """Return what a selection makes of results. Raise ValueError for ORDER BY and LIMIT of a stream."""
    if frame.isStreaming and not selection.by_rows:
        message = (
            "ORDER BY, LIMIT and OFFSET need all results, but a stream has no end. Leave them out, or run on a table."
        )
        raise ValueError(message)
    made = frame if selection.having is None else rows_where(frame, selection.having)
    if selection.order:
        made = made.orderBy(*[_ordered(one, made.columns) for one in selection.order])
    made = made.offset(selection.offset) if selection.offset else made
    made = made if selection.limit is None else made.limit(selection.limit)
    if selection.outputs is None:
        return made
    return made.select(*[_column(value, made.columns).alias(name) for name, value in selection.columns(made.columns)])


def _column(value: Any, names: list[str]) -> Column:
    if isinstance(value, Expression):
        return F.expr(value.text)
    if isinstance(value, str):
        return F.col(f"`{in_case(value, names).replace('`', '``')}`")
    return F.struct(*[F.col(column).alias(name) for name, column in value.items()])


def _ordered(one: Order, names: list[str]) -> Column:
    column = _column(one.value, names)
    if one.nulls_first is None:
        return column.desc() if one.descending else column.asc()
    if one.descending:
        return column.desc_nulls_first() if one.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if one.nulls_first else column.asc_nulls_last()


def select_schema(frame: DataFrame, schema: StructType, selection: Selection) -> StructType:
    """Return the schema of what a selection makes of results of a schema."""
    return select_from(frame.sparkSession.createDataFrame([], schema), selection).schema


def read_files(session: SparkSession, path: str) -> DataFrame:
    """Return the rows of files. Raise ValueError if the ending of the path names no format."""
    name = Path(path).name
    for packed in (".gz", ".zst"):
        name = name.removesuffix(packed)
    found = FORMATS.get(Path(name).suffix.lower())
    if found is None:
        message = f"{path!r} does not end in {', '.join(FORMATS)}, so its format is not known."
        raise ValueError(message)
    reader = session.read.format(found)
    if found == "csv":
        reader = (
            reader.option("header", True)
            .option("inferSchema", True)
            .option("sep", "\t" if ".tsv" in name.lower() else ",")
        )
    return reader.load(path)
