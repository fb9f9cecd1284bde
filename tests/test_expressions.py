"""where= and sash.expr: the same results as a filter before an aggregate without them, for all data in this process."""

from __future__ import annotations

import operator
import pickle
import sys
from functools import partial
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash import agg, window
from sash.aggregates import BUILT_IN
from sash.engine import needed_columns, select_sql

ROWS = pa.table(
    {
        "t": [1, 2, 3, 4, 5, 6, 7],
        "k": ["a", "b", "a", "a", "b", "a", None],
        "x": [3, None, 5, 1, 4, 2, 6],
        "y": [1.5, 2.5, None, 0.5, 4.0, 3.5, 2.0],
        "flag": [True, False, None, True, True, False, True],
    }
)
EXTRA: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    **{name: (("y", "x"), {}) for name in ("covariance", "correlation", "weighted_mean", "arg_max", "arg_min")},
    **{name: (("y", "x"), {}) for name in ("slope", "intercept", "r_squared")},
    **{name: (("x",), {"alpha": 0.5}) for name in BUILT_IN if name.startswith("ewm")},
    "any": (("flag",), {}),
    "all": (("flag",), {}),
    "concat": (("k", "-"), {}),
    "frequency": (("x", 3), {}),
    "may_contain": (("x", 3), {}),
    "histogram": (("x", [0, 2, 4, 8]), {}),
    "per_value": (("k", agg.sum("x")), {}),
}
CONDITION = "y > 1 AND k = 'a'"


def passes(row: dict[str, Any]) -> bool:
    return row["y"] is not None and row["y"] > 1 and row["k"] == "a"


@pytest.mark.parametrize("name", BUILT_IN)
def test_where_is_the_aggregate_of_the_rows_that_pass(name: str) -> None:
    """Nulls are skipped by all aggregates, so nulls in place of the rows that do not pass give the same results."""
    columns, keywords = EXTRA.get(name, (("x",), {}))
    windows = window.rows(3)
    filtered = sash.Query({"r": BUILT_IN[name](*columns, **keywords, where=CONDITION)}, windows, time="t").run(ROWS)
    nulled = [row if passes(row) else {"t": row["t"]} for row in ROWS.to_pylist()]
    without = sash.Query({"r": BUILT_IN[name](*columns, **keywords)}, windows, time="t")
    expected = without.run(pa.Table.from_pylist(nulled, ROWS.schema))
    assert filtered["r"].type == expected["r"].type
    assert repr(filtered["r"].to_pylist()) == repr(expected["r"].to_pylist())  # NaN is not equal to itself


@pytest.mark.parametrize("name", ["count", "ewm_count"])
def test_counts_of_rows_count_those_that_pass(name: str) -> None:
    keywords = {} if name == "count" else {"alpha": 0.5}
    made = sash.Query({"r": BUILT_IN[name](where=CONDITION, **keywords)}, window.rows(3)).run(ROWS)
    nulled = pa.array([1 if passes(row) else None for row in ROWS.to_pylist()])
    without = sash.Query({"r": BUILT_IN[name]("one", **keywords)}, window.rows(3))
    assert made["r"].equals(without.run(ROWS.append_column("one", nulled))["r"])
    assert made["r"].null_count == 0


VALUES = st.one_of(st.none(), st.integers(-5, 5))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=30))
def test_results_are_those_of_filter_in_duckdb(values: list[tuple[int | None, int | None]]) -> None:
    columns = [list(column) for column in zip(*values, strict=True)]
    rows = pa.table(
        {"i": list(range(len(values))), **dict(zip("ab", (pa.array(one, pa.int64()) for one in columns), strict=True))}
    )
    query = sash.Query(
        {
            "n": agg.count(where="a > b"),
            "total": agg.sum(sash.expr("a * b + 1"), where="a IS NOT NULL AND a <> 2"),
            "top": agg.max("a", where="b < 0 OR b IS NULL"),
        },
        window.rows(3),
    )
    over = "OVER (ORDER BY i ROWS 2 PRECEDING)"
    with duckdb.connect() as connection:
        connection.register("data", rows)
        expected = connection.sql(
            f"""SELECT count(*) FILTER (a > b) {over}, CAST(sum(a * b + 1) FILTER (a IS NOT NULL AND a <> 2) {over} AS BIGINT),
            max(a) FILTER (b < 0 OR b IS NULL) {over} FROM data ORDER BY i"""
        ).fetchall()
    made = query.run(rows)
    assert list(zip(*(made[name].to_pylist() for name in ("n", "total", "top")), strict=True)) == expected


