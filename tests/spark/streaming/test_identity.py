"""Streams over PySpark expressions: a restarted program continues, and a changed one never does silently."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.spark import identified
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

import sash
from sash import agg, window
from sash.options import SparkStreamOptions, read_options
from sash.spark.streaming.stream_query import StreamQuery
from sash.state.evolve import check_evolves, kept_names
from sash.state.fingerprint import Fingerprint, changes

TABLE = {"a": 1}


@pytest.fixture
def stream(spark: SparkSession) -> DataFrame:
    rate = spark.readStream.format("rate").load()
    columns = [
        "timestamp AS ts",
        "value AS x",
        "CAST(value AS STRING) AS k",
        "array(value) AS xs",
        "named_struct('a', 1) AS st",
    ]
    return rate.selectExpr(*columns).withWatermark("ts", "1 minute")


def fingerprint(stream: DataFrame, **declared: Any) -> Fingerprint:
    given = {"aggregates": {"n": agg.count()}, "windows": window.tumbling("1m"), "time": "ts", **declared}
    return StreamQuery(
        sash.Query(**given)._declared, stream, read_options(SparkStreamOptions, {"buckets": 2})
    ).fingerprint


def of_input(stream: DataFrame, column: Column) -> Fingerprint:
    return fingerprint(stream, aggregates={"a": agg.collect(column)})


def function(text: str, line: int = 1, **given: Any) -> Any:
    """Return a function that begins on a line of its file."""
    made: dict[str, Any] = dict(given)
    exec(compile("\n" * line + text, "job.py", "exec"), made)  # noqa: S102 — its own text
    return made["f"]


def udf(text: str, line: int = 1, returns: str = "int", **given: Any) -> Any:
    return F.udf(function(f"def f(x): return {text}", line, **given), returns)


def arrow_udf(use: bool) -> Any:
    return F.udf(function("def f(x): return x"), "int", useArrow=use)


def pandas_udf(line: int) -> Any:
    made = function("def f(x: pd.Series) -> pd.Series: return x + 1", line, pd=pd)
    return F.pandas_udf(made, "int")  # type: ignore[attr-defined]


SAME: dict[str, Callable[[int], Column]] = {
    "arithmetic": lambda _: F.col("x") * 2,
    "udf": lambda line: udf("x + 1", line)("x"),
    "udf of an expression": lambda line: udf("x + 1", line)(F.col("x") + 1) * 2,
    "pandas udf": lambda line: pandas_udf(line)("x"),
    "udf with a table": lambda line: udf("table[x]", line, table=TABLE)("x"),
    "udf with a set": lambda line: udf("x in {'a', 'b', 'c', 'd'}", line)("k"),
    "udf with a regular expression": lambda line: udf("re.sub('a', 'b', x)", line, "string", re=re)("k"),
    "lambda": lambda _: F.exists("xs", lambda value: value > 1),
    "lambda in a lambda": lambda _: F.transform("xs", lambda x: F.size(F.filter("xs", lambda y: y > x))),
    "binary": lambda _: F.lit(b"ab"),
    "random": lambda _: F.rand() < 0.1,
    "case": lambda _: F.when(F.col("x") > 1, "a").otherwise(F.col("k")),
}  # fmt: skip


@pytest.mark.connect
@pytest.mark.parametrize("name", SAME)
def test_the_same_expression_is_the_same_query(stream: DataFrame, name: str) -> None:
    """Whatever the counters of the process, the addresses in its memory, and the lines of the program."""
    then = of_input(stream, SAME[name](1))
    now = of_input(stream, SAME[name](7))
    assert changes(then, now) == []
    assert json.loads(json.dumps(then)) == then
    assert "@" not in json.dumps(then)


DIFFERENT: dict[str, tuple[Callable[[], Column], Callable[[], Column]]] = {
    "a literal for a column": (lambda: F.col("k") == F.lit("k"), lambda: F.col("k") == F.col("k")),
    "text for a number": (lambda: F.col("k") == "1", lambda: F.col("k") == 1),
    "an integer for a float": (lambda: F.col("x") * 1, lambda: F.col("x") * 1.0),
    "a field for a name with a dot": (lambda: F.col("st.a"), lambda: F.col("x")),
    "an operator": (lambda: F.col("x") + 1, lambda: F.col("x") - 1),
    "a lambda": (lambda: F.exists("xs", lambda v: v > 1), lambda: F.exists("xs", lambda v: v > 2)),
    "variables of lambdas": (
        lambda: F.transform("xs", lambda x: F.size(F.filter("xs", lambda y: y > x))),
        lambda: F.transform("xs", lambda x: F.size(F.filter("xs", lambda y: x > y))),
    ),
    "the body of a function": (lambda: udf("x + 1")("x"), lambda: udf("x + 2")("x")),
    "a global variable": (lambda: udf("x + k", k=1)("x"), lambda: udf("x + k", k=2)("x")),
    "the type of a result": (lambda: udf("x")("x"), lambda: udf("x", returns="bigint")("x")),
    "a kind of function": (lambda: arrow_udf(True)("x"), lambda: arrow_udf(False)("x")),
    "binary": (lambda: F.lit(b"ab"), lambda: F.lit(b"ac")),
    "a cast": (lambda: F.col("x").cast("string"), lambda: F.col("x").try_cast("string")),
    "a bound method": (lambda: F.udf({"a": 1}.get, "int")("k"), lambda: F.udf({"a": 2}.get, "int")("k")),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_expressions_are_different_queries(stream: DataFrame, name: str) -> None:
    one, other = DIFFERENT[name]
    assert changes(of_input(stream, one()), of_input(stream, one())) == []
    assert changes(of_input(stream, one()), of_input(stream, other()))
    filters = [fingerprint(stream, aggregates={"n": agg.count(where=make().isNotNull())}) for make in (one, other)]
    assert changes(*filters)
    keys = [fingerprint(stream, by=make().alias("key")) for make in (one, other)]
    assert changes(*keys)


def test_an_expression_of_two_functions_with_one_name(stream: DataFrame) -> None:
    """Columns that look the same are told apart, and equal ones are computed once."""
    aggregates = {
        "one": agg.sum(udf("x + 1")("x")),
        "two": agg.sum(udf("x + 2")("x")),
        "again": agg.max(udf("x + 1", 5)("x")),
    }
    made = fingerprint(stream, aggregates=aggregates)
    computed = [name for name in made["columns"] if name.startswith("expr(f(x))")]
    assert len(computed) == 2
    assert made["aggregates"]["one"].replace("sum", "max") == made["aggregates"]["again"]


@pytest.mark.connect
def test_sql_and_names_have_the_fingerprint_that_they_had(stream: DataFrame) -> None:
    made = fingerprint(stream, aggregates={"s": agg.sum(sash.expr("x * 2"), where="x > 1"), "m": agg.max("x")}, by="k")
    assert made["aggregates"] == {"s": "sum(expr(x * 2) where x > 1)", "m": "max(x)"}
    assert list(made["columns"]) == ["k", "ts", "expr(x * 2) where x > 1", "x"]
    assert made["code"].keys() == {"python", "aggregates", "windows"}
    assert "keys" not in made


@pytest.mark.connect
def test_names_of_results_are_stable(stream: DataFrame) -> None:
    def names() -> list[str]:
        by = udf("x + 1")("x")
        query = sash.Query(
            [agg.count(where=F.exists("xs", lambda value: value > 1))], window.tumbling("1m"), by=by, time="ts"
        )
        return query.run(stream, buckets=1).columns

    assert names() == names()
    assert names()[0] == "f(x)"


def test_a_function_that_cannot_be_identified(spark: SparkSession, stream: DataFrame) -> None:
    message = (
        r"but for f\(x\) Sash cannot: .* Use SQL, as in sash\.expr\(\"price \* quantity\"\), or compute the column"
    )
    unreadable = F.udf(function("def f(x): return len(opaque)", opaque=Opaque()), "int")("x")
    with pytest.raises(ValueError, match=message):
        of_input(stream, unreadable)
    rows = spark.createDataFrame([(1, 2)], "t int, x int")  # a table has no checkpoint
    assert sash.Query({"a": agg.sum(unreadable)}, window.tumbling(10), time="t").run(rows).count() == 1


class Opaque:
    """A value that pickle reads, but whose content nobody can tell from it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return iter_of_three, ()


