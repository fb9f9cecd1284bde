"""What a type checker infers for each kind of data: mypy checks this file, and the tests run it over no rows.

pandas and pyarrow ship no types, so mypy infers Any for them here; with stubs it infers the type of the argument.
"""

from __future__ import annotations

from typing import Any, assert_type

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

import sash
from sash import agg, window
from sash.plan.explanation import Explanation

QUERY = sash.Query({"top": agg.max("x")}, window.rows(2))
ROWS: dict[str, list[int]] = {"x": []}


def test_polars() -> None:
    frame = pl.DataFrame(ROWS, schema={"x": pl.Int64})
    assert_type(QUERY.run(frame, threads=1, compiled=False), pl.DataFrame)
    assert_type(QUERY.run(frame.lazy(), compiled=False), pl.LazyFrame)
    assert_type(QUERY.schema(frame), Any)


def test_pandas_and_arrow() -> None:
    assert_type(QUERY.run(pd.DataFrame(ROWS), compiled=False), Any)
    assert_type(QUERY.run(pa.table(ROWS), compiled=False), Any)
    assert_type(QUERY.run(pa.table({"x": [1]}).to_reader(), mode="append", order="time", compiled=False), Any)
    assert_type(QUERY.schema(pa.table(ROWS)), Any)


def test_explanations() -> None:
    assert_type(QUERY.explain(), Explanation)
    assert_type(QUERY.explain(pl.DataFrame({"x": [1]}), compiled=False), Explanation)


def check_spark(frame: DataFrame) -> None:
    assert_type(QUERY.run(frame), DataFrame)
    assert_type(QUERY.run(frame, strategy="slices", buckets=3, types={"top": "long"}), DataFrame)
    assert_type(QUERY.run(frame, mode="update", on_bad_time="drop", ahead=None, metrics="m"), DataFrame)
    assert_type(QUERY.schema(frame, types={"top": "long"}), StructType)


def test_what_a_type_checker_rejects() -> None:
    """mypy fails if one of these lines is no error, because the comment is then unused."""
    frame = pl.DataFrame({"x": [1]})
    with pytest.raises(TypeError):
        QUERY.run(frame, strategy="fast")  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        QUERY.run(frame, buckets="3")  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        QUERY.run(frame, compield=True)  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        QUERY.explain(frame, compield=True)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        sash.Query({"top": agg.max("x")}, window.rows(2), group_by="k")  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        agg.avg("x")  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        window.rolling(3)  # type: ignore[attr-defined]
