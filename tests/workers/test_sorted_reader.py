"""Rows in any order, sorted on disk with very little memory: the results of the run over a table, and nothing left behind."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from helpers.pairwise import some
from helpers.spark.matrix import EVERY, PER_ROW, PER_WINDOW, rows_of_every_kind

import sash
from sash import agg, window
from sash.workers import sorted_reader as module
from sash.workers import spill
from sash.workers.sorted_reader import sorted_reader

ROWS = rows_of_every_kind(1, 120)
FEW = {
    name: EVERY[name] for name in ("sum", "mean", "max", "first", "collect", "count_distinct", "median", "own_joined")
}
WINDOWS = [*(("row", name) for name in PER_ROW), *(("window", name) for name in PER_WINDOW)]
LITTLE = 2_000


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to sort in, in which nothing is left behind; rows are sorted in runs of a few rows."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(module, "LEAST_BYTES", 1)
    monkeypatch.setattr(spill, "BYTES_OF_BATCH", 300)
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


def sorted_run(query: sash.Query, rows: pa.Table, memory: Any = LITTLE, size: int = 30, **options: Any) -> pa.Table:
    reader = query.run(rows.to_reader(size), order="any", memory=memory, compiled=False, **options)
    assert isinstance(reader, pa.RecordBatchReader)
    return reader.read_all()


def assert_as_a_table(query: sash.Query, rows: pa.Table = ROWS, memory: Any = LITTLE, **options: Any) -> None:
    """Compare with the run over a table: the same windows in the same order, and the same rows in order of key and time."""
    expected = query.run(rows, compiled=False, **options)
    found = sorted_run(query, rows, memory, **options)
    assert found.schema.equals(expected.schema)
    declared = query._declared
    if declared.per_row:
        in_order = pc.sort_indices(expected, [("id", "ascending")])
        expected, found = expected.take(in_order), found.take(pc.sort_indices(found, [("id", "ascending")]))
    rows_found, rows_expected = list(map(repr, found.to_pylist())), list(map(repr, expected.to_pylist()))
    if declared.several and not declared.per_row:  # the windows of a key follow each other
        rows_found, rows_expected = sorted(rows_found), sorted(rows_expected)
    assert rows_found == rows_expected


@pytest.mark.parametrize("by", [(), ("key",), ("mark", "key")])
@pytest.mark.parametrize(("kind", "name"), some(WINDOWS, 4))
def test_results_are_those_of_a_table(kind: str, name: str, by: tuple[str, ...]) -> None:
    windows = (PER_ROW if kind == "row" else PER_WINDOW)[name]
    assert_as_a_table(sash.Query(FEW, windows, by=by, time="t", order_by="id"))


@pytest.mark.parametrize(
    "windows",
    [
        window.rows(5),
        window.rows(6, slide=2),
        window.time("30s"),
        window.time("90s", slide="30s"),
        window.time("90s", slide="30s", empty=True),
        window.session("20s"),
        window.time(before="1m", after="1m"),
        window.expanding(),
        {"short": window.tumbling("1m"), "long": window.tumbling("5m")},
    ],
    ids=str,
)
@pytest.mark.parametrize("by", [(), ("key",)])
def test_ties_of_time_keep_the_order_of_arrival(windows: Any, by: tuple[str, ...]) -> None:
    """`first` and `collect` show the order of rows."""
    ties = ROWS.set_column(
        1, "t", pa.array([number % 7 * 10_000_000 for number in range(len(ROWS))], pa.timestamp("us"))
    )
    aggregates = {"all": agg.collect("id"), "first": agg.first("s"), "sum": agg.sum("y")}
    assert_as_a_table(sash.Query(aggregates, windows, by=by, time="t"), ties)


@pytest.mark.parametrize("order_by", ["id", "y", "s"])
@pytest.mark.parametrize("by", [(), ("key",)])
def test_order_by_in_place_of_a_time(order_by: str, by: tuple[str, ...]) -> None:
    named = list(dict.fromkeys([order_by, "id"]))
    assert_as_a_table(sash.Query({"all": agg.collect("id")}, window.rows(5), by=by, order_by=named))


def test_rows_that_nothing_orders_stay_as_they_arrive() -> None:
    query = sash.Query({"all": agg.collect("id")}, window.rows(3), by="key")
    assert sorted_run(query, ROWS).equals(query.run(ROWS, compiled=False))


def test_results_per_row_come_by_key_and_time() -> None:
    rows = pa.table({"key": ["b", "a", "b", "a"], "t": [4, 3, 2, 1]})
    found = sorted_run(sash.Query({"n": agg.count()}, window.rows(2), by="key", time="t"), rows)
    assert found.to_pydict() == {"key": ["b", "b", "a", "a"], "t": [2, 4, 1, 3], "n": [1, 2, 1, 2]}


def test_one_key_has_nearly_all_rows() -> None:
    keys = pa.array(["many" if number % 40 else "few" for number in range(800)])
    rows = rows_of_every_kind(3, 800).set_column(2, "key", keys)
    for windows in (window.rows(5), window.time("90s", slide="30s")):
        assert_as_a_table(sash.Query({"n": agg.count(), "sum": agg.sum("x")}, windows, by="key", time="t"), rows)


def test_more_runs_than_are_open_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "MOST_RUNS", 3)
    query = sash.Query({"all": agg.collect("id")}, window.rows(4), by="key", time="t")
    assert_as_a_table(query, rows_of_every_kind(5, 400))
    reader = sorted_reader(ROWS.to_reader(10), query._declared, LITTLE)
    first = reader.read_next_batch()
    [made] = folder.iterdir()
    assert len(list(made.iterdir())) <= 3
    assert len(first) + sum(map(len, reader)) == len(ROWS)


def test_what_fits_is_not_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill.Sorter, "_write", lambda *_: pytest.fail("a run was written"))
    assert_as_a_table(sash.Query(FEW, window.rows(3), by="key", time="t"), memory="1GB")
    assert_as_a_table(sash.Query(FEW, window.tumbling("1m"), by="key", time="t"), memory=None)
    assert list(folder.iterdir()) == []


def test_columns_of_many_types_survive() -> None:
    count = 60
    random = np.random.default_rng(3)
    columns = {
        "id": np.arange(count),
        "t": pa.array([date(2026, 1, 1) + timedelta(int(days)) for days in random.permutation(count)]),
        "key": pa.array(random.choice(["a", "b", "c"], count)).dictionary_encode(),
        "list": pa.array([[number] * (number % 3) or None for number in range(count)]),
        "struct": pa.array([{"a": number} for number in range(count)]),
        "large": pa.array(map(str, range(count)), pa.large_string()),
        "nothing": pa.nulls(count),
    }
    rows = pa.table(columns)
    assert_as_a_table(sash.Query({"s": agg.sum("id"), "l": agg.last("list")}, window.rows(4), by="key", time="t"), rows)
    assert_as_a_table(sash.Query({"s": agg.sum("id")}, window.time("7d", slide="1d"), by="key", time="t"), rows)


def test_computed_keys_and_inputs_and_wide_results() -> None:
    query = sash.Query(
        {"p": agg.quantile(sash.expr("x * 2"), [0.5, 0.9]), "n": agg.count(where="x > 0")},
        window.time("90s", slide="30s"),
        by=sash.expr("upper(key)"),
        time="t",
    )
    expected, found = query.run(ROWS, compiled=False, wide=True), sorted_run(query, ROWS, wide=True)
    assert found.schema.names == expected.schema.names
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, expected.to_pylist()))


def test_rows_without_a_time() -> None:
    rows = ROWS.set_column(1, "t", pa.array([None, *ROWS["t"].to_pylist()[1:]], ROWS["t"].type))
    query = sash.Query({"n": agg.count()}, window.rows(3), by="key", time="t")
    with pytest.raises(ValueError, match="'t'"):
        sorted_run(query, rows)
    with pytest.warns(UserWarning, match="1 row"):
        assert len(sorted_run(query, rows, on_bad_time="drop")) == len(rows) - 1


def test_no_rows() -> None:
    for windows in (window.rows(3), window.tumbling("1m")):
        assert_as_a_table(sash.Query({"n": agg.count()}, windows, by="key", time="t"), ROWS.slice(0, 0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memory": "2GB"}, 'Add order="any"'),
        ({"order": "any", "memory": "much"}, "memory='much' is not a size"),
        ({"order": "any", "memory": 0}, "memory=0 is not a size"),
        ({"order": "any", "mode": "update"}, "Leave mode='update'"),
        ({"order": "any", "emit": "state"}, "Leave emit='state'"),
        ({"order": "any", "late": "keep"}, "no row is late"),
        ({"order": "any", "forget": "1d"}, "Leave forget='1d'"),
        ({"order": "any", "resume": "file"}, "Leave resume or order= out"),
        ({"order": "any", "history": ROWS, "until": 3}, "Leave history or order= out"),
        ({"order": "some"}, 'or "any" to have them sorted'),
    ],
)
def test_options_that_do_not_fit(options: dict[str, Any], message: str) -> None:
    query = sash.Query({"n": agg.count()}, window.tumbling("1m"), by="key", time="t")
    with pytest.raises(ValueError, match=message):
        query.run(ROWS.to_reader(), **options)


def test_a_table_needs_no_memory_option() -> None:
    with pytest.raises(TypeError, match="a table is in memory already"):
        sash.Query({"n": agg.count()}, window.rows(3)).run(ROWS, memory="1GB")


def test_nothing_is_left_if_not_all_results_are_read(folder: Path) -> None:
    query = sash.Query({"n": agg.count()}, window.rows(3), by="key", time="t")
    results = query.run(ROWS.to_reader(30), order="any", memory=LITTLE, compiled=False)
    results.read_next_batch()
    assert len(list(folder.iterdir())) == 1
    del results
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("place", ["input", "aggregate"])
def test_nothing_is_left_after_an_error(folder: Path, error: type[BaseException], place: str) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield from ROWS.to_batches(30)
        if place == "input":
            assert list(folder.iterdir())
            raise error

    def lift(value: int) -> int:
        if place == "aggregate" and value == 3:
            raise error
        return value

    own = sash.aggregate("own", lift=lift, combine=lambda older, newer: older + newer)
    query = sash.Query({"own": own("id")}, window.rows(3), by="key", time="t")
    reader = pa.RecordBatchReader.from_batches(ROWS.schema, batches())
    with pytest.raises(error):
        query.run(reader, order="any", memory=LITTLE, compiled=False).read_all()
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_disk_is_one_clear_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = spill.Sorter.__init__

    def begin_on_a_disk_that_fills_up(sorter: spill.Sorter, declared: Any, place: Path) -> None:
        begin(sorter, declared, place)
        (place / "2.arrow").symlink_to("/dev/full")

    monkeypatch.setattr(spill.Sorter, "__init__", begin_on_a_disk_that_fills_up)
    query = sash.Query({"n": agg.count()}, window.rows(3), by="key", time="t")
    with pytest.raises(OSError, match=f"failed in {folder} .*Set TMPDIR to a folder on a larger disk") as caught:
        sorted_run(query, ROWS)
    assert caught.value.errno == errno.ENOSPC


def test_large_batches_are_sorted_in_parts(folder: Path) -> None:
    rows = rows_of_every_kind(6, 1500)
    memory = rows.nbytes // 4
    query = sash.Query({"n": agg.count()}, window.rows(3), by="key", time="t")._declared
    reader = sorted_reader(rows.combine_chunks().to_reader(), query, memory)
    sizes = [len(reader.read_next_batch())]
    [made] = folder.iterdir()
    assert len(list(made.iterdir())) > 4
    sizes += map(len, reader)
    assert max(sizes) < len(rows) / 8
    assert sum(sizes) == len(rows)