def iter_of_three() -> Any:
    return memoryview(b"abc")


def test_a_broadcast_variable_counts(classic: None, spark: SparkSession, stream: DataFrame) -> None:
    del classic

    def made(value: Any) -> Fingerprint:
        table = spark.sparkContext.broadcast(value)
        return of_input(stream, udf("table.value[x]", table=table)("k"))

    assert changes(made({"a": 1}), made({"a": 1})) == []
    assert changes(made({"a": 1}), made({"a": 2}))
    large = list(range(300_000))  # so that the function itself is broadcast
    assert (
        changes(
            of_input(stream, udf("x in large", large=large)("x")), of_input(stream, udf("x in large", large=large)("x"))
        )
        == []
    )


def test_a_column_of_a_frame_that_is_ambiguous(stream: DataFrame) -> None:
    assert changes(of_input(stream, stream.x + 1), of_input(stream, stream["x"] + 1)) == []
    twice = stream.select("*", F.col("x").alias("X"))
    with pytest.raises(ValueError, match="the stream has 2 columns named 'x'"):
        of_input(twice, stream.x + 1)


def test_removing_an_aggregate_keeps_the_others(stream: DataFrame) -> None:
    then = fingerprint(stream, aggregates={name: agg.count(where=one) for name, one in wheres().items()})
    now = fingerprint(stream, aggregates={"b": agg.count(where=wheres()["b"])})
    assert kept_names(then, now, "aggregates") == ["b"]