def query_of_all(**fields: Any) -> sash.Query:
    aggregates = {
        "n": agg.count(where="y > 1"),
        "s": agg.sum(sash.expr("x * 2"), where="k = 'a'"),
        "last": agg.last("k", where="x > 2"),
    }
    return sash.Query(aggregates, fields.pop("windows", window.rows(3)), time="t", **fields)


@pytest.mark.parametrize("windows", [window.rows(3), window.tumbling(3)], ids=str)
def test_all_kinds_of_data_agree(windows: sash.window.Window) -> None:
    query = query_of_all(windows=windows)
    expected = query.run(ROWS)
    frame: Any = pl.from_arrow(ROWS)
    assert query.run(ROWS.to_reader(max_chunksize=2)).read_all().to_pylist() == expected.to_pylist()
    assert query.run(frame).to_dicts() == expected.to_pylist()
    assert query.run(frame.lazy()).collect().to_dicts() == expected.to_pylist()
    assert query.run(ROWS.to_batches()[0]).to_pylist() == expected.to_pylist()
    from_pandas = query.run(ROWS.to_pandas())
    for name in ("n", "s", "last"):
        assert [None if pd.isna(one) else one for one in from_pandas[name]] == expected[name].to_pylist()
    for data in (ROWS, ROWS.schema, ROWS.to_reader(), frame):
        assert query.schema(data).names == expected.column_names == list(from_pandas.columns)


def test_types_stay() -> None:
    kinds = [
        pa.array(["a", "b"]).dictionary_encode(),
        pa.array(["a", "b"], pa.large_string()),
        pa.array([1, 2], pa.timestamp("s", "Europe/Berlin")),
        pa.array([1, 2], pa.int8()),
        pa.array([1, 2], pa.duration("ms")),
        pa.array([[1], [2]]),
        pa.array([{"u": 1}, {"u": 2}]),
    ]
    for column in kinds:
        rows = pa.table({"v": column, "i": [1, 2]})
        made = sash.Query(agg.last("v", where="i = 1"), window.rows(2)).run(rows)["last"]
        assert made.type == sash.Query(agg.last("v"), window.rows(2)).run(rows)["last"].type
        assert made.to_pylist() == [column[0].as_py()] * 2


def test_a_polars_enum_stays() -> None:
    frame = pl.DataFrame({"v": ["lo", "hi"], "i": [1, 2]}, schema={"v": pl.Enum(["lo", "hi"]), "i": pl.Int64})
    made = sash.Query(agg.max("v", where="i = 1"), window.rows(2)).run(frame)
    assert made.schema["max"] == frame.schema["v"]
    assert made["max"].to_list() == ["lo", "lo"]
    native = sash.Query(agg.max(pl.col("v"), where=pl.col("i") == 1), window.rows(2)).run(frame)
    assert native.equals(made)


def test_min_rows_counts_rows_that_pass() -> None:
    made = sash.Query(agg.sum("x", where="x > 2"), window.rows(3, min_rows=2)).run(ROWS)["sum"]
    assert made.to_pylist() == [None, None, 8, None, 9, None, 10]


