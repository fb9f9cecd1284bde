"""Late rows are dropped, an error, or kept: those that a model of late rows names, beside results that do not change."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.cases import SOAK
from helpers.late_rows import MODELLED
from helpers.late_rows import LateRows as Model
from helpers.pairwise import FULL
from helpers.streams import COMMUTE, OF_TIME, ORDERED, WINDOWS, batches_of, rows_of, table_of
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash import agg, window
from sash.engine.prepare import prepare
from sash.state import reader as stream
from sash.state.fingerprint import fingerprint_query
from sash.state.late_rows import LateRows
from sash.state.stream_state import StreamState

made_rows = st.lists(st.tuples(st.integers(0, 2), st.integers(-9, 40), st.integers(0, 5), st.booleans()), max_size=25)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every batch a micro-batch."""
    monkeypatch.setattr(stream, "MOST_ROWS", 1)


def shuffled(made: list[Any], data: st.DataObject) -> pa.Table:
    table = table_of(made)
    return table.take(pa.array(data.draw(st.permutations(range(len(table)))), pa.int64()))


def parted(results: pa.Table) -> tuple[pa.Table, list[dict[str, Any]]]:
    """Return ordinary results, and late rows."""
    is_late = results["late"].is_valid()
    late = results.filter(is_late)
    for name in results.column_names[:-1]:
        assert late[name].null_count == len(late)
    return results.filter(results["late"].is_null()).drop_columns(["late"]), late["late"].to_pylist()


def late_ids(windows: Any, table: pa.Table, lateness: int) -> list[int]:
    """Return which rows of a stream are late by the model."""
    model, newest, found = Model(windows), None, []
    for row in table.to_pylist():
        before = model.late
        model.add(row["k"], row["t"], 1, -(2**62) if newest is None else newest - lateness)
        newest = row["t"] if newest is None else max(newest, row["t"])
        found += [row["id"]] * (model.late - before)
    return found


@pytest.mark.parametrize(
    ("mode", "name"), [*(("append", name) for name in WINDOWS), *(("update", name) for name in OF_TIME)]
)
@settings(max_examples=40 if SOAK else 5 if FULL else 2, deadline=None)
@given(made_rows, st.integers(0, 7), st.integers(1, 6), st.data())
def test_kept_rows_are_the_late_ones_and_results_stay_the_same(
    mode: Any, name: str, made: list[Any], lateness: int, size: int, data: st.DataObject
) -> None:
    table = shuffled(made, data)
    query = sash.Query(
        data.draw(st.sampled_from([COMMUTE, ORDERED])), WINDOWS[name], by="k", time="t", lateness=lateness
    )
    prepared = prepare(query._declared, table.schema)
    streams = [stream.Stream(prepared, mode=mode, late=late) for late in ("drop", "keep")]
    dropped, kept = (
        pa.concat_tables(
            [*(one.add(table.slice(first, size)) for first in range(0, len(table), size)), one.finish()],
            promote_options="permissive",
        )
        for one in streams
    )
    results, late = parted(kept)
    assert rows_of(results) == rows_of(dropped)
    assert len(late) == streams[0].late == streams[1].late
    by_id = {row["id"]: row for row in table.to_pylist()}
    assert all(row == by_id[row["id"]] for row in late)  # all columns, also those that the query does not read
    if name in MODELLED:
        assert [row["id"] for row in late] == late_ids(WINDOWS[name], table, lateness)


@pytest.mark.parametrize("name", ["time", "session", "last_rows", "mixed", "rows_mixed"])
@settings(max_examples=40 if SOAK else 6, deadline=None)
@given(made_rows, st.integers(0, 12), st.integers(1, 6), st.data())
def test_a_state_returns_columns_that_it_does_not_store(
    name: str, made: list[Any], delay: int, size: int, data: st.DataObject
) -> None:
    """On Spark, rows arrive with all columns, and the query is prepared for those that it reads."""
    table = shuffled(made, data)
    wide = table.append_column("note", pa.array([f"row {number}" for number in table["id"].to_pylist()], pa.string()))
    query = sash.Query(COMMUTE, WINDOWS[name], by="k", time="t")
    prepared = prepare(query._declared, table.schema)
    fingerprint = fingerprint_query(query._declared, {})
    found: dict[str, list[pa.Table]] = {"drop": [], "keep": []}
    counted = {"drop": 0, "keep": 0}
    for late, schema in (("drop", table.schema), ("keep", wide.schema)):
        watermark, stored = 0, b""
        for first in range(0, len(table), size):
            state = StreamState(prepared, "append", LateRows(prepared.query, schema, late))
            if stored:
                state.decode(stored, fingerprint)
            rows = (table if late == "drop" else wide).slice(first, size)
            emitted = state.advance(rows, watermark)
            found[late].append(emitted.results)
            counted[late] += emitted.late
            watermark = max(watermark, max(rows["t"].to_pylist()) - delay)
            stored = state.encode(fingerprint)
            assert b"note" not in stored
    if not found["keep"]:
        return
    results, kept = parted(pa.concat_tables(found["keep"], promote_options="permissive"))
    assert rows_of(results) == rows_of(pa.concat_tables(found["drop"], promote_options="permissive"))
    assert counted["drop"] == counted["keep"] == len(kept)
    assert all(row["note"] == f"row {row['id']}" for row in kept)


ROWS = pa.table({"t": [1, 20, 4, 30, 12], "x": [1.5, None, 2.5, 3.5, 4.5]})


def test_dropped_rows_are_counted_without_lateness_too() -> None:
    query = sash.Query({"n": agg.count()}, window.tumbling(10), time="t")
    with pytest.warns(stream.LateRowsWarning, match=r'2 row\(s\) .* late="keep" to get them'):
        found = query.run(batches_of(ROWS, 1), late="drop").read_all()
    assert found["n"].to_pylist() == [1, 1, 1]


