from __future__ import annotations

import math
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow as pa
import pytest
from helpers.cases import AGGREGATES
from hypothesis import given
from hypothesis import strategies as st

import sash
from sash import agg, window
from sash.kernels import Kernel, loops
from sash.kernels.fused_partial import PartialLayout
from sash.plan.expected import Expected
from sash.plan.sharing import make_plan
from sash.plan.slicing import CUT, regular_slices
from sash.slices.cuts import cut_by_bounds, cut_by_edges, records_as_items, refs_of
from sash.slices.edges import TECHNIQUES
from sash.slices.open_slice import OpenSlice
from sash.windows import Window
from sash.windows.base import as_it_stands, whole_items

DAY = {"day": window.time("24h", slide="1m"), "hour": window.time("1h", slide="1m")}
SCHEMA = pa.schema({"who": pa.int64(), "ts": pa.timestamp("us"), "load": pa.float64(), "plug": pa.string()})


def explained(windows: Any, data: Any = None, **declared: Any) -> str:
    """Return an explanation as one line, without the lines of the tree; with data, interpreted, as that is quick."""
    declared = {"aggregates": {"peak": agg.max("load"), "mean": agg.mean("load")}, "time": "ts", **declared}
    tree = str(sash.Query(windows=windows, **declared).explain(data, compiled=data is None))
    return " ".join(tree.translate({ord(line): " " for line in "│├└─"}).split())


def test_the_tree_of_the_designs_example() -> None:
    aggregates = {"peak": agg.max("load"), "who": agg.arg_max("load", "plug"), "sd": agg.stddev("load")}
    tree = str(sash.Query(aggregates, DAY, by="household", time="ts").explain())
    lines = tree.splitlines()
    assert lines[:9] == [
        "Query by household, ordered by ts",
        "├─ types     assumed, as there is no data: ts timestamp[ns], load double, plug double",
        '├─ windows   day: time("24h", slide="1m")',
        '│            hour: time("1h", slide="1m")',
        "├─ slices    cut where windows begin (cutty), every 1m; 1,440 per window of day, 60 of hour; shared by day and",
        "│            hour",
        "├─ state     a stream stores the rows that open or later windows need, 32 B each",
        "│            a restart on Spark reads up to 3 times its bytes: the last full copy, and the changes since then",
        "├─ compiled  after about 3,000,000 rows in all runs, in about 2 s; with NumPy before that",
    ]
    assert "└─ who: arg_max(load, plug)" in lines
    assert "     memory     2n partials of 2 numbers, n = 1,440 + 60 slices: up to 48 KB a key" in lines
    assert lines[-1] == "     runs       NumPy, then compiled"


@pytest.mark.parametrize("name", AGGREGATES)
def test_every_aggregate_is_explained(name: str) -> None:
    chosen = AGGREGATES[name]
    bound = chosen(*["x", "y", "z"][: chosen.inputs]) if chosen.inputs else chosen
    for windows in (DAY, window.rows(5), window.session("1h")):
        tree = str(sash.Query({"result": bound}, windows, time="ts").explain())
        assert max(map(len, tree.splitlines())) <= 110
        for label in ("algorithm", "cost", "memory", "runs"):
            assert sum(line.strip("│ ").startswith(label) for line in tree.splitlines()) == 1


@pytest.mark.parametrize(
    ("windows", "said"),
    [
        (window.rows(100), "slices none, because every row has its own window"),
        (window.delta("km", 3, slide=1), "slices none, because the begin of a window is known only when it ends"),
        (window.session("5m"), "cut where windows begin (cutty); 1 per window"),
        (window.custom(lambda _: (1, 1)), "(cutty); one for each window that begins in a window"),
        ({"s": window.session("5m"), "m": window.punctuated("end")}, "one for each window that begins in a window; shared by s and m"),
        (window.time("9m", slide="6m"), "every 6m; 2 per window, the newest read while open"),
        (window.cumulative("24h", "1h"), "every 1d; 1 per window, read while open"),
        ({"a": window.time(100, slide=10), "b": window.time(15, slide=4)}, "6 every 20; 30 per window of a, 4 to 5 of b"),
        ({"a": window.time("1d", slide="1s"), "b": window.time("1d", slide="999999999ns")}, "repeating after more than 365d"),
    ],
    ids=lambda given: "" if isinstance(given, str) else repr(given),
)  # fmt: skip
def test_slices_are_explained(windows: Any, said: str) -> None:
    assert said in explained(windows)


