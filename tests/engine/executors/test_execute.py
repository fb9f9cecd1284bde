"""A run with NumPy gives the results of a compiled one, and a query compiles when that pays off."""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.cases import SOAK
from helpers.pairwise import FULL, some
from helpers.queries import assert_equal, long_stream, table_of
from helpers.windows import examples

import sash
from sash import agg, window
from sash.engine.executors import execute as module
from sash.engine.executors.bind import NOT_WORTH_IT, bind, compile_ahead, keeps_executor
from sash.engine.executors.execute import History, Run, describe_compiling, execute
from sash.engine.prepare import prepare
from sash.engine.run_table import TableRun, run_table
from sash.kernels import cache
from sash.kernels.plain import compile_loop
from sash.state.stream_state import StreamState

NUMBERS = {
    "peak": agg.max("x"), "total": agg.sum("x"), "mean": agg.mean("x"), "sd": agg.stddev("x"), "rows": agg.count(),
    "values": agg.count("x"), "first": agg.first("x"), "which": agg.arg_max("x", "v"), "middle": agg.median("x"),
}  # fmt: skip
KINDS = [
    pa.int32(), pa.bool_(), pa.timestamp("us", "UTC"), pa.int8(), pa.uint64(), pa.float32(), pa.date32(),
]  # fmt: skip
own = sash.aggregate(
    "widest",
    lift=lambda x: (x, x),
    combine=lambda older, newer: (min(older[0], newer[0]), max(older[1], newer[1])),
    lower=lambda ends: ends[1] - ends[0] if ends[1] > 0 else -1,
)


def run_cold(query: sash.Query, table: pa.Table, threads: int = 1) -> pa.Table:
    """The results without compiling anything."""
    prepared = prepare(query._declared, table.schema)
    return Run(prepared, 1)._try(lambda bound: TableRun(bound, threads).run(table))


def run_plain(query: sash.Query, table: pa.Table, *, compiled: bool) -> pa.Table:
    """The results, without input rows."""
    return run_table(prepare(query._declared, table.schema, compiled=compiled), table)


@pytest.mark.parametrize("keys", [1, 3])
@pytest.mark.parametrize("name", examples())
def test_numpy_gives_what_the_interpreter_gives(name: str, keys: int) -> None:
    table = table_of(long_stream(5, keys))
    query = sash.Query({**NUMBERS, "own": own("x")}, examples()[name], by="key", time="t")
    assert_equal(run_cold(query, table), run_plain(query, table, compiled=False).to_pylist())


def test_parts_and_chunks_in_threads() -> None:
    """Large tables are evaluated in parts; those in order of time are cut into slices first."""
    rows = 600_000
    times = pa.array(np.arange(rows), pa.timestamp("s"))
    table = pa.table({"t": times, "k": np.arange(rows) % 7, "x": np.arange(rows) % 1000 * 0.5})
    for windows in (window.rows(50), window.time("1h", slide="1m")):
        wide = agg.stddev("x") if FULL else agg.mean("x")
        query = sash.Query({"peak": agg.max("x"), "wide": wide}, windows, by="k", time="t")
        cold, compiled = run_cold(query, table, 2), run_plain(query, table, compiled=True)
        assert cold.schema == compiled.schema
        assert cold["peak"].equals(compiled["peak"])
        np.testing.assert_allclose(cold["wide"].drop_null(), compiled["wide"].drop_null())


@pytest.mark.parametrize("kind", KINDS if SOAK else some(KINDS[:3], 3), ids=str)
def test_results_have_the_types_of_compiled_ones(kind: pa.DataType) -> None:
    values: list[Any] = [3, None, 1, 2]
    if pa.types.is_temporal(kind):
        values = [None if value is None else datetime(2026, 1, value, tzinfo=UTC) for value in values]
    table = pa.table(
        {"x": pa.array([value and bool(value - 1) for value in values] if kind == pa.bool_() else values, kind)}
    )
    aggregates: dict[str, Any] = {"max": agg.max("x"), "last": agg.last("x"), "n": agg.count("x")}
    if not pa.types.is_temporal(kind) and kind != pa.uint64():
        aggregates |= {"sum": agg.sum("x")} | ({"mean": agg.mean("x"), "sd": agg.stddev("x")} if FULL else {})
    query = sash.Query(aggregates, window.rows(2))
    cold, compiled = run_cold(query, table), run_plain(query, table, compiled=True)
    assert cold.schema == compiled.schema
    assert_equal(cold, compiled.to_pylist())


