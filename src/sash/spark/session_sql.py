"""Texts that a session of Spark runs around windows: over its tables, and over DataFrames by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from sash.engine.query_sql import EngineError
from sash.spark.computed import read_files

__all__ = ["read_files", "run_text", "table_of"]

PLACE = re.compile(r"\(?\bline (\d+),? pos (\d+)\)?")


def run_text(session: SparkSession, text: str, views: Mapping[str, DataFrame]) -> DataFrame:
    """Return the result of a query. It names DataFrames by the keys of `views`, and other tables of the session. Raise EngineError."""
    escaped = text.replace("{", "{{").replace("}", "}}")
    used: dict[str, Any] = {name: frame for name, frame in views.items() if re.search(rf"\b{name}\b", text)}
    for name in used:
        escaped = re.sub(rf"\b{name}\b", f"{{{name}}}", escaped)
    try:
        result: DataFrame = session.sql(escaped, **used) if used else session.sql(text)
        result.schema  # noqa: B018 — Connect analyses a text when it is asked for the columns
    except PySparkException as error:
        raise _engine_error(error) from error
    return result


def table_of(session: SparkSession, data: Any) -> DataFrame:
    """Return a DataFrame. The name of a table of the session stands for the table."""
    return session.table(data) if isinstance(data, str) else data


def _engine_error(error: PySparkException) -> EngineError:
    message = str(error)
    place = PLACE.search(message)
    problem = PLACE.sub("", message.strip().split("\n")[0]).rstrip(" ;")
    if place is None:
        return EngineError(problem)
    return EngineError(problem, int(place[1]), int(place[2]))
