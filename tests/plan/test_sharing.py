"""Windows and aggregates that share one pass ≡ each in a query of its own."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from helpers.pairwise import some
from helpers.queries import Named, assert_agrees, assert_equal, long_stream, table_of
from helpers.streams import batches_of, rows_of
from helpers.windows import PER_ROW, PER_WINDOW
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash import agg, window
from sash.algorithms import SlickDequeSelective
from sash.engine import run_table
from sash.kernels import CannotCompileError, Kernel, loops
from sash.plan.sharing import make_plan
from sash.testing import recompute_query
from sash.testing.strategies import streams
from sash.windows import Window

AGGREGATES: Named = {
    "rows": agg.count(), "values": agg.count("x"), "total": agg.sum("x"), "mean": agg.mean("x"), "top": agg.max("x"),
    "sd": agg.stddev("x"), "who": agg.arg_max("x", "y"), "fit": agg.correlation("x", "y"), "middle": agg.median("y"),
    "kinds": agg.count_distinct("x"), "usual": agg.mode("y"), "all": agg.collect("x"), "text": agg.concat("y", sep=" "),
}  # fmt: skip


def alone(table: pa.Table, name: str, windows: Window) -> pa.Table:
    query = sash.Query({name: AGGREGATES[name]}, windows, by="key", time="t")
    return query.run(table)


@settings(max_examples=40)
@given(data=st.data())
def test_windows_with_results_of_their_own_that_share_equal_each_alone(data: st.DataObject) -> None:
    table = table_of(data.draw(streams()))
    windows = named(data.draw(st.lists(st.one_of(list(PER_WINDOW.values())), min_size=2, max_size=4)))
    chosen = data.draw(st.sets(st.sampled_from(sorted(AGGREGATES)), min_size=2, max_size=5))
    shared = sash.Query({name: AGGREGATES[name] for name in sorted(chosen)}, windows, by="key", time="t")
    found = shared.run(table)
    for label, one in windows.items():
        part = found.filter(pc.equal(found["window"].cast(pa.string()), label))
        for name in chosen:
            expected = alone(table, name, one)
            same = part.select(expected.column_names)
            assert same.schema == expected.schema
            assert_equal(same, expected.to_pylist())


SHARING = ["recalculate", "flatfat", "b_int", "flatfit", "slideside", "slickdeque", "fiba"]
"""Algorithms whose one structure answers several windows."""
EXCLUDING = {
    "row": [window.rows(2), window.rows(before=1, after=1, exclude="row")],
    "ties": [window.rows(before=3, exclude="ties"), window.rows(before=1, after=2, exclude="ties")],
    "group": [window.time(4), window.time(before=3, after=2, exclude="group"), window.expanding(exclude="row")],
}


@pytest.mark.parametrize("windows", EXCLUDING.values(), ids=EXCLUDING)
@pytest.mark.parametrize("algorithm", SHARING)
def test_windows_that_exclude_rows_do_so_beside_others(algorithm: str, windows: list[Window]) -> None:
    """On the default path, interpreted, and as a stream."""
    rows = sorted(long_stream(3, keys=2)[:40], key=lambda row: row["t"])
    table = table_of(rows)
    combined: Named = {"total": agg.sum("x"), "top": agg.max("x")}
    if algorithm != "slickdeque":
        combined = {**combined, "text": agg.concat("v", sep=" ")}
    named_windows = named(windows)
    query = sash.Query(combined, named_windows, by="key", time="t", algorithm=algorithm)
    expected = recompute_query(rows, combined, named_windows, by=("key",), time="t")
    assert_equal(query.run(table), expected)
    assert_equal(query.run(table, compiled=False), expected)
    streamed = query.run(batches_of(table, 7), compiled=False).read_all()
    assert rows_of(streamed) == rows_of(pa.Table.from_pylist(expected, streamed.schema))


def test_windows_that_exclude_rows_do_so_beside_others_compiled() -> None:
    rows = long_stream(3, keys=2)[:40]
    windows = named(EXCLUDING["row"])
    assert_agrees(rows, {"total": agg.sum("v")}, windows, executors=[True], algorithm="flatfat")


@settings(max_examples=60)
@given(data=st.data())
def test_windows_of_rows_share_the_structure_of_a_named_algorithm(data: st.DataObject) -> None:
    rows = data.draw(streams())
    windows = named(data.draw(st.lists(st.one_of(list(PER_ROW.values())), min_size=2, max_size=3)))
    algorithm = data.draw(st.sampled_from(SHARING))
    assert_agrees(rows, {"total": agg.sum("x"), "top": agg.max("x")}, windows, algorithm=algorithm)


@settings(max_examples=40)
@given(data=st.data())
def test_windows_of_rows_that_share_equal_each_alone(data: st.DataObject) -> None:
    table = table_of(data.draw(streams()))
    windows = named(data.draw(st.lists(st.one_of(list(PER_ROW.values())), min_size=2, max_size=4)))
    chosen = sorted(data.draw(st.sets(st.sampled_from(sorted(AGGREGATES)), min_size=2, max_size=5)))
    shared = sash.Query({name: AGGREGATES[name] for name in chosen}, windows, by="key", time="t")
    found = shared.run(table)
    assert found.column_names == [*table.column_names, *(f"{name}_{label}" for name in chosen for label in windows)]
    for label, one in windows.items():
        for name in chosen:
            expected = alone(table, name, one)
            same = found.select([*table.column_names, f"{name}_{label}"]).rename_columns(expected.column_names)
            assert same.schema == expected.schema
            assert_equal(same, expected.to_pylist())


def named(windows: list[Window]) -> dict[str, Window]:
    return {f"w{number}": one for number, one in enumerate(windows)}


FEW: Named = {"top": agg.max("x"), "total": agg.sum("x"), "last": agg.last("x"), "kinds": agg.count_distinct("x")}
TOGETHER = [
    {"long": window.time(24, slide=6), "short": window.time(9, slide=6), "cumulative": window.cumulative(12, 4)},
    {"long": window.time(24, slide=6), "session": window.session(2), "rows": window.rows(7, slide=3)},
    {"long": window.rows(9), "short": window.rows(2), "time": window.time(20), "left": window.time(9, closed="left")},
]


@pytest.mark.parametrize("windows", some(TOGETHER, 3), ids=", ".join)
@pytest.mark.parametrize("keys", some([3, 1], 2))
def test_windows_that_share_agree_with_the_oracle_compiled(windows: dict[str, Window], keys: int) -> None:
    assert_agrees(long_stream(3, keys), FEW, windows, executors=[True])


@pytest.mark.parametrize("several", [False, True])
def test_rows_that_come_in_order_of_time_are_cut_in_chunks(monkeypatch: pytest.MonkeyPatch, several: bool) -> None:
    monkeypatch.setattr(run_table, "CHUNK_ROWS", 50)
    monkeypatch.setattr(run_table, "SECTION_ROWS", 300)
    chance = Random(3)
    times = sorted(chance.randrange(5_000) for _ in range(1_000))
    rows = pa.table(
        {
            "key": [chance.choice(["b", None, "a", "c"]) for _ in times],
            "t": times,
            "x": [chance.choice([None, *range(9)]) for _ in times],
        }
    )
    windows = {"a": window.time(70, slide=20), "b": window.cumulative(60, 15), "c": window.tumbling(33, offset=4)}
    aggregates = {"sum": agg.sum("x"), "first": agg.first("x"), "rows": agg.count()}
    query = sash.Query(aggregates, windows if several else windows["a"], by="key", time="t")
    chunked = query.run(rows, threads=3)
    monkeypatch.setattr(run_table.TableRun, "_pays_to_cut_first", lambda *_: False)
    assert chunked.equals(query.run(rows, threads=1))
    assert chunked.equals(query.run(rows, threads=2))
    assert chunked.to_pylist() == query.run(rows).to_pylist()


@pytest.mark.parametrize(
    ("names", "kind", "passes"),
    [
        (("count", "sum", "mean", "variance", "max"), "float", 1),
        (("variance", "count"), "float", 1),
        (("count", "sum", "mean"), "int", 1),
        (("count", "sum", "mean", "variance"), "int", 2),  # sums of integers are exact, and subtracted
    ],
)
def test_what_is_read_from_a_partial_shares_its_pass(names: tuple[str, ...], kind: str, passes: int) -> None:
    aggregates = {name: getattr(agg, name)("x") for name in names}
    plan = make_plan({"w": window.time(60, slide=10)}, aggregates, kinds={"x": kind})
    assert len(plan.passes) == passes
    assert sorted(name for one in plan.passes for name in one.aggregates) == sorted(names)


def test_the_reason_of_a_pass_holds_for_all_of_it() -> None:
    aggregates = {"top": agg.max("x"), "sd": agg.stddev("x")}
    [one] = make_plan({"w": window.rows(9)}, aggregates, kinds={"x": "float"}).passes
    assert one.choice.reason.startswith("associative")


@pytest.mark.parametrize("windows", [window.rows(3), window.time(6, slide=2)])
def test_aggregates_that_are_selective_each_are_not_together(windows: Window) -> None:
    rows = pa.table({"t": list(range(9)), "x": [3, 1, 4, 1, 5, 9, 2, 6, 5]})
    aggregates = {"top": agg.max("x"), "low": agg.min("x"), "first": agg.first("x")}
    query = sash.Query(aggregates, windows, time="t", algorithm="slickdeque")
    assert query.run(rows).to_pylist() == sash.Query(aggregates, windows, time="t").run(rows).to_pylist()
    with pytest.raises(
        CannotCompileError, match=r"max\(x\) and min\(x\) can't be computed together: slickdeque takes one"
    ):
        Kernel(SlickDequeSelective, [agg.max("x"), agg.min("x")], ("int64",), loops.slide_between)
