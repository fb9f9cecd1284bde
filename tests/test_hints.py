"""A misspelt name, or the name that another library uses, is an error that names the right one."""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa
import pytest

import sash
from sash import agg, window


@pytest.mark.parametrize(
    ("package", "name", "hint"),
    [
        (agg, "maxx", "sash.agg has no attribute 'maxx'. Did you mean 'max'?"),
        (agg, "Max", "Did you mean 'max'?"),
        (agg, "avg", "Use agg.mean."),
        (agg, "average", "Use agg.mean."),
        (agg, "std", "Use agg.stddev."),
        (agg, "var", "Use agg.variance."),
        (agg, "nunique", "Use agg.count_distinct."),
        (agg, "len", "Use agg.count."),
        (agg, "size", "Use agg.count."),
        (agg, "xyzzy", "sash.agg has no attribute 'xyzzy'."),
        (window, "rolling", 'Use window.rows(n) for n rows, or window.time("1h") for a length of time.'),
        (window, "hop", 'Use window.time("1h", slide="10m").'),
        (window, "sliding", 'Use window.time("1h", slide="10m").'),
        (window, "tumble", 'Use window.tumbling("1h").'),
        (window, "sesion", "Did you mean 'session'?"),
    ],
)
def test_attributes_that_do_not_exist(package: Any, name: str, hint: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(package, name)
    assert str(caught.value).endswith(hint)
    assert not hasattr(package, name)


@pytest.mark.parametrize("package", [agg, window])
def test_names_elsewhere_are_not_names_of_sash_and_point_to_what_exists(package: Any) -> None:
    names = {"agg": agg, "window": window, "sash": sash}
    for foreign, instead in package.NAMES_ELSEWHERE.items():
        assert foreign not in package.__all__
        for call in instead.split(" or ")[::-1]:
            expression = call.split(",")[0].split("(")[0]
            owner, _, name = expression.partition(" ")[0].partition(".")
            assert getattr(names[owner], name) is not None


@pytest.mark.parametrize("package", [agg, window])
def test_completion_lists_valid_names_only(package: Any) -> None:
    assert sorted(dir(package)) == sorted(package.__all__)
    assert all(hasattr(package, name) for name in dir(package))


def test_modules_of_the_packages_can_be_imported() -> None:
    from sash.aggregates import base  # noqa: PLC0415 — the import is what is tested

    assert base is sys.modules["sash.aggregates.base"]


@pytest.mark.parametrize(
    ("column", "hint"),
    [
        ("lod", "There is no column 'lod'. Did you mean 'load'? The data has 'ts', 'load'."),
        ("LOAD", "There is no column 'LOAD'. Did you mean 'load'? The data has 'ts', 'load'."),
        ("price", "There is no column 'price'. The data has 'ts', 'load'."),
    ],
)
def test_columns_that_do_not_exist(column: str, hint: str) -> None:
    with pytest.raises(ValueError, match="no column") as caught:
        sash.Query({"top": agg.max(column)}, window.rows(3)).run(pa.table({"ts": [1], "load": [2]}))
    assert str(caught.value) == hint


def test_of_many_columns_an_error_lists_the_first() -> None:
    wide = pa.table({f"column_{n}": [n] for n in range(100)})
    with pytest.raises(ValueError, match=r"'column_19' and 80 others\.$"):
        sash.Query({"top": agg.max("x")}, window.rows(3)).run(wide)


def test_algorithms_that_do_not_exist() -> None:
    with pytest.raises(ValueError, match=r'There is no algorithm "flat_fat"\. Did you mean \'flatfat\'\? Choose from '):
        sash.Aggregator(agg.max("x"), "flat_fat")


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        ("window.rows(3, min_periods=1)", "window.rows has no parameter min_periods=. Use min_rows=."),
        ("window.rows(3, center=True)", "Use before= and after=, as in window.rows(before=2, after=2)."),
        ("window.time('1h', every='10m')", "Use slide=."),
        ("window.time('1h', on='ts')", "Use Query(time=…)."),
        ("window.tumbling('1d', timezone='UTC')", "Use tz=."),
        ("window.session(timeout='1h')", "Use gap=."),
        ("window.cumulative('1d', '1h', fill=0)", "Use a fill of the results"),
        ("window.expanding(min_row=3)", "Did you mean 'min_rows'?"),
        ("window.lag(periods=2)", "Use n=."),
        ("window.lag('load')", 'agg.last("load") over window.lag()'),
        ("Query(aggs={}, windows=window.rows(2))", "Use aggregates=."),
        ("Query({'n': agg.count()}, window=window.rows(2))", "Use windows=."),
        ("Query({'n': agg.count()}, window.rows(2), min_periods=3)", "window.rows(10, min_rows=…)"),
        ("Query({'n': agg.count()}, window.rows(2), center=True)", "window.rows(before=2, after=2)"),
        ("Query({'n': agg.count()}, window.rows(2)).run(rows, fill=0)", "Fill the results."),
        ("Query({'n': agg.count()}, window.rows(2)).run(rows, unnest=True)", "Use wide=."),
    ],
)
def test_parameters_that_do_not_exist(call: str, hint: str) -> None:
    names = {"Query": sash.Query, "agg": agg, "window": window, "rows": pa.table({"x": [1]})}
    with pytest.raises(TypeError) as caught:
        eval(call, names)  # noqa: S307 — calls from above
    assert hint in str(caught.value)


def test_labels_without_the_time_column_name_at_time() -> None:
    query = sash.Query({"n": agg.count()}, window.rows(2), time="ts")
    events, labels = pa.table({"ts": [1]}), pa.table({"at": [2]})
    with pytest.raises(ValueError, match="at_time="):
        query.run(events, at=labels)
    assert query.run(events, at=labels, at_time="at")["n"].to_pylist() == [1]


def test_none_is_no_key() -> None:
    query = sash.Query({"n": agg.count()}, window.rows(2), by=None, order_by=None)
    assert repr(query) == 'Query(windows=rows(2), aggregates={"n": count()})'


def test_an_alias_names_a_result() -> None:
    peak = agg.max("load", where="load > 1").alias("peak")
    assert repr(peak) == 'max("load", where="load > 1").alias("peak")'
    assert repr(sash.Query(peak, window.rows(2))) == repr(
        sash.Query({"peak": agg.max("load", where="load > 1")}, window.rows(2))
    )
    several = sash.Query([peak, agg.count()], [window.rows(2), window.rows(3)])
    rows = pa.table({"load": [1, 2]})
    assert several.run(rows).column_names == ["load", "peak_rows_2", "peak_rows_3", "count_rows_2", "count_rows_3"]
    with pytest.raises(ValueError, match="has two names"):
        sash.Query({"high": peak}, window.rows(2))
    with pytest.raises(ValueError, match="both named 'peak'"):
        sash.Query([peak, agg.min("load").alias("peak")], window.rows(2))
    with pytest.raises(TypeError, match="a name is a string"):
        agg.max("load").alias(3)  # type: ignore[arg-type]  # that is the test
    with pytest.raises(ValueError, match="an empty name"):
        agg.max("load").alias("")
