"""The SQL forms of aggregates, as text; tests/spark/batch/test_sql_slices.py runs them."""

from __future__ import annotations

import operator
from dataclasses import replace

import pyarrow as pa
import pytest
from helpers.references import build, from_left

import sash.aggregates as agg
from sash.aggregates import BUILT_IN
from sash.aggregates.base import unchanged
from sash.aggregates.definition import define
from sash.aggregates.sql import SqlForm, SqlInput, sql_form

NO_SQL = {
    **dict.fromkeys(["median", "quantile", "nth_smallest", "mode", "count_distinct"], "needs all values"),
    **dict.fromkeys(["collect", "collect_distinct", "concat"], "needs all values, in order"),
    **dict.fromkeys(["first_n", "last_n", "top_k", "bottom_k"], "SQL has no bounded list that merges"),
    **dict.fromkeys(["max_count", "min_count"], "SQL would need two passes over the rows"),
    **dict.fromkeys(["frequency", "may_contain"], "the sketches of Spark have another format"),
    **dict.fromkeys(["rank", "per_value"], "needs all values, in order"),
    "histogram": "SQL would need an aggregate for each bin",
    "product": "SQL has no product",
    **dict.fromkeys(
        ["ewm_sum", "ewm_count", "ewm_mean", "ewm_variance", "ewm_stddev"], "SQL does not know the newest row yet"
    ),
}
"""The aggregates whose slices Spark SQL cannot compute, and why."""
LOADS = pa.schema({"load": pa.float64(), "plug": pa.string(), "ts": pa.int64()})


def test_every_aggregate_has_sql_or_a_reason() -> None:
    assert {name for name in BUILT_IN if build(name).sql is None} == set(NO_SQL)


def test_sql_of_an_aggregate_needs_no_registration() -> None:
    def total_distance(source: SqlInput) -> SqlForm | str:
        if not source.are_numbers:
            return source.refuse()
        return source.form({"distance": f"sum(abs({source.column.as_double}))"}, unchanged)

    distance = define("distance", None, lift=abs, combine=operator.add, gives="number", sql=total_distance)
    assert not distance.is_built_in
    form = sql_form("way", distance("load"), LOADS, "`ts`", ())
    assert isinstance(form, SqlForm)
    assert form.expressions == {"distance of load": "sum(abs(`load`))"}
    assert form.aggregate.columns == ("distance of load",)
    assert form.aggregate.label == "distance(load)"  # as error messages show it
    assert from_left(form.aggregate, [2.5, 4.0]) == 6.5
    assert sql_form("way", distance("plug"), LOADS, "`ts`", ()) == (
        "'way': Spark SQL has no partials of distance of string."
    )


@pytest.mark.parametrize("function", ["lift", "combine", "lower"])
def test_sql_belongs_to_the_functions_that_it_was_declared_with(function: str) -> None:
    other = replace(agg.sum("load"), **{function: max})  # type: ignore[arg-type]
    assert sql_form("x", other, LOADS, "`ts`", ()) == "'x': Spark SQL has no partials of sum."


def test_sql_does_not_depend_on_the_name() -> None:
    renamed = replace(agg.max("load"), name="peak")
    form = sql_form("x", renamed, LOADS, "`ts`", ())
    assert isinstance(form, SqlForm)
    assert form.expressions == {"max of load": "max(`load`)"}


def test_sql_uses_the_variant_for_the_column() -> None:
    schema = pa.schema({"x": pa.int64(), "y": pa.float32()})
    whole, real = (sql_form("s", agg.sum(column), schema, "`ts`", ()) for column in ("x", "y"))
    assert isinstance(whole, SqlForm)
    assert isinstance(real, SqlForm)
    assert from_left(whole.aggregate, [(1, 5), (0, 7)]) == 2**32 + 12  # high and low halves
    assert from_left(real.aggregate, [1.5, 2.0]) == 3.5


def test_the_sql_of_a_mean_ends_with_the_column_that_determines_its_type() -> None:
    form = sql_form("m", agg.mean("x"), pa.schema({"x": pa.decimal128(28, 3)}), "`ts`", ())
    assert isinstance(form, SqlForm)
    assert form.aggregate.columns == ("count of x", "sum of x")