OVER_VALUES: dict[str, Any] = {
    "median": agg.median("x"), "lower": agg.quantile("x", 0.3), "third": agg.nth_smallest("x", 3), "kinds": agg.count_distinct("x"),
}  # fmt: skip
VALUES: dict[pa.DataType, list[Any]] = {
    pa.int64(): [2**53 + 1, 2**53 + 3, -(2**63), 2**63 - 1, 7, 7, None, 0],
    pa.float64(): [0.5, -0.5, float("inf"), float("-inf"), float("nan"), 1e300, None, 0.5],
    pa.float32(): [0.5, -0.5, float("inf"), float("nan"), 0.1, 0.1, None, 3.5],
    pa.int8(): [3, -3, 127, -128, 0, 3, None, 5],
    pa.bool_(): [True, False, None],
    pa.decimal128(9, 2): [Decimal("1.25"), Decimal("-7.5"), Decimal("1.25"), None, Decimal("0.01")],
    pa.timestamp("us", "UTC"): [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 3, 9, 3, 28)] + [None],
    pa.date32(): [date(2026, 1, day) for day in (1, 3, 9, 3, 28)] + [None],
    pa.duration("s"): [timedelta(seconds=seconds) for seconds in (5, -5, 9, 5)] + [None],
    pa.uint64(): [2**63 - 1, 0, 2**63 - 3, 2**53 + 1, 7, None],
}


@pytest.mark.parametrize("kind", VALUES, ids=str)
@pytest.mark.parametrize(
    "windows",
    [
        window.rows(1), window.rows(40), window.rows(7, min_rows=3), window.time(30), window.time(30, slide=10), window.tumbling(25),
        window.session(3),
    ],
    ids=repr,
)  # fmt: skip
def test_order_statistics_and_distinct_values_of_every_type(kind: pa.DataType, windows: window.Window) -> None:
    chooser = random.Random(4)
    rows = 400
    table = pa.table(
        {
            "t": sorted(chooser.randrange(500) for _ in range(rows)),
            "k": [chooser.choice("abc") for _ in range(rows)],
            "x": pa.array([chooser.choice(VALUES[kind]) for _ in range(rows)], kind),
        }
    )
    query = sash.Query(OVER_VALUES, windows, by="k", time="t")
    cold, interpreted = run_cold(query, table), run_plain(query, table, compiled=False)
    assert cold.schema == interpreted.schema
    assert cold.equals(interpreted) or repr(cold.to_pylist()) == repr(interpreted.to_pylist())  # NaN differs from NaN


def test_values_above_63_bits_are_compared_but_not_interpolated() -> None:
    """As compiled: numbers of 64 bits have no mean in 64 bits."""
    table = pa.table({"x": pa.array([2**64 - 1, 2**63, 3], pa.uint64())})
    assert run_cold(sash.Query(agg.nth_smallest("x", 2), window.rows(3)), table)["nth_smallest"].to_pylist() == [
        None, 2**64 - 1, 2**63,
    ]  # fmt: skip
    with pytest.raises(OverflowError, match="above 2\\^63 - 1"):
        run_cold(sash.Query(agg.median("x"), window.rows(3)), table)


def test_errors_name_the_row() -> None:
    table = pa.table({"k": ["a", "b", "b"], "x": [1, 2**62, 2**62]})
    with pytest.raises(OverflowError, match="the row of k=b"):
        run_cold(sash.Query(agg.sum("x"), window.rows(2), by="k"), table)
    divided = sash.aggregate("ratio", lift=lambda x: x, combine=lambda a, b: a + b, lower=lambda c: 1 / (c - 3))
    with pytest.raises(ZeroDivisionError):
        run_cold(sash.Query(divided("x"), window.rows(2)), pa.table({"x": [1, 2, 3]}))


