"""A query → text → the same query."""

from __future__ import annotations

import inspect
from typing import Any

import pyarrow.compute as pc
import pytest
from helpers.cases import ARGUMENTS
from helpers.windows import WINDOWS
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash import agg, window
from sash.aggregates import BUILT_IN

NAMES = (
    "load",
    "my load",
    "select",
    "SLIDE",
    "date",
    "a.b",
    'say "x"',
    "`y`",
    "é",
    "負荷",
    "it's",
    "min",
    "rows",
    "1",
    "Load",
    "window",
    "hour",
    "as",
)
"""Names of columns that need quotes, or seem to."""
CONDITIONS = ("load > 1", "\"my load\" = 'it''s'", "a IS NULL OR (b -- why\n > 2)", "x::INT IN (1, 2)")


def columns_of(name: str) -> list[str]:
    return [
        one.name for one in inspect.signature(BUILT_IN[name]).parameters.values() if "ColumnLike" in str(one.annotation)
    ]


@st.composite
def aggregates(draw: st.DrawFn) -> Any:
    name = draw(st.sampled_from([*BUILT_IN]))
    inputs = st.sampled_from(NAMES) | st.sampled_from([sash.expr('load * 2 + "my load"'), sash.expr("abs(a)")])
    given = {column: draw(inputs) for column in columns_of(name)} | ARGUMENTS.get(name, {})
    if draw(st.booleans()):
        given["where"] = draw(st.sampled_from(CONDITIONS))
    return BUILT_IN[name](**given)


@st.composite
def queries(draw: st.DrawFn) -> sash.Query:
    drawn = st.one_of([case.drawn for name, case in WINDOWS.items() if not name.startswith("custom")])
    windows = draw(drawn | st.dictionaries(st.sampled_from(NAMES), drawn, min_size=1, max_size=3))
    named = draw(st.dictionaries(st.sampled_from(NAMES), aggregates(), min_size=1, max_size=3))
    by: list[Any] = draw(st.lists(st.sampled_from([*NAMES, sash.expr("lower(k)")]), unique_by=str, max_size=2))
    order_by = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=2))
    try:
        return sash.Query(named, windows, by=by, time=draw(st.sampled_from(NAMES)), order_by=order_by)
    except (TypeError, ValueError):  # a name is used twice, or windows do not fit together
        return sash.Query(agg.count(), window.rows(3))


@settings(max_examples=150, deadline=None)
@given(queries())
def test_a_text_is_read_as_the_same_query(query: sash.Query) -> None:
    text = query.to_sql()
    again = sash.sql(text)
    assert repr(again) == repr(query), text
    assert repr(sash.sql(again.to_sql())) == repr(query)


@pytest.mark.parametrize(
    ("query", "part"),
    [
        (sash.Query(agg.count(), window.custom(lambda _: (1, 1))), "calls a function of yours"),
        (
            sash.Query(sash.aggregate("mine", lift=len, combine=max, lower=max)("x"), window.rows(3)),
            "Register it: sash.register",
        ),
        (sash.Query(agg.max(pc.field("x") * 2), window.rows(3)), "an expression of Arrow, which has no SQL text"),
        (
            sash.Query(agg.max("x"), window.rows(3), by=[pc.field("x") * 2]),
            "an expression of Arrow, which has no SQL text",
        ),
        (sash.Query(agg.max("x"), window.rows(3), algorithm="two_stacks"), "A text cannot say algorithm='two_stacks'"),
        (sash.Query(agg.max("x"), window.rows(3), time="t", lateness=3), "A text cannot say lateness"),
    ],
)
def test_what_has_no_text_is_rejected(query: sash.Query, part: str) -> None:
    with pytest.raises(ValueError, match=r"(?s).") as caught:
        query.to_sql()
    assert part in str(caught.value)


def test_a_registered_aggregate_has_a_text() -> None:
    longest = sash.aggregate("longest_word", lift=len, combine=max, lower=int)
    sash.register(longest)
    query = sash.Query({"n": longest("word")}, window.rows(3), time="t")
    assert repr(sash.sql(query.to_sql())) == repr(query)


def test_only_an_aggregate_under_a_free_name_is_registered() -> None:
    with pytest.raises(TypeError, match=r"Pass what sash\.aggregate returned"):
        sash.register(len)  # type: ignore[arg-type]  # that is the test
    with pytest.raises(ValueError, match="is the name of a built-in aggregate"):
        sash.register(agg.max(), name="Average")
