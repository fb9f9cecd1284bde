"""What a user of Query sees besides results: signatures, texts, schemas, hints."""

from __future__ import annotations

import inspect
from datetime import datetime
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sash
from sash import agg, window
from sash.backends.registry import BACKENDS
from sash.options import DATA, GROUPS, AnyOptions, TableOptions, declared_options, read_options

ROWS = pa.table(
    {
        "household": ["a", "a", "b"],
        "ts": [datetime(2026, 3, 2, 18, minute) for minute in range(3)],  # noqa: DTZ001 — times without a zone
        "load": [2.5, None, 1.0],
        "plug": [3, 4, 5],
    }
)
AGGREGATES = {"n": agg.count(), "mean": agg.mean("load"), "first": agg.first("household"), "plugs": agg.collect("plug")}
PER_WINDOW = sash.Query(AGGREGATES, window.tumbling("2m"), by="household", time="ts")
PER_ROW = sash.Query(AGGREGATES, {"two": window.rows(2), "all": window.rows(9)}, by="household", time="ts")
both = pytest.mark.parametrize("query", [PER_WINDOW, PER_ROW], ids=["window", "row"])


# -- options ----------------------------------------------------------------------------------------------------------


def test_signatures_name_every_option() -> None:
    options = declared_options(AnyOptions)
    for method in (sash.Query.run, sash.Query.explain, sash.Query.schema):
        _, _, *shown = inspect.signature(method).parameters.values()
        assert {one.name: (one.annotation, one.default) for one in shown} == {
            name: (dtype, option.default) for name, (dtype, option) in options.items()
        }
        assert all(f"`{name}`" in (method.__doc__ or "") for name in options)
    assert all(f"\n- `{name}`: " in (sash.Query.run.__doc__ or "") for name in options)


def test_each_kind_of_data_has_options_that_are_documented() -> None:
    kinds = {backend.options for backend in BACKENDS}
    assert kinds == {*DATA}
    assert {name for kind in kinds for name in kind.__annotations__} == {*AnyOptions.__annotations__}
    assert {name for group in GROUPS for name in group.__annotations__} == {*AnyOptions.__annotations__}


def test_options_cannot_change() -> None:
    options = read_options(TableOptions, {"threads": 2})
    with pytest.raises(TypeError):
        options["threads"] = 3


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"group_by": "k"}, "Query has no parameter 'group_by'. Use by=."),
        ({"partition_by": "k"}, "Use by=."),
        ({"on": "ts"}, "Use time=."),
        ({"order": "ts"}, "Use order_by=."),
        ({"threads": 2}, "Query has no parameter 'threads'. Pass it to run: query.run(data, threads=…)."),
        ({"slicin": "none"}, "Query has no parameter 'slicin'. Did you mean 'slicing'? The parameters are aggregates, windows,"),
        ({"xyzzy": 1}, "Query has no parameter 'xyzzy'. The parameters are aggregates, windows, by, time,"),
    ],
)  # fmt: skip
def test_parameters_that_do_not_exist(given: dict[str, Any], hint: str) -> None:
    with pytest.raises(TypeError) as caught:
        sash.Query(aggregates=agg.max("x"), windows=window.rows(2), **given)
    assert hint in str(caught.value)


# -- texts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (
            sash.Query({"peak": agg.max("load")}, window.time("24h", slide="1m"), by="household", time="ts"),
            'Query(by="household", time="ts", windows=time("24h", slide="1m"), aggregates={"peak": max("load")})',
        ),
        (
            sash.Query(agg.quantile("x", 0.9), {"a": window.rows(3), "b": window.rows(5)}, by=["k", "l"], order_by="id"),
            'Query(by=["k", "l"], order_by="id", windows={"a": rows(3), "b": rows(5)}, aggregates={"quantile": quantile("x", 0.9)})',
        ),
        (
            sash.Query(
                {"m": agg.max("x")}, {"hour": window.tumbling("1 hour")}, time="t", lateness="5 min",
                algorithm="two_stacks", objective="latency", slicing="pairs",
            ),
            (
                'Query(time="t", windows={"hour": tumbling("1 hour")}, aggregates={"m": max("x")}, lateness="5 min", '
                'algorithm="two_stacks", objective="latency", slicing="pairs")'
            ),
        ),
        (
            sash.Query({"m": agg.max("x")}, window.tumbling(10), time="t", lateness=0),
            'Query(time="t", windows=tumbling(10), aggregates={"m": max("x")}, lateness=0)',
        ),
    ],
)  # fmt: skip
def test_a_query_shows_the_call_that_makes_it(query: sash.Query, text: str) -> None:
    assert repr(query) == text
    names = {name: getattr(package, name) for package in (window, agg) for name in package.__all__}
    assert repr(eval(text, {**names, "Query": sash.Query})) == text  # noqa: S307 — our own text


def test_a_notebook_shows_the_plan() -> None:
    assert PER_WINDOW._repr_html_() == PER_WINDOW.explain()._repr_html_()
    assert PER_WINDOW._repr_svg_().startswith("<svg")


# -- schemas ----------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    "data",
    [ROWS, ROWS.combine_chunks().to_batches()[0], ROWS.slice(0, 0), ROWS.set_column(0, "household", ROWS[0].cast("large_string"))],
    ids=["table", "batch", "empty", "large"],
)  # fmt: skip
def test_the_schema_of_arrow_data(query: sash.Query, data: Any) -> None:
    assert query.schema(data) == query.run(data).schema
    assert query.schema(data.schema) == query.run(data).schema


@both
def test_the_schema_of_a_stream_leaves_its_rows_alone(query: sash.Query) -> None:
    reader = ROWS.to_reader(1)
    assert query.schema(reader) == query.run(ROWS).schema
    assert query.run(reader).read_all().num_rows == query.run(ROWS).num_rows


def test_the_schema_of_a_stream_in_update_mode() -> None:
    query = sash.Query(AGGREGATES, window.tumbling("2m"), by="household", time="ts", lateness="1m")
    assert query.schema(ROWS.to_reader(), mode="update") == query.run(ROWS.to_reader(), mode="update").schema


@both
def test_the_schema_of_polars_data(query: sash.Query) -> None:
    frame = pl.from_arrow(ROWS)
    assert isinstance(frame, pl.DataFrame)
    frame = frame.with_columns(pl.col("household").cast(pl.Enum(["a", "b"])))
    assert query.schema(frame) == query.run(frame).to_arrow().schema
    assert query.schema(frame.lazy()) == query.run(frame).to_arrow().schema


@both
def test_the_schema_of_pandas_data(query: sash.Query) -> None:
    frame = ROWS.to_pandas()
    assert query.schema(frame) == pa.Schema.from_pandas(query.run(frame), preserve_index=False)
    indexed = frame.set_index("ts")
    assert query.schema(indexed) == pa.Schema.from_pandas(query.run(indexed), preserve_index=False)


def test_a_schema_is_found_without_running() -> None:
    calls: list[int] = []
    own = sash.aggregate("own", lift=lambda x: calls.append(x) or x, combine=lambda older, _: older)  # type: ignore[func-returns-value]
    query = sash.Query({"own": own("plug")}, window.rows(2))
    assert query.schema(ROWS).names == [*ROWS.column_names, "own"]
    assert len(calls) < 10  # made-up values only
    with pytest.raises(ValueError, match=r"There is no column 'plug'\. The data has 'x'"):
        query.schema(pd.DataFrame({"x": [1]}))
