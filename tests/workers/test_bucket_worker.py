"""What a Python worker does with batches, in this process: whole and from disk, for windows of every kind."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from helpers.pairwise import some
from helpers.spark.matrix import COMPILED, EVERY, PER_ROW, PER_WINDOW, SCHEMA, assert_same, rows_of_every_kind

import sash
from sash import agg, window
from sash.spark.groups import group_function
from sash.windows import Window
from sash.workers import spill
from sash.workers.bucket_worker import BucketWorker
from sash.workers.worker_function import marked_errors

ROWS = rows_of_every_kind(1, 120)
FEW = {
    name: EVERY[name] for name in ("sum", "mean", "max", "first", "collect", "count_distinct", "median", "own_joined")
}
WHOLE = 1 << 30
WINDOWS = [*(("row", name) for name in PER_ROW), *(("window", name) for name in PER_WINDOW)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to sort in, in which nothing is left behind."""
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/nowhere")
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def few_rows_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read so few rows of a run together that those of one key and time don't end with them."""
    monkeypatch.setattr(spill, "BYTES_OF_BATCH", 300)


def assert_answers(query: sash.Query, rows: pa.Table = ROWS, *, compiled: bool = False) -> None:
    """Compare what a worker answers with what the local engine does, from memory and from disk."""
    expected = query.run(rows, compiled=compiled)
    declared = query._declared
    order = ["id"] if declared.per_row else [*declared.by, *(["window"] * declared.several)]
    if not declared.per_row and declared.time is not None:
        order += ["window_start", "window_end"]
    for most_bytes in (WHOLE, 1):
        worker = BucketWorker(declared, {}, expected.schema, compiled=compiled, most_bytes=most_bytes)
        found = worker.evaluate_group(0, iter(rows.to_batches(max_chunksize=30)))
        assert_same(pa.Table.from_batches(found, expected.schema), expected, order)


@pytest.mark.usefixtures("few_rows_at_once")
@pytest.mark.parametrize(("kind", "name"), some(WINDOWS, 3))
def test_what_is_sorted_on_disk_is_answered_as_the_whole_is(kind: str, name: str) -> None:
    windows: Window = (PER_ROW if kind == "row" else PER_WINDOW)[name]
    assert_answers(sash.Query(FEW, windows, by="key", time="t", order_by="id"))


@pytest.mark.usefixtures("few_rows_at_once")
@pytest.mark.parametrize("windows", [PER_ROW, PER_WINDOW], ids=["rows", "windows"])
def test_rows_without_a_key_from_disk(windows: dict[str, Window]) -> None:
    assert_answers(sash.Query(FEW, windows, time="t", order_by="id"))


@pytest.mark.full
@pytest.mark.usefixtures("few_rows_at_once")
@pytest.mark.parametrize("windows", [PER_ROW, PER_WINDOW], ids=["rows", "windows"])
def test_every_aggregate_from_disk(windows: dict[str, Window]) -> None:
    assert_answers(sash.Query(EVERY, windows, by="key", time="t", order_by=["v", "id"]))


@pytest.mark.full
@pytest.mark.parametrize("windows", [window.time("90s"), window.time("5m", slide="1m")], ids=str)
def test_compiled(windows: Window) -> None:
    assert_answers(sash.Query(COMPILED, windows, by="key", time="t", order_by="id"), compiled=True)


@pytest.mark.usefixtures("few_rows_at_once")
@pytest.mark.parametrize("order_by", ["id", "s", "y", "t", "mark"])
@pytest.mark.parametrize("by", [(), ("mark", "key")])
def test_order_by_alone_orders_rows(by: tuple[str, ...], order_by: str) -> None:
    named = list(dict.fromkeys([order_by, "id"]))
    aggregates = {"all": agg.collect("id"), "sum": agg.sum("x")}
    assert_answers(sash.Query(aggregates, window.rows(5), by=by, order_by=named))
    assert_answers(sash.Query(aggregates, window.punctuated("mark"), by=by, order_by=named))


@pytest.mark.usefixtures("few_rows_at_once")
def test_ties_of_time_alone_come_in_some_order() -> None:
    ties = ROWS.set_column(SCHEMA.get_field_index("t"), "t", pa.array([7] * len(ROWS)))
    query = sash.Query({"n": agg.count(), "sum": agg.sum("x")}, window.time(5), by="key", time="t")
    assert_answers(query, ties)


def test_many_keys_and_one_row_each() -> None:
    rows = rows_of_every_kind(2, 400, [f"key {number}" for number in range(300)])
    assert_answers(sash.Query({"n": agg.count(), "sum": agg.sum("x")}, window.tumbling("1m"), by="key", time="t"), rows)


def test_batches_without_rows_and_a_group_of_one_row() -> None:
    query = sash.Query(FEW, window.rows(3), by="key", time="t", order_by="id")
    assert_answers(query, ROWS.slice(0, 1))
    for most_bytes in (WHOLE, 1):
        expected = query.run(ROWS, compiled=False)
        worker = BucketWorker(query._declared, {}, expected.schema, compiled=False, most_bytes=most_bytes)
        none = [pa.RecordBatch.from_pylist([], ROWS.schema)]
        found = pa.Table.from_batches(worker.evaluate_group(0, [*none, *ROWS.to_batches(), *none]), expected.schema)
        assert_same(found, expected, ["id"])
        assert list(worker.evaluate_group(0, none)) == []