def test_a_state_is_the_same_with_numpy_and_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A micro-batch may run with NumPy and the next one compiled."""
    query = sash.Query(
        {"m": agg.mean("x"), "p": agg.max("x"), **({"sd": agg.stddev("x")} if FULL else {}), **OVER_VALUES},
        window.time(40, slide=10),
        by="k",
        time="t",
    )
    chooser = random.Random(3)
    batches = [
        pa.table(
            {
                "t": [n * 30 + chooser.randrange(60) for _ in range(50)],
                "k": [n % 3 for n in range(50)],
                "x": [chooser.random() for _ in range(50)],
            }
        )
        for n in range(8)
    ]
    found = []
    for ways in ([True] * 8, [False] * 8, [False, True, False, False, True, True, False, True]):
        state = StreamState(prepare(query._declared, batches[0].schema, compiled=None))
        results = []
        for number, (batch, way) in enumerate(zip(batches, ways, strict=True)):
            monkeypatch.setattr(Run, "compiles", way)
            monkeypatch.setattr(module, "_history", {})
            results.append(state.advance(batch, number * 30).results)
        found.append(pa.concat_tables([*results, state.finish()]))
    for other in found[1:]:
        assert_equal(other, found[0].to_pylist())


# -- the rule ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def deciding(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let queries decide with an empty cache."""
    monkeypatch.setattr(module, "_history", {})
    monkeypatch.setenv("SASH_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("deciding")
def test_few_rows_do_not_compile_and_many_do() -> None:
    query = sash.Query(agg.max("x"), window.rows(3))
    prepared = prepare(query._declared, pa.schema({"x": pa.float64()}), compiled=None)
    assert not Run(prepared, 100_000).compiles
    assert Run(prepared, 100_000_000).compiles
    prepared = prepare(sash.Query(agg.median("x"), window.rows(3))._declared, prepared.schema, compiled=None)
    assert (Run(prepared, 1_000_000).compiles, Run(prepared, 10_000_000).compiles) == (False, True)
    prepared = prepare(sash.Query(agg.mode("x"), window.rows(3))._declared, prepared.schema, compiled=None)
    assert (Run(prepared, 1_000).compiles, Run(prepared, 1_000_000).compiles) == (False, True)


@pytest.mark.usefixtures("deciding")
def test_a_query_compiles_when_its_runs_took_as_long_as_compiling() -> None:
    prepared = prepare(
        sash.Query(agg.max("x"), window.rows(3))._declared, pa.schema({"x": pa.float64()}), compiled=None
    )
    run = Run(prepared, 1000)
    ways = []
    for _ in range(3):
        run = Run(prepared, 1000)
        run.do(lambda bound: ways.append(bound.loops is compile_loop))
        run.history.seconds += 2.0
    assert ways == [False, True, True]
    assert cache.has_mark(prepared.identity)
    module._history.clear()
    assert run.load_seconds < 0.3  # another process loads the code


def test_explain_says_when_a_query_compiles() -> None:
    schema = pa.schema({"x": pa.float64(), "d": pa.decimal128(30, 2)})
    texts = [
        describe_compiling(prepare(sash.Query(one, window.rows(3))._declared, schema, compiled=None))
        for one in (agg.max("x"), agg.median("x"), agg.mode("x"), agg.collect("x"), unvectorised("x"), agg.sum("d"))
    ]
    assert texts == [
        "after about 5,000,000 rows in all runs, in about 2 s; with NumPy before that",
        "after about 3,000,000 rows in all runs, in about 2 s; with NumPy before that",
        "after about 800,000 rows in all runs, in about 2 s; with NumPy before that",
        "after about 3,000,000 rows in all runs, in about 2 s; with NumPy before that",
        "after about 80,000 rows in all runs, in about 2 s; interpreted before that",
        "",
    ]
    assert "before that" not in str(sash.Query(agg.max("x"), window.rows(3)).explain(schema, compiled=True))


def test_what_takes_long_is_announced_in_terminals_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with module.announced("compiling …"):
        pass
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with module.announced("compiling …"):
        assert capsys.readouterr().err == "Sash: compiling …"
    assert capsys.readouterr().err == "\r\033[K"


FRESH = """
import sys
import pyarrow as pa
import sash
from sash import agg, window
own = sash.aggregate("own", lift=lambda x: (x, 1), combine=lambda a, b: (a[0] + b[0], a[1] + b[1]), lower=lambda c: c[0] / c[1])
with pa.ipc.open_file(sys.argv[1]) as file:  # pa.array imports pandas
    table = file.read_all()
aggregates = {"peak": agg.max("x"), "mean": agg.mean("x"), "sd": agg.stddev("x"), "own": own("x"), "median": agg.median("x")}
for windows in (window.time(60, slide=10), window.tumbling(60), window.rows(100), window.time(60), window.session(5)):
    assert len(sash.Query(aggregates, windows, by="k", time="t").run(table)) > 0
both = {"minute": window.tumbling(60), "hour": window.time(3600, slide=60)}
assert len(sash.Query(aggregates, both, by="k", time="t").run(table)) > 0
weighted = {"ewm": agg.ewm_mean("x", half_life=5), "faded": agg.ewm_sum("x", half_life=5), "slope": agg.slope("x")}
listed = {"rank": agg.rank("x"), "bins": agg.histogram("x", [0, 100, 500]), "both": agg.quantile("x", [0.5, 0.9])}
for windows in (window.rows(100), window.time(60, slide=10)):
    assert len(sash.Query({**weighted, **listed}, windows, by="k", time="t").run(table)) > 0
assert not {"numba", "pandas"} & set(sys.modules), sorted({"numba", "pandas"} & set(sys.modules))
"""


def run_in_a_new_process(script: str, table: pa.Table, folder: Path) -> None:
    """Run a script over the rows, with an empty kernel cache."""
    with pa.ipc.new_file(folder / "rows.arrow", table.schema) as file:
        file.write_table(table)
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder / "rows.arrow")],
        env={**os.environ, "SASH_CACHE_DIR": str(folder)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_the_first_queries_of_a_process_import_neither_numba_nor_pandas(tmp_path: Path) -> None:
    table = pa.table({"k": ["a", "b"] * 500, "t": range(1000), "x": [n * 0.5 for n in range(1000)]})
    run_in_a_new_process(FRESH, table, tmp_path)


def test_history_belongs_to_a_query() -> None:
    schema = pa.schema({"x": pa.float64()})
    one, other = (
        prepare(sash.Query(agg.max("x"), window.rows(rows))._declared, schema, compiled=None) for rows in (3, 4)
    )
    assert one.identity != other.identity
    assert Run(one, 1).history == History()


# -- streams -----------------------------------------------------------------------------------------------------------


def replace_decision(monkeypatch: pytest.MonkeyPatch, decide: Callable[[Run], bool]) -> None:
    """Let runs decide in another way whether they compile."""
    decision = cached_property(decide)
    decision.__set_name__(Run, "compiles")
    monkeypatch.setattr(Run, "compiles", decision)


def batches_of(table: pa.Table, size: int) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=size))