def wheres() -> dict[str, Column]:
    return {"a": F.col("k") == F.lit("k"), "b": F.col("k") == F.col("k")}


def test_evolution_keeps_keys(stream: DataFrame) -> None:
    then, same, function_, plan = (
        fingerprint(stream, by=key.alias("key"))
        for key in (udf("x + 1")("x"), udf("x + 1", 4)("x"), udf("x + 2")("x"), F.col("x") + 1)
    )
    check_evolves(then, same)
    with pytest.raises(ValueError, match="differs in more: key 'key': its functions changed"):
        check_evolves(then, function_)
    with pytest.raises(ValueError, match=r"differs in more: .*keys: key: "):
        check_evolves(then, plan)


def life(folder: Path, number: int) -> dict[str, Any]:
    """Run a process of the driver to its end, and return what it reports."""
    paths = os.pathsep.join(path for path in sys.path if path)
    made = subprocess.run(
        [sys.executable, identified.__file__, str(folder), str(number)],
        # A server of Connect takes a port of its own if Spark is tested, as that of this process is still there.
        env={**os.environ, "PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable, "SPARK_TESTING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr[-5000:]
    report: dict[str, Any] = json.loads(made.stdout.splitlines()[-1])
    return report


@pytest.mark.full
def test_a_restarted_process_continues_and_a_changed_query_does_not(tmp_path: Path) -> None:
    first = life(tmp_path, 1)
    assert first["results"] == []
    second = life(tmp_path, 2)
    window_of_8 = {"key": "a", "window_start": 0, "window_end": 8, "s": 80, "n": 8, "k": 0}
    assert second["continued"] == second["evolved"] == [window_of_8]
    for name, part in {
        "function": "aggregate 's': its functions changed",
        "literal": "aggregates: k: count(where",
        "key": "evolve=True can change the aggregates and windows of a query, but the checkpoint differs in more: key 'key'",
    }.items():
        assert part in second[name], (name, second[name])