def test_native_expressions() -> None:
    expected = sash.Query({"s": agg.sum(sash.expr("x * 2"), where="y > 1")}, window.rows(3)).run(ROWS)
    arrow = sash.Query({"s": agg.sum(pc.field("x") * 2, where=pc.field("y") > 1)}, window.rows(3))
    polars = sash.Query({"s": agg.sum(pl.col("x") * 2, where=pl.col("y") > 1)}, window.rows(3))
    frame: Any = pl.from_arrow(ROWS)
    assert arrow.run(ROWS).equals(expected)
    assert pickle.loads(pickle.dumps(arrow)).run(ROWS.to_reader()).read_all().equals(expected)  # noqa: S301 — our own
    assert polars.run(frame).to_dicts() == expected.to_pylist()
    assert pickle.loads(pickle.dumps(polars)).run(frame).to_dicts() == expected.to_pylist()  # noqa: S301 — our own
    with pytest.raises(TypeError, match="expression of Polars, which only a Polars frame can evaluate"):
        polars.run(ROWS)


def test_native_expressions_that_look_alike_are_two() -> None:
    twice, thrice = (
        pl.col("x").map_elements(partial(operator.mul, factor), return_dtype=pl.Int64) for factor in (2, 3)
    )
    made = sash.Query({"a": agg.sum(twice), "b": agg.sum(thrice)}, window.rows(1)).run(pl.DataFrame({"x": [1, 5]}))
    assert made["a"].to_list() == [2, 10]
    assert made["b"].to_list() == [3, 15]


def test_keys_are_expressions() -> None:
    frame: Any = pl.from_arrow(ROWS)
    by_name = sash.Query(agg.count(), window.tumbling(10), by="k", time="t")
    assert sash.Query(agg.count(), window.tumbling(10), by=pl.col("k"), time="t").run(frame).equals(by_name.run(frame))
    upper = sash.Query(agg.count(), window.tumbling(10), by=sash.expr("upper(k)"), time="t").run(ROWS)
    assert dict(zip(upper["upper(k)"].to_pylist(), upper["count"].to_pylist(), strict=True)) == {
        "A": 4,
        "B": 2,
        None: 1,
    }
    named = pl.col("k").str.to_uppercase().alias("upper")
    assert sash.Query(agg.count(), window.tumbling(10), by=named, time="t").run(frame)["upper"].to_list() == [
        "A",
        "B",
        None,
    ]
    per_row = sash.Query(agg.count(), window.rows(2), by=sash.expr("upper(k)"), time="t").run(ROWS)
    assert per_row.column_names == [*ROWS.column_names, "count"]
    with pytest.raises(ValueError, match=r"already has a column 'k'.* alias"):
        sash.Query(agg.count(), window.rows(2), by=pl.col("k").str.to_uppercase(), time="t").run(frame)


def test_windows_over_whole_rows_do_not_see_computed_columns() -> None:
    seen: set[str] = set()

    def begins(row: dict[str, Any]) -> tuple[bool, bool]:
        seen.update(row)
        return row["x"] == 3, row["x"] == 6

    made = sash.Query({"n": agg.count(where="y > 1")}, window.custom(begins)).run(ROWS)
    assert made["n"].to_pylist() == [5]
    assert seen == set(ROWS.column_names)


def test_repr_and_names() -> None:
    count = agg.count(where="y > 1")
    total = agg.sum(sash.expr("x * 2"), where="k = 'a'")
    assert repr(count) == 'count(where="y > 1")'
    assert repr(total) == 'sum(expr("x * 2"), where="k = \'a\'")'
    assert repr(agg.per_value("k", agg.sum("x", where="x > 1"))) == 'per_value("k", sum("x", where="x > 1"))'
    assert repr(agg.quantile("x", 0.9, where="x > 1")) == 'quantile("x", 0.9, where="x > 1")'
    query = sash.Query([count, total], window.rows(3))
    keyed = sash.Query(count, window.rows(3), by=["t", sash.expr("upper(k)")])
    assert repr(keyed).startswith('Query(by=["t", expr("upper(k)")], ')
    assert query.run(ROWS).column_names[-2:] == ["count_where_y_1", "sum_x_2_where_k_a"]
    again = pickle.loads(pickle.dumps(query))  # noqa: S301 — our own
    assert repr(again) == repr(query)
    assert again.run(ROWS).equals(query.run(ROWS))
    assert "count(where y > 1)" in str(query.explain(ROWS))
    assert "count(where y > 1)" in str(query.explain())