def test_many_windows_are_explained_in_time() -> None:
    primes = (101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163)
    tree = explained({f"of_{prime}": window.time(prime * 7, slide=prime) for prime in primes})
    assert "repeating after more than 1,000,000,000,000" in tree
    assert "about" in tree


@pytest.mark.parametrize("slicing", TECHNIQUES)
def test_slicing_that_was_asked_for_is_named(slicing: str) -> None:
    tree = explained(window.time("9m", slide="6m"), slicing=slicing)
    assert f"slices cut {CUT[slicing]} ({slicing}), " in tree


def test_no_slicing_and_no_gain_are_told_apart() -> None:
    assert 'slices none, because slicing="none" is set' in explained(window.tumbling("1h"), slicing="none")
    tree = explained(window.tumbling("1h"), aggregates={"median": agg.median("load")})
    assert "slices none, because no aggregate benefits from slices" in tree
    assert "over rows, because slices would be as large as their rows" in tree


def test_an_algorithm_and_an_objective_that_were_asked_for_are_explained() -> None:
    assert "algorithm daba: asked for by name" in explained(window.rows(9), algorithm="daba")
    assert "at worst" in explained(window.rows(9), objective="latency")
    shared = explained(DAY, algorithm="flatfat")
    assert "one structure for day and hour" in shared
    assert "n = 1,440 slices" in shared


def test_lateness_is_explained() -> None:
    late = explained(DAY, lateness="10m")
    assert "a stream emits a window when ts is 10m past its end; rows of closed windows are dropped and counted" in late
    assert "state: slices" in late
    assert "state: slices" in explained(window.session("1h"), lateness="10m")
    assert "a stream emits the result of a row when ts is 10m past it" in explained(window.time("1h"), lateness="10m")
    assert "state: rows" in explained(window.time("1h"), lateness="10m")
    assert "lateness" not in explained(DAY)


def test_keys_and_order_are_in_the_title() -> None:
    assert explained(window.rows(2), by=["a", "b"], order_by="c").startswith("Query by a and b, ordered by ts and c ")
    assert explained(window.rows(2), time=None).startswith("Query over all rows, in the order of the data ")


def test_results_that_are_read_from_one_partial_are_named() -> None:
    aggregates = {"n": agg.count("x"), "var": agg.variance("x"), "sd": agg.stddev("x"), "peak": agg.max("x")}
    tree = explained(window.time("1h"), aggregates=aggregates)
    assert "n and sd are read from the partial of var" in tree


@pytest.mark.parametrize("options", [{}, {"algorithm": "order_statistics_tree"}, {"lateness": "10m"}])
def test_the_algorithm_that_runs_is_named(options: dict[str, Any]) -> None:
    """A compiled median sorts blocks of rows instead of updating a tree, in a table as in a stream."""
    aggregates = {"mid": agg.median("x")}
    for shape in (window.time("1h"), window.time("24h", slide="1h")):
        query = sash.Query(aggregates, shape, time="ts", **options)
        tree, picture = " ".join(str(query.explain()).split()), query.explain()._repr_svg_()
        assert "algorithm sorted_block: " in tree
        assert "blocks of rows are sorted before windows slide over them" in tree
        assert "O(1) after sorting, amortised" in tree
        assert "sorted_block, NumPy, then compiled" in picture
        assert "order_statistics_tree" not in tree + picture
    assert "O(n) after sorting, at worst" in explained(window.time("1h"), aggregates=aggregates, objective="latency")
    interpreted = sash.Query(aggregates, window.rows(2)).explain(pa.table({"x": [1.0]}), compiled=False)
    assert "algorithm  order_statistics_tree: read by rank" in str(interpreted)


# -- data ------------------------------------------------------------------------------------------------------------


def table() -> pa.Table:
    rows = {"who": [1, 2], "ts": np.array([0, 60], "datetime64[us]"), "load": [0.5, 1.5], "plug": ["oven", "lamp"]}
    return pa.table(rows).cast(SCHEMA)