FRESH_STREAMS = """
import sys
import pyarrow as pa
import sash
from sash import agg, window
with pa.ipc.open_file(sys.argv[1]) as file:  # pa.array imports pandas
    table = file.read_all()
every = {
    "rank": agg.rank("x"), "distinct": agg.count_distinct("c"), "ewm": agg.ewm_mean("x", half_life=5), "least": agg.min_count("x"),
    "each": agg.per_value("c", agg.sum("x")), "mode": agg.mode("c"), "middle": agg.median("x"), "sd": agg.stddev("x"),
}
for windows in (window.rows(10), window.time(60), window.time(60, slide=10), window.session(5), window.expanding()):
    aggregates = {name: one for name, one in every.items() if name != "rank" or windows.per_row}
    batches = table.to_batches(max_chunksize=100)
    results = sash.Query(aggregates, windows, by="k", time="t").run(pa.RecordBatchReader.from_batches(table.schema, batches))
    assert len(results.read_all()) > 0
assert not {"numba", "pandas"} & set(sys.modules), sorted({"numba", "pandas"} & set(sys.modules))
"""


def test_the_first_streams_of_a_process_import_neither_numba_nor_pandas(tmp_path: Path) -> None:
    table = pa.table(
        {
            "k": ["a", "b"] * 500,
            "t": range(1000),
            "x": [n * 0.5 for n in range(1000)],
            "c": [n % 7 for n in range(1000)],
        }
    )
    run_in_a_new_process(FRESH_STREAMS, table, tmp_path)


def added(older: Any, newer: Any) -> Any:
    """A function that Numba rejects, although NumPy evaluates it."""
    first, *rest = [older, newer]
    return first + rest[0]


rejected = sash.aggregate("rejected", lift=lambda x: x * 2, combine=added, lower=lambda c: c, commutative=True)
unvectorised = sash.aggregate(
    "length",
    lift=lambda x: x,
    combine=lambda older, newer: math.hypot(older, newer),  # noqa: PLW0108 — there is no source of math.hypot to compile
    lower=lambda c: c,
    commutative=True,
)