def test_memory_is_that_of_a_part_of_the_rows(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many runs there are, no more is merged at once than was said; they lie in Spark's folder meanwhile."""
    monkeypatch.setattr(spill, "BYTES_OF_BATCH", 300)
    rows = rows_of_every_kind(4, 1500)
    declared = sash.Query({"n": agg.count()}, window.rows(3), by="key", time="t", order_by="id")._declared
    most_bytes = 1 << 15
    with spill.sort_on_disk(iter(rows.to_batches(max_chunksize=10)), declared, most_bytes) as pieces:
        [made] = folder.iterdir()
        assert len(list(made.iterdir())) > rows.nbytes * spill.COPIES / most_bytes / 2
        sizes = [(len(piece), piece.nbytes) for piece in pieces]
    assert sum(count for count, _ in sizes) == len(rows)
    assert max(size for _, size in sizes) < most_bytes < rows.nbytes


def test_nothing_is_left_on_disk_after_an_error(folder: Path) -> None:
    def refuse(value: int) -> int:
        if value > 0:
            message = "too large"
            raise ValueError(message)
        return value

    own = sash.aggregate("own", lift=refuse, combine=lambda older, newer: older + newer)
    query = sash.Query({"own": own("x")}, window.rows(3), by="key", time="t", order_by="id")
    worker = BucketWorker(
        query._declared,
        {},
        pa.schema({**dict(zip(SCHEMA.names, SCHEMA.types, strict=True)), "own": pa.int64()}),
        compiled=False,
        most_bytes=1,
    )
    with pytest.raises(ValueError, match="too large"):
        list(worker.evaluate_group(0, iter(ROWS.to_batches(max_chunksize=30))))
    assert list(folder.iterdir()) == []


def test_nothing_is_left_on_disk_if_not_all_results_are_taken(folder: Path) -> None:
    query = sash.Query({"n": agg.count()}, window.rows(3), by="key", time="t", order_by="id")
    worker = BucketWorker(query._declared, {}, query.run(ROWS).schema, compiled=False, most_bytes=1)
    results = worker.evaluate_group(0, iter(ROWS.to_batches(max_chunksize=30)))
    next(results)
    del results
    assert list(folder.iterdir()) == []


def test_the_systems_folder_is_sorted_in_where_spark_names_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/nowhere")
    assert spill.folder_of_spark() == tempfile.gettempdir()
    assert Path(tempfile.gettempdir()).is_dir()


def test_the_disk_with_the_most_space_is_sorted_in(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = {str(tmp_path_factory.mktemp(name)): size for name, size in {"small": 1, "large": 2, "failed": -1}.items()}
    monkeypatch.setenv("SPARK_LOCAL_DIRS", ",".join(free))
    monkeypatch.setattr(spill, "free_bytes", free.__getitem__)
    assert Path(spill.folder_of_spark()).name.startswith("large")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_disk_is_one_clear_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = spill.Sorter.__init__

    def begin_on_a_disk_that_fills_up(sorter: spill.Sorter, declared: Any, place: Path) -> None:
        begin(sorter, declared, place)
        (place / "2.arrow").symlink_to("/dev/full")

    monkeypatch.setattr(spill.Sorter, "__init__", begin_on_a_disk_that_fills_up)
    query = sash.Query({"n": agg.count()}, window.rows(3), by="key", time="t", order_by="id")
    worker = BucketWorker(query._declared, {}, query.run(ROWS).schema, compiled=False, most_bytes=1)
    with pytest.raises(
        OSError, match=f"sorting them on disk failed in {folder} .*No space left.*spark.local.dir"
    ) as raised:
        list(group_function(worker, SCHEMA.names)(iter(ROWS.to_batches(max_chunksize=30))))
    assert raised.value.errno == errno.ENOSPC
    assert [note.split(":")[0] for note in raised.value.__notes__] == ["[SASH] OSError"]
    assert list(folder.iterdir()) == []


def test_a_worker_without_memory_says_what_to_set() -> None:
    with pytest.raises(pa.ArrowMemoryError) as raised, marked_errors():
        pa.allocate_buffer(1 << 60)
    [remedy, line] = raised.value.__notes__
    assert line.startswith("[SASH] ArrowMemoryError: ")
    assert line.endswith(remedy)
    assert "spark.executor.pyspark.memory" in remedy


def test_a_result_of_another_type_than_was_said() -> None:
    own = sash.aggregate("own", lift=str, combine=lambda older, newer: older + newer)
    query = sash.Query({"own": own("x")}, window.rows(3), time="t")
    worker = BucketWorker(query._declared, {}, pa.schema({"own": pa.list_(pa.int64())}), compiled=False)
    with pytest.raises(
        TypeError, match=r"'own' returned string, but list<item: int64> was expected .* run\(df, types="
    ):
        list(worker.evaluate_group(0, iter(ROWS.to_batches())))