@pytest.mark.parametrize(
    "kind",
    [
        lambda rows: rows,
        lambda rows: rows.schema,
        lambda rows: rows.to_batches()[0],
        lambda rows: rows.to_pandas(),
        lambda rows: rows.to_pandas().set_index("ts"),
        lambda rows: pytest.importorskip("polars").from_arrow(rows),
        lambda rows: pytest.importorskip("polars").from_arrow(rows).lazy(),
    ],
    ids=["table", "schema", "batch", "pandas", "pandas index", "polars", "lazy"],
)
def test_data_of_any_kind_tells_its_types(kind: Any) -> None:
    tree = explained(DAY, kind(table()), by="who", aggregates={"who_": agg.arg_max("load", "plug")})
    assert "types who int64, ts timestamp[" in tree
    assert "load double" in tree
    assert "interpreted: compiled=False was given" in tree


def test_a_stream_is_not_read_to_be_explained() -> None:
    reader = pa.RecordBatchReader.from_batches(SCHEMA, table().to_batches())
    assert "load double" in explained(DAY, reader)
    assert len(reader.read_all()) == 2


def test_data_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"There is no column 'load'\. The data has 'ts'"):
        explained(window.rows(3), pa.schema({"ts": pa.int64()}))
    with pytest.raises(TypeError, match="A query runs on"):
        explained(window.rows(3), {"load": [1]})


def test_what_does_not_compile_is_found_out_with_data() -> None:
    odd = sash.aggregate("odd", lift=lambda x: {x}, combine=lambda older, newer: older | newer, lower=len)
    query = sash.Query({"odd": odd("load"), "n": agg.count()}, window.rows(3))
    assert "interpreted, then compiled if odd can be; explain(data) finds out" in str(query.explain())
    tree = str(query.explain(SCHEMA))
    assert "interpreted: <built-in function len> is not a Python function" in tree
    assert "runs       NumPy, then compiled" in tree


def test_how_a_large_table_is_cut_is_said() -> None:
    said = "a large table in order of time is also cut where windows end (pairs)"
    assert said in explained(window.time("9m", slide="6m"), by="k")
    assert said not in explained(window.time("9m", slide="6m"))
    assert said not in explained(window.time("9m", slide="3m"), by="k")
    assert said not in explained(window.time("9m", slide="6m"), by="k", slicing="pairs")


def test_a_table_is_explained_as_it_runs() -> None:
    table = pa.table({"load": [1.0, 2.0]})

    def added(older: float, newer: float) -> float:  # NumPy evaluates it, Numba does not
        first, *rest = [older, newer]
        return first + rest[0]

    rejected = sash.aggregate("rejected", lift=lambda x: x, combine=added)
    query = sash.Query({"peak": agg.max("load"), "often": agg.mode("load")}, window.rows(3))
    executors = [line.split()[-1] for line in str(query.explain(table)).splitlines() if " runs " in line]
    assert executors == ["NumPy", "NumPy"]
    # There is no source of math.hypot that NumPy could evaluate; Numba compiles it.
    length = sash.aggregate("length", lift=lambda x: x, combine=lambda older, newer: math.hypot(older, newer))  # noqa: PLW0108
    waiting = sash.Query({"own": length("load")}, window.rows(3))
    assert "interpreted: that ends earlier" in " ".join(str(waiting.explain(table)).split())
    assert str(query.explain(table, compiled=True)).count("runs       compiled") == 2
    tree = str(sash.Query({"own": rejected("load")}, window.rows(3)).explain(table, compiled=True))
    assert "runs       NumPy: " in tree


# -- the claims, held against what is done ---------------------------------------------------------------------------


