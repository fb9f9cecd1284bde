"""Checks the answers of a case, then measures it."""

from __future__ import annotations

from typing import Any

from benchmarks.case import Case
from benchmarks.column_case import ColumnCase
from benchmarks.column_field import ColumnField
from benchmarks.field import Field
from benchmarks.results import Reading, reading
from benchmarks.spark_batch.case import SparkCase
from benchmarks.spark_batch.field import SparkField
from benchmarks.spark_streaming.case import StreamCase
from benchmarks.spark_streaming.field import StreamField
from benchmarks.windows.case import TableCase
from benchmarks.windows.field import TableField


def measure(case: Case, repeats: int | None = None) -> list[Reading]:
    """Check every contestant, then measure all of them in turn."""
    field = field_of(case)
    values = field.measure(repeats or case.repeats)
    return [
        reading(case, one, values[one.name], field.counted(one), field.compiled.get(one.name))
        for one in case.contestants
    ]


def field_of(case: Case) -> Field[Any]:
    """Return the contestants of a case, ready to be called."""
    if isinstance(case, ColumnCase):
        return ColumnField(case)
    if isinstance(case, TableCase):
        return TableField(case)
    if isinstance(case, StreamCase):
        return StreamField(case)
    if isinstance(case, SparkCase):
        return SparkField(case)
    message = f"{case.name} is no case over a column, over a table or on Spark: say here how it is measured."
    raise TypeError(message)