def test_own_aggregates_have_filters() -> None:
    newest = sash.aggregate("newest", lift=lambda x: x, combine=lambda _, newer: newer)
    made = sash.Query(newest("x", where="y > 1"), window.rows(2)).run(ROWS)["newest"].to_pylist()
    assert made == sash.Query(agg.last("x", where="y > 1"), window.rows(2)).run(ROWS)["last"].to_pylist()


WRONG = {
    "amout > 100": ('"amout" not found.* The data has .t., .k.', "amout > 100\n  ^^^^^"),
    "(x": ("syntax error at the end", "(x\n    ^"),
    "x >": ("syntax error at the end", "x >\n     ^"),
    'k = "a"': ("If \"a\" is text, write 'a'", 'k = "a"\n      ^^^'),
    "sum(x) > 1": ("aggregates rows", "sum(x) > 1\n  ^^^^^^"),
    "x IN (SELECT 1)": ("subquery", "x IN (SELECT 1)\n       ^"),
    "row_number() OVER () = 1": ("window function", "row_number() OVER () = 1\n  ^"),
    "x > 1; SELECT 1": ("syntax error", "x > 1; SELECT 1\n       ^"),
    "x > 1), (y > 1": ("not one expression", ""),
    "x > 1\nAND z > 2": ('"z" not found', "AND z > 2\n      ^"),
    "*": ("star", "*\n  ^"),
    "x > 1); COPY (SELECT 1) TO 'x.csv'; SELECT (1": ("not one expression", ""),
    "unnest([true])": ("UNNEST", "unnest([true])\n  ^"),
    "x + k > 1": ("No function matches", "x + k > 1\n    ^"),
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_text_is_reported_with_its_position(text: str) -> None:
    problem, marked = WRONG[text]
    for data in (ROWS, ROWS.schema, ROWS.to_pandas(), pl.from_arrow(ROWS), ROWS.to_reader()):
        query = sash.Query(agg.sum("x", where=text), window.rows(2))
        with pytest.raises(ValueError, match=problem) as caught:
            query.schema(data) if isinstance(data, pa.Schema) else query.run(data)
        assert marked in str(caught.value)


@pytest.mark.parametrize("condition", ["x + 1", "k", pc.field("x") + 1, pl.col("x") + 1], ids=str)
def test_a_condition_that_is_not_boolean_is_reported_before_any_work(
    monkeypatch: pytest.MonkeyPatch, condition: Any
) -> None:
    evaluated: list[int] = []

    def count(run: Any, *given: Any) -> Any:
        evaluated.append(len(given[1]))
        return run(*given)

    for name in ("run_sql", "_run_arrow"):
        monkeypatch.setattr(needed_columns, name, partial(count, getattr(needed_columns, name)))
    frame: Any = pl.from_arrow(ROWS)
    query = sash.Query(agg.sum("x", where=condition), window.rows(2))
    for data in (frame,) if isinstance(condition, pl.Expr) else (ROWS, ROWS.to_reader(), ROWS.to_pandas(), frame):
        with pytest.raises(TypeError, match=r"where=.*is of type .*, but a condition must be a boolean"):
            query.run(data)
    assert not any(evaluated)


def test_wrong_expressions_of_polars_and_arrow() -> None:
    frame: Any = pl.from_arrow(ROWS)
    with pytest.raises(ValueError, match=r"Polars cannot evaluate .*unable to find column"):
        sash.Query(agg.sum(pl.col("z") * 2), window.rows(2)).run(frame)
    with pytest.raises(ValueError, match="stands for several columns"):
        sash.Query(agg.sum(pl.col("x", "y")), window.rows(2)).run(frame)
    with pytest.raises(ValueError, match=r"Arrow cannot evaluate .*No match for FieldRef"):
        sash.Query(agg.sum(pc.field("z") * 2), window.rows(2)).run(ROWS)


def test_other_errors() -> None:
    with pytest.raises(ValueError, match="There is no column 'z'"):
        sash.Query(agg.sum("z", where="x > 1"), window.rows(2)).run(ROWS)
    with pytest.raises(TypeError, match="where=3, which is not a condition"):
        agg.sum("x", where=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="where='', which is not a condition"):
        agg.sum("x", where="")
    with pytest.raises(TypeError, match=r"Name one, as in sum\(\"load\", where=\"x > 1\"\)"):
        agg.sum(where="x > 1")
    with pytest.raises(TypeError, match="SQL is a string"):
        sash.expr(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expr got no text"):
        sash.expr(" ")
    alike = pa.table({"x": [1], "X": [2]})
    with pytest.raises(ValueError, match="SQL ignores case, so 'x' and 'X' are the same name"):
        sash.Query(agg.sum(sash.expr("x + 1")), window.rows(2)).run(alike)


@pytest.mark.parametrize(
    "text", ["getenv('HOME') = 'x'", "(FROM read_text('/etc/passwd')) IS NULL", "read_text('/etc/passwd') = ''"]
)
def test_text_cannot_leave_the_process(text: str) -> None:
    with pytest.raises(ValueError, match="SQL "):
        sash.Query(agg.count(where=text), window.rows(2)).run(ROWS)


def test_a_missing_extra_is_reported_with_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    select_sql.database_of.cache_clear()
    select_sql.names_in.cache_clear()
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ImportError, match=r"pip install 'sash\[sql\]'"):
        sash.Query(agg.count(where="x > 1"), window.rows(2)).run(ROWS)


def test_order_of_many_rows_stays() -> None:
    rows = pa.table({"x": np.arange(500_000)})
    made = sash.Query(agg.sum(sash.expr("x + 1")), window.rows(1)).run(rows)["sum"]
    assert made.to_numpy().tolist() == list(range(1, 500_001))


def test_a_type_that_duckdb_does_not_know_is_refused_with_the_name_of_the_column() -> None:
    rows = pa.table({"t": [1], "x": pa.array([1], pa.decimal256(9, 2))})
    with pytest.raises(TypeError, match=r"cannot read column 'x' of type decimal256\(9, 2\). Cast the column"):
        sash.Query(agg.count(where="x > 1"), window.rows(2)).run(rows)
    assert sash.Query(agg.max("x", where="t > 0"), window.rows(2)).run(rows)["max"].to_pylist() == [1]


@pytest.mark.parametrize("compiled", [None, False])
def test_an_expression_over_ordered_categories_is_text(compiled: bool | None) -> None:
    """An input that is a plain column, also with a condition, has the order of the categories."""
    sizes = pa.DictionaryArray.from_arrays(pa.array([0, 2, 1], pa.int8()), ["low", "mid", "high"], ordered=True)
    rows = pa.table({"t": [1, 2, 3], "size": sizes})
    aggregates = {
        "plain": agg.max("size"),
        "filtered": agg.max("size", where="t > 0"),
        "text": agg.max(sash.expr("size")),
    }
    found = sash.Query(aggregates, window.expanding(), time="t").run(rows, compiled=compiled)
    assert found["plain"].to_pylist() == found["filtered"].to_pylist() == ["low", "high", "high"]
    assert found["text"].to_pylist() == ["low", "low", "mid"]


def test_a_category_of_pandas_without_rows_can_be_filtered() -> None:
    rows = pd.DataFrame({"x": pd.Series([], dtype="int64"), "c": pd.Categorical([])})
    named: dict[str, Any] = {"n": agg.count("c", where="x > 1"), "most": agg.mode("c", where="x > 1")}
    assert list(sash.Query(named, window.rows(2)).run(rows).columns) == ["x", "c", "n", "most"]
