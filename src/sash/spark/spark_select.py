"""SQL around a query on Spark: the rows that WHERE keeps, what a select list makes of results, and tables that FROM names."""

from __future__ import annotations

import re

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

from sash.expressions import Selection

FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json", ".orc": "orc"}


def rows_where(frame: DataFrame, condition: str) -> DataFrame:
    """Return the rows for which a condition is true."""
    return frame.where(F.expr(condition))


def select_from(frame: DataFrame, selection: Selection) -> DataFrame:
    """Return what a selection makes of results. ORDER BY may name columns of the results and of the selection."""
    made = frame if selection.having is None else frame.where(F.expr(selection.having))
    made = made.orderBy(*map(_ordered, selection.order)) if selection.order and selection.outputs is None else made
    if selection.outputs is not None:
        hidden = [_ordered(text) for text in selection.order]
        outputs = [F.col("*") if name == "*" else F.expr(text).alias(name) for name, text in selection.outputs.items()]
        made = made.orderBy(*hidden).select(*outputs) if hidden else made.select(*outputs)
    made = made.offset(selection.offset) if selection.offset else made
    return made if selection.limit is None else made.limit(selection.limit)


def _ordered(text: str) -> Column:
    """Return a member of ORDER BY, such as `peak DESC NULLS LAST`."""
    found = re.fullmatch(r"(.*?)(?:\s+(ASC|DESC))?(?:\s+NULLS\s+(FIRST|LAST))?", text, re.IGNORECASE | re.DOTALL)
    assert found is not None  # every part but the first is optional
    column, down, nulls = F.expr(found[1]), (found[2] or "ASC").upper() == "DESC", (found[3] or "").lower()
    return getattr(column, ("desc" if down else "asc") + (f"_nulls_{nulls}" if nulls else ""))()  # type: ignore[no-any-return]


def read_table(session: SparkSession, name: str) -> DataFrame:
    """Return a table or view of a session, streaming ones too."""
    return session.table(name)


def read_files(session: SparkSession, path: str) -> DataFrame:
    """Return the rows of files. Raise ValueError if the ending of the path names no format."""
    ending = next((one for one in FORMATS if path.removesuffix(".gz").lower().endswith(one)), None)
    if ending is None:
        message = f"{path!r} does not end in {', '.join(FORMATS)}, so its format is not known."
        raise ValueError(message)
    reader = session.read.format(FORMATS[ending])
    if FORMATS[ending] == "csv":
        reader = reader.option("header", True).option("inferSchema", True)
    return reader.load(path)
