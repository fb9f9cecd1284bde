"""uint64 above 2^63 - 1, as hash ids are: exact where values are only compared, and a clear error where they are computed with."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from helpers.pairwise import some
from helpers.queries import Named, assert_equal

import sash
from sash import Aggregator, agg, window
from sash.testing import recompute_query
from sash.windows import Window

LARGE = 2**64 - 1
IDS = [LARGE, 1, None, 2**63, 2**63 - 1, LARGE - 1, 2**63, 0]
COMPARING: Named = {
    "max": agg.max("x"), "min": agg.min("x"), "first": agg.first("x"), "last": agg.last("x"), "mode": agg.mode("x"),
    "distinct": agg.count_distinct("x"), "count": agg.count("x"), "peaks": agg.max_count("x"),
    "arg_max": agg.arg_max("x", "x"), "arg_min": agg.arg_min("x", "y"), "who": agg.arg_max("y", "x"),
    "first_n": agg.first_n("x", 2), "last_n": agg.last_n("x", 2), "top_k": agg.top_k("x", 2), "bottom_k": agg.bottom_k("x", 2),
    "collect": agg.collect("x"), "set": agg.collect_distinct("x"), "nth": agg.nth_smallest("x", 2),
}  # fmt: skip
VALUES = ("max", "min", "first", "last", "mode", "arg_max", "who", "nth")


def rows() -> pa.Table:
    return pa.table({"t": range(8), "x": pa.array(IDS, pa.uint64()), "y": [3.0, 1.0, 2.0, 2.5, None, 9.0, 0.5, 4.0]})


@pytest.mark.parametrize("windows", [window.rows(3), window.time(5, slide=2)], ids=str)
@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.full)])
def test_values_above_int64_stay_exact(windows: Window, compiled: bool) -> None:
    found = sash.Query(COMPARING, windows, time="t").run(rows(), compiled=compiled)
    assert_equal(found, recompute_query(rows().to_pylist(), COMPARING, windows, time="t"))
    assert {found.schema.field(name).type for name in VALUES} == {pa.uint64()}


def test_they_stay_exact_in_a_stream() -> None:
    named: Named = {"top": agg.max("x"), "usual": agg.mode("x"), "n": agg.count("x")}
    for windows in (window.rows(3), window.time(5, slide=2)):
        query = sash.Query(named, windows, time="t")
        assert query.run(rows().to_reader(2)).read_all().to_pylist() == query.run(rows()).to_pylist()


def test_sums_refuse_them_and_say_what_to_do() -> None:
    query = sash.Query({"total": agg.sum("x"), "top": agg.max("x")}, window.rows(2))
    with pytest.raises(OverflowError, match=r"above 2\^63 - 1, .* cast the column to decimal128\(20, 0\), or run"):
        query.run(rows())
    exact = rows().set_column(1, "x", rows()["x"].cast(pa.decimal128(20, 0)))
    assert query.run(exact)["total"].to_pylist()[:2] == [LARGE, LARGE + 1]
    small = pa.table({"x": pa.array([2**63 - 2, 1], pa.uint64())})
    assert query.run(small)["top"].to_pylist() == [2**63 - 2] * 2
    assert query.run(small)["total"].to_pylist()[1] == 2**63 - 1


@pytest.mark.parametrize("name", some(["max", "first", "mode"], 3))
def test_an_aggregator_hands_them_on(name: str) -> None:
    column = pa.array([LARGE, None, 2**63, 2**63], pa.uint64())
    aggregator: Any = Aggregator(COMPARING[name])
    found = aggregator.slide(column, 2)
    assert found.type == pa.uint64()
    assert found.to_pylist() == [LARGE, LARGE, 2**63, 2**63]
    assert aggregator.query() == 2**63
    aggregator.insert(LARGE)
    aggregator.evict()
    aggregator.evict()
    assert aggregator.query() == LARGE
    thawed = Aggregator.thaw(COMPARING[name], aggregator.freeze())
    assert thawed.query() == LARGE