@pytest.mark.parametrize("windows", [window.tumbling(10), window.time(5)], ids=str)
def test_the_schema_of_kept_rows(windows: Any) -> None:
    query = sash.Query({"n": agg.sum("x", where="x > 2")}, windows, time="t", lateness=0)
    fields = [pa.field("t", pa.int64(), nullable=False), pa.field("x", pa.float64())]
    strict = ROWS.cast(pa.schema(fields))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing was dropped
        found = query.run(batches_of(strict, 2), late="keep")
        assert found.schema == query.schema(batches_of(strict, 2), late="keep")
        _, late = parted(found.read_all())
    assert found.schema.field("late").type == pa.struct({"t": pa.int64(), "x": pa.float64()})  # no computed column
    assert all(field.nullable for field in found.schema)
    assert late == [{"t": 4, "x": 2.5}, {"t": 12, "x": 4.5}]


def test_a_late_row_is_an_error_if_that_is_asked_for() -> None:
    query = sash.Query({"n": agg.count()}, window.time(10, slide=5), time="t", lateness=10)
    in_time = pa.table({"t": [1, 20, 8, 30]})  # 8 misses [0, 10), but is in [5, 15)
    assert query.run(batches_of(in_time, 1), late="error").read_all()["n"].to_pylist() == [
        1,
        1,
        1,
        1,
        1,
        1,
        1,
    ]
    with pytest.raises(ValueError, match=r"A row \(t=4\) is late: all its windows are closed.*\"drop\".*fails again"):
        query.run(batches_of(ROWS, 2), late="error").read_all()
    strict = sash.Query({"n": agg.count()}, window.time(10, slide=5), time="t")
    with pytest.raises(ValueError, match=r"A row with t=8 arrived after rows up to 20"):
        strict.run(batches_of(in_time, 1), late="error").read_all()


@pytest.mark.parametrize(
    ("options", "given", "sentence"),
    [
        ({"late": "save"}, {}, r"late='save' is not valid. Use \"drop\""),
        ({"late": "keep"}, {"aggregates": {"late": agg.count()}}, "Rename the column, key or aggregate 'late'"),
        ({"late": "keep", "order": "keys"}, {"by": "x"}, "rows of this stream are never late. Leave late= out"),
        ({"late": "drop"}, {"time": None, "windows": window.rows(2)}, "never late"),
    ],
)
def test_choices_that_do_not_fit_are_refused(options: dict[str, Any], given: dict[str, Any], sentence: str) -> None:
    query = sash.Query(**{"aggregates": {"n": agg.count()}, "windows": window.tumbling(10), "time": "t", **given})
    with pytest.raises(ValueError, match=sentence):
        query.run(batches_of(ROWS, 1), **options)


def test_rows_with_a_column_of_that_name() -> None:
    named = ROWS.rename_columns(["t", "late"])
    per_window = sash.Query({"n": agg.count()}, window.tumbling(10), time="t")
    _, late = parted(per_window.run(batches_of(named, 1), late="keep").read_all())
    assert late == [{"t": 4, "late": 2.5}, {"t": 12, "late": 4.5}]
    with pytest.raises(ValueError, match="Rename the column, key or aggregate 'late'"):
        sash.Query({"n": agg.count()}, window.time(5), time="t").run(batches_of(named, 1), late="keep")


def test_nested_columns_and_dictionaries_are_kept() -> None:
    item = pa.field("item", pa.struct([pa.field("a", pa.int8(), nullable=False)]), nullable=False)
    table = pa.table(
        [
            pa.array([1, 20, 4]),
            pa.array([[{"a": 1}], [], [{"a": 3}]], pa.list_(item)),
            pa.array(["a", "b", "c"]).dictionary_encode(),
            pa.array(np.array(["2026-01-01", "2026-01-02", "NaT"], "datetime64[ns]")),
        ],
        schema=pa.schema(
            [
                pa.field("t", pa.int64()), pa.field("tags", pa.list_(item)),
                pa.field("d", pa.dictionary(pa.int32(), pa.string())), pa.field("at", pa.timestamp("ns")),
            ]
        ),
    )  # fmt: skip
    for windows in (window.tumbling(10), window.rows(2)):
        query = sash.Query({"n": agg.count()}, windows, time="t", lateness=0)
        _, late = parted(query.run(batches_of(table, 1), late="keep").read_all())
        assert late == [{"t": 4, "tags": [{"a": 3}], "d": "c", "at": None}]


def test_texts_keep_late_rows() -> None:
    pytest.importorskip("sqlglot")
    pytest.importorskip("duckdb")
    per_window = sash.sql("SELECT count(*) + 1 AS n FROM rows [RANGE 10 SLIDE 10 ON t]")
    found = per_window.run(batches_of(ROWS, 1), late="keep").read_all()
    assert found.schema == per_window.schema(batches_of(ROWS, 1), late="keep")
    assert [(row["n"], row["late"]) for row in found.to_pylist() if row["late"]] == [
        (None, {"t": 4, "x": 2.5}),
        (None, {"t": 12, "x": 4.5}),
    ]
    per_row = sash.sql("SELECT *, count(*) AS n FROM rows [RANGE 5 ON t]")
    assert len(parted(per_row.run(batches_of(ROWS, 1), late="keep").read_all())[1]) == 2
    with pytest.raises(ValueError, match='HAVING does not apply with late="keep"'):
        sash.sql("SELECT count(*) AS n FROM rows [RANGE 10 SLIDE 10 ON t] HAVING n > 1").run(
            batches_of(ROWS, 1), late="keep"
        )
