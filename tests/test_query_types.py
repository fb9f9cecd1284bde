"""What a type checker infers for each kind of data: mypy checks this file, and the tests run it.

pandas and pyarrow ship no types, so mypy infers Any for them here. With stubs it infers the type of the argument: the last test
writes stubs and runs mypy.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
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
    assert_type(QUERY.run(frame, threads=1), pl.DataFrame)
    assert_type(QUERY.run(frame.lazy()), pl.LazyFrame)
    assert_type(QUERY.schema(frame), Any)


def test_pandas_and_arrow() -> None:
    assert_type(QUERY.run(pd.DataFrame(ROWS)), Any)
    assert_type(QUERY.run(pa.table(ROWS)), Any)
    assert_type(QUERY.run(pa.table({"x": [1]}).to_reader(), mode="append", order="time"), Any)
    assert_type(QUERY.schema(pa.table(ROWS)), Any)


def test_explanations() -> None:
    assert_type(QUERY.explain(), Explanation)
    assert_type(QUERY.explain(pl.DataFrame({"x": [1]})), Explanation)


def test_lists() -> None:
    assert_type(sash.Query([agg.max("x")], [window.rows(2)]), sash.Query)


def check_spark(frame: DataFrame) -> None:
    assert_type(QUERY.run(frame), DataFrame)
    assert_type(QUERY.run(frame, strategy="slices", buckets=3, types={"top": "long"}), DataFrame)
    assert_type(QUERY.run(frame, mode="update", on_bad_time="drop", ahead=None, late="keep", metrics="m"), DataFrame)
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
        QUERY.explain(frame, compield=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        sash.Query({"top": agg.max("x")}, window.rows(2), group_by="k")  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        agg.avg("x")  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        window.rolling(3)  # type: ignore[attr-defined]


PYARROW = """
from typing import Any
class Schema: ...
class Table:
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...
class RecordBatch: ...
class RecordBatchReader:
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...
def __getattr__(name: str) -> Any: ...
"""
PANDAS = """
from typing import Any
class DataFrame:
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...
def __getattr__(name: str) -> Any: ...
"""
CALLS = """
from typing import assert_type

import pandas as pd
import polars as pl
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

import sash

def check(
    query: sash.Query, table: pa.Table, batch: pa.RecordBatch, reader: pa.RecordBatchReader, schema: pa.Schema,
    pandas: pd.DataFrame, polars: pl.DataFrame, lazy: pl.LazyFrame, spark: DataFrame,
) -> None:
    assert_type(query.run(table, threads=2), pa.Table)
    assert_type(query.run(batch), pa.RecordBatch)
    assert_type(query.run(reader), pa.RecordBatchReader)
    assert_type(query.run(reader, mode="update", order="time"), pa.RecordBatchReader)
    assert_type(query.run(pandas), pd.DataFrame)
    assert_type(query.run(polars), pl.DataFrame)
    assert_type(query.run(lazy), pl.LazyFrame)
    assert_type(query.run(spark), DataFrame)
    assert_type(query.run(spark, mode="update"), DataFrame)
    assert_type(query.schema(table), pa.Schema)
    assert_type(query.schema(schema), pa.Schema)
    assert_type(query.schema(reader, mode="update"), pa.Schema)
    assert_type(query.schema(pandas), pa.Schema)
    assert_type(query.schema(lazy), pa.Schema)
    assert_type(query.schema(spark), StructType)
    query.run(table, strategy="slices")  # type: ignore[call-overload]
    query.run(table, mode="update")  # type: ignore[call-overload]
    query.run(spark, threads=2)  # type: ignore[call-overload]
    query.run(spark, strategy="fast")  # type: ignore[call-overload]
    query.run([1, 2])  # type: ignore[call-overload]
"""


@pytest.mark.full
def test_types_with_stubs(tmp_path: Path) -> None:
    for package, stub in (("pyarrow", PYARROW), ("pandas", PANDAS)):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.pyi").write_text(stub)
    calls = tmp_path / "calls.py"
    calls.write_text(CALLS)
    source = Path(sash.__file__).parent.parent
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--ignore-missing-imports"]
    command += ["--config-file=", f"--cache-dir={tmp_path / 'cache'}", str(calls)]
    environment = {**os.environ, "MYPYPATH": f"{tmp_path}{os.pathsep}{source}"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
