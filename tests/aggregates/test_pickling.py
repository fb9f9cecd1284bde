"""Queries with any built-in aggregate can be pickled, also where a factory defines functions inside itself."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import sash
from sash import agg, window
from sash.aggregates import BUILT_IN
from sash.aggregates.base import Aggregate
from sash.kernels.function_identity import identify

ITEMS = {"frequency", "may_contain"}
CONSTANTS = {"quantile": (0.25,), "nth_smallest": (2,), "first_n": (2,), "concat": ("-",), "top_k": (3,)}
CONSTANTS |= {"histogram": ([0, 1, 2],)}


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_aggregate_is_the_same_after_pickling(name: str) -> None:
    keywords = {"half_life": "1h"} if name.startswith("ewm") else {"item": 1} if name in ITEMS else {}
    made = BUILT_IN[name](**keywords)
    inputs = made.named_inputs
    keywords.pop("item", None)
    constants = CONSTANTS.get(name, (1,) if name in ITEMS else ())
    one = BUILT_IN[name](*("x", "y")[:inputs], *constants, **keywords)
    again = pickle.loads(pickle.dumps(one))  # noqa: S301 — its own bytes
    assert again.laws == one.laws
    assert again.columns == one.columns
    assert (again.sql is None) == (one.sql is None)
    assert again.sql is None or again.sql.fits(again)
    for function in ("lift", "combine", "lower", "inverse"):
        assert identify(getattr(again, function)) == identify(getattr(one, function))
    for function in ("rank", "between", "place"):
        assert identify(getattr(again.laws.ranked, function, None)) == identify(
            getattr(one.laws.ranked, function, None)
        )
    assert again.forms.variants.keys() == one.forms.variants.keys()


@pytest.mark.parametrize("aggregate", [agg.median("x"), agg.quantile("x", 0.25), agg.nth_smallest("x", 2)])
def test_a_pickled_query_gives_the_same_results(aggregate: Aggregate[Any]) -> None:
    query = sash.Query({"r": aggregate}, window.rows(3))
    rows = pa.table({"x": [5, 2, None, 9, 1]})
    query.run(rows)
    again = pickle.loads(pickle.dumps(query))  # noqa: S301 — its own bytes
    assert again.run(rows).equals(query.run(rows))


def test_functions_of_the_user_must_be_found_by_name() -> None:
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(replace(agg.max("x"), lift=lambda x: x))