@given(
    technique=st.sampled_from(TECHNIQUES),
    shapes=st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30), st.integers(0, 9)), min_size=1, max_size=3),
)
def test_windows_have_as_many_slices_as_is_said(technique: str, shapes: list[tuple[int, int, int]]) -> None:
    windows = {
        str(number): window.time(length, slide=min(length, slide), offset=offset)
        for number, (length, slide, offset) in enumerate(shapes)
    }
    regular = regular_slices(windows, technique)
    assert regular is not None
    rows = whole_items(range(120))  # a row for each tick, so that no slice is empty
    records = cut_by_edges(rows, regular.edges)
    for name, one in windows.items():
        bounds = one.bounds(records_as_items(rows, records), one.memory.new(1), as_it_stands)
        reads = refs_of(records, bounds.begins, bounds.ends)
        assert bounds.starts is not None
        assert bounds.stops is not None
        count = regular.in_window(name)
        for number in np.flatnonzero((bounds.starts >= 0) & (bounds.stops <= 120)):
            closed = np.count_nonzero(records.closes[reads.begins[number] : reads.ends[number]])
            found = int(closed) + int(reads.opens[number] >= 0)
            assert count.least <= found <= count.most
            assert regular.reads_open(name) or reads.opens[number] == -1


@given(length=st.integers(1, 40), slide=st.integers(1, 40), technique=st.sampled_from(TECHNIQUES))
def test_windows_of_rows_have_as_many_slices_as_is_said(length: int, slide: int, technique: str) -> None:
    one = window.rows(length, slide=min(slide, length))
    regular = regular_slices({"": one}, technique)
    assert regular is not None
    rows, memory = whole_items(range(150)), one.memory.new(1)
    bounds = one.bounds(rows, memory, as_it_stands)
    assert one.cuts is not None
    also = [one.cuts.pane_starts(rows, bounds.memory)] if technique == "panes" and one.cuts.pane_starts else []
    records, [reads] = cut_by_bounds(rows, [bounds], early=technique == "cutty", also=also)
    count = regular.in_window("")
    whole = (bounds.ends - bounds.begins == length) & (bounds.ends <= 150 - length)  # later ones begin in all of these
    for number in np.flatnonzero(whole):
        closed = np.count_nonzero(records.closes[reads.begins[number] : reads.ends[number]])
        assert int(closed) + int(reads.opens[number] >= 0) == count.least == count.most


@pytest.mark.parametrize("windows", [window.rows(100, slide=10), window.rows(100), window.rows(12, slide=5)], ids=repr)
def test_combines_are_about_as_many_as_is_said(windows: Window) -> None:
    calls = 0

    def combine(older: float, newer: float) -> float:
        nonlocal calls
        calls += 1
        return max(older, newer)

    counted = sash.aggregate("counted", lift=float, combine=combine)
    query = sash.Query({"counted": counted("x")}, windows, algorithm="two_stacks")
    words = " ".join(str(query.explain(compiled=True)).split())
    said = float(words.split("about ")[1].split(" a row")[0]) if "about" in words else 3.0
    query.run(pa.table({"x": pa.array(range(2000), pa.float64())}), compiled=False)
    assert 0.6 * said <= calls / 2000 <= 1.02 * said


def test_partials_have_as_many_numbers_as_is_said() -> None:
    aggregates = {"sd": agg.stddev("x"), "mean": agg.mean("x"), "peak": agg.max("x")}
    plan = make_plan({"rows": window.rows(9)}, aggregates, algorithm="two_stacks", kinds={"x": "float"})
    [one] = plan.passes
    kernel = Kernel(OpenSlice, list(aggregates.values()), ("float64",), loops.cut_slices)
    fields = PartialLayout(kernel.layout.shape).fields
    assert Expected(plan, one, {"x": "float"}, "throughput").numbers() == len(fields)


# -- the picture -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("windows", [DAY, window.rows(3), {"a <&b": window.session("1h")}], ids=repr)
def test_an_explanation_has_a_picture(windows: Any) -> None:
    aggregates = {"peak": agg.max("load"), "middle": agg.median("load"), "x<y": agg.collect("a&b")}
    explanation = sash.Query(aggregates, windows, by="who", time="ts").explain()
    picture = ET.fromstring(explanation._repr_svg_())  # noqa: S314 — Sash's own text
    words = " ".join(text.text or "" for text in picture.iter("{http://www.w3.org/2000/svg}text"))
    named = windows if isinstance(windows, dict) else {"rows": windows}
    for said in ("Query by who, ordered by ts", "peak: max(load)", "x<y: collect(a&b)", "lists, NumPy", *named):
        assert said in words
    html = explanation._repr_html_()
    assert "<pre>Query by who" in html
    assert html.count("<svg") == 1
    assert repr(explanation) == str(explanation)