def stream_rows(rows: int = 400) -> pa.Table:
    chooser = random.Random(7)
    return pa.table(
        {
            "t": [n // 2 for n in range(rows)],
            "k": [chooser.randrange(3) for _ in range(rows)],
            "x": [chooser.randrange(50) / 4 for _ in range(rows)],
            "c": [chooser.randrange(4) for _ in range(rows)],
        }
    )


def assert_same_rows(found: pa.Table, expected: pa.Table) -> None:
    """Both hold the same rows, in any order."""

    def texts(table: pa.Table) -> list[str]:
        rounded = [
            [round(value, 9) if isinstance(value, float) else value for value in row.values()]
            for row in table.to_pylist()
        ]
        return sorted(map(repr, rounded))

    assert found.column_names == expected.column_names
    assert texts(found) == texts(expected)


@pytest.mark.parametrize("windows", [window.rows(5), window.time(20, slide=5), window.expanding()], ids=str)
def test_a_stream_may_start_interpreted_and_go_on_compiled(windows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = stream_rows()
    aggregates = {"mode": agg.mode("c"), "each": agg.per_value("c", agg.sum("x")), "mean": agg.mean("x")}
    query = sash.Query(aggregates, windows, by="k", time="t")
    expected = query.run(table, compiled=False)
    ways: list[bool] = []

    def decide(_: Run) -> bool:
        ways.append(len(ways) % 4 > 1)
        return ways[-1]

    replace_decision(monkeypatch, decide)
    monkeypatch.setattr(History, "is_compiled", property(lambda _: False, lambda *_: None), raising=False)
    found = query.run(batches_of(table, 40)).read_all()
    assert len(set(ways)) == 2
    assert_same_rows(found, expected)
    assert found.schema == expected.schema


@pytest.mark.parametrize("windows", [window.rows(5), window.time(20, slide=5)], ids=["rows", "slices"])
def test_an_aggregate_that_numpy_cannot_evaluate_is_compiled_before_the_stream_starts(windows: Any) -> None:
    """Its neighbours are not."""
    table = stream_rows()
    query = sash.Query(
        {"length": unvectorised("x"), "peak": agg.max("c"), "mode": agg.mode("c")}, windows, by="k", time="t"
    )
    prepared = compile_ahead(prepare(query._declared, table.schema, compiled=None))
    cold = bind(prepared, compiles=False, on_stream=True)
    assert cold.interpreted == {}
    assert bind(prepared, compiles=False).interpreted == {"length": NOT_WORTH_IT}  # a table starts with the interpreter
    assert {key[1] for key in prepared.kernels._made} == {"length"}
    assert_same_rows(query.run(batches_of(table, 40)).read_all(), query.run(table, compiled=False))


@pytest.mark.parametrize("windows", [window.rows(5), window.time(20, slide=5), window.expanding()], ids=str)
def test_an_aggregate_that_numba_rejects_stays_with_numpy_on_a_stream(
    windows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first micro-batches ran with NumPy; compiling fails in the midst of the stream."""
    table = stream_rows()
    query = sash.Query({"twice": rejected("x"), "least": agg.min("c")}, windows, by="k", time="t")
    expected = query.run(table, compiled=False)
    calls: list[bool] = []

    def decide(_: Run) -> bool:
        calls.append(len(calls) >= 3)
        return calls[-1]

    replace_decision(monkeypatch, decide)
    prepared = prepare(query._declared, table.schema)
    assert not any(keeps_executor(prepared, plan_pass) for plan_pass in prepared.plan.passes)
    found = query.run(batches_of(table, 40)).read_all()
    [history] = module._history.values()
    assert history.is_compiled
    assert [(executor, name) for executor, name, _ in history.failures] == [("compiled", "twice")]
    assert_same_rows(found, expected)


@pytest.mark.usefixtures("deciding")
def test_lost_seconds_of_other_processes_count() -> None:
    """Each of several processes spends less than compiling takes. In the end, one of them compiles."""
    prepared = prepare(sash.Query(agg.mode("x"), window.rows(3))._declared, pa.schema({"x": pa.int64()}), compiled=None)
    processes = 0
    run = Run(prepared, 10_000, on_stream=True)
    while not run.compiles and processes < 50:
        run.history.seconds = run.load_seconds + 0.4
        run._store_lost_seconds()
        processes += 1
        module._history.clear()
        run = Run(prepared, 200_000, on_stream=True)
    assert 2 <= processes <= 5
    module._history.clear()
    assert not Run(prepared, 10, on_stream=True).compiles  # compiled code would not help so short a process


@pytest.mark.usefixtures("deciding")
def test_processes_that_end_early_store_nothing(tmp_path: Path) -> None:
    prepared = prepare(sash.Query(agg.mode("x"), window.rows(3))._declared, pa.schema({"x": pa.int64()}), compiled=None)
    execute(prepared, 1_000, lambda _: None)
    assert not list(tmp_path.rglob("*.seconds"))
    assert cache.read_seconds(prepared.identity) == 0
