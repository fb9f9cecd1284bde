"""Runs that continue from a file give the results of one run over all rows, also if some are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from helpers.cases import SOAK
from helpers.pairwise import FULL
from helpers.queries import UNCOMPILED
from helpers.streams import COMMUTE, OF_TIME, ORDERED, WINDOWS, batches_of, rows_of, table_of
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash import agg, window
from sash.state.reader import LateRowsWarning
from sash.state.resume_file import ResumeFile

ALL = {**WINDOWS, "expanding": {"w": window.expanding()}, "tail": {"w": window.time(10, tail=4)}}
rows = st.lists(st.tuples(st.integers(0, 2), st.integers(-9, 40), st.integers(0, 5), st.booleans()), max_size=30)


def cut(table: pa.Table, places: list[int]) -> list[pa.Table]:
    """A table in parts."""
    bounds = [0, *sorted(place % (len(table) + 1) for place in places), len(table)]
    return [table.slice(begin, end - begin) for begin, end in pairwise(bounds)]


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=40 if SOAK else 15 if FULL else 4, deadline=None)
@given(rows, st.lists(st.integers(0, 30), max_size=4), st.integers(0, 7), st.integers(1, 6), st.data())
def test_runs_in_parts_give_the_results_of_one_run(
    name: str, made: list[Any], places: list[int], lateness: int, size: int, data: st.DataObject
) -> None:
    table = table_of(made)
    delays = data.draw(st.lists(st.integers(0, lateness + 2), min_size=len(table), max_size=len(table)))
    arrivals = [time + delay for time, delay in zip(table["t"].to_pylist(), delays, strict=True)]
    arrived = table.take(pa.array(sorted(range(len(table)), key=lambda row: arrivals[row]), pa.int64()))
    query = sash.Query(
        data.draw(st.sampled_from([COMMUTE, ORDERED])), ALL[name], by="k", time="t", order_by="id", lateness=lateness
    )
    options: dict[str, Any] = {"late": "keep", "compiled": data.draw(st.sampled_from(UNCOMPILED))}
    with tempfile.TemporaryDirectory() as folder:
        whole = query.run(batches_of(arrived, size), resume=f"{folder}/whole", **options).read_all()
        parts = [
            query.run(batches_of(part, size), resume=f"{folder}/parts", **options).read_all()
            for part in cut(arrived, places)
        ]
    assert rows_of(pa.concat_tables(parts, promote_options="permissive")) == rows_of(whole)


@pytest.mark.parametrize("name", OF_TIME)
@settings(max_examples=10 if FULL else 3, deadline=None)
@given(rows, st.lists(st.integers(0, 30), max_size=4))
def test_updates_in_parts_lead_to_the_same_windows(name: str, made: list[Any], places: list[int]) -> None:
    table = table_of(made)
    query = sash.Query(COMMUTE, WINDOWS[name], by="k", time="t")
    merged: dict[Any, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for part in cut(table, places):
            for row in query.run(part.to_reader(), resume=f"{folder}/state", mode="update").read_all().to_pylist():
                at = tuple(row.get(column) for column in ("k", "window", "window_start", "window_end"))
                if row.pop("change") == "delete":
                    del merged[at]
                else:
                    merged[at] = row
    assert sorted(map(repr, merged.values())) == sorted(map(repr, query.run(table).to_pylist()))


# -- what users run ----------------------------------------------------------------------------------------------------

EVENTS = pa.table({"card": [1, 2] * 20, "minute": list(range(40)), "amount": [float(n) for n in range(40)]})
TOTAL = sash.Query({"total": agg.sum("amount")}, window.time(30, slide=5), by="card", time="minute")


def run(path: Path, begin: int, end: int, query: sash.Query = TOTAL, **options: Any) -> list[Any]:
    """Run a query on some events, and return its results."""
    results: pa.Table = query.run(EVENTS.slice(begin, end - begin).to_reader(), resume=path, **options).read_all()
    rows_read: list[Any] = results.to_pylist()
    return rows_read


def test_windows_stay_open_between_runs(tmp_path: Path) -> None:
    path = tmp_path / "features.state"
    first, second = run(path, 0, 13), run(path, 13, 40)
    expected = [row for row in TOTAL.run(EVENTS).to_pylist() if row["window_end"] <= 39]
    assert sorted(map(repr, first + second)) == sorted(map(repr, expected))
    assert max(row["window_end"] for row in first) == 10
    assert [entry.name for entry in tmp_path.iterdir()] == ["features.state"]


def test_a_run_without_rows_changes_no_results(tmp_path: Path) -> None:
    path = tmp_path / "state"
    results = [run(path, *span) for span in [(0, 0), (0, 20), (20, 20), (20, 40)]]
    assert [len(one) for one in results] == [0, 6, 0, 8]
    expected = [row for row in TOTAL.run(EVENTS).to_pylist() if row["window_end"] <= 39]
    assert sorted(repr(row) for part in results for row in part) == sorted(map(repr, expected))


def test_an_interrupted_run_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state"
    run(path, 0, 10)
    before = path.read_bytes()
    reader = TOTAL.run(EVENTS.slice(10).to_reader(max_chunksize=5), resume=path)
    reader.read_next_batch()
    del reader
    assert path.read_bytes() == before

    def broken() -> Any:
        yield from EVENTS.slice(10, 20).to_batches()
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        TOTAL.run(pa.RecordBatchReader.from_batches(EVENTS.schema, broken()), resume=path).read_all()
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["state"]


def test_without_a_time_column(tmp_path: Path) -> None:
    query = sash.Query({"total": agg.sum("amount")}, window.rows(3), by="card")
    results = run(tmp_path / "state", 0, 17, query) + run(tmp_path / "state", 17, 40, query)
    assert results == query.run(EVENTS).to_pylist()


def test_late_rows_are_late_in_the_next_run_too(tmp_path: Path) -> None:
    path = tmp_path / "state"
    run(path, 20, 40)
    with pytest.raises(ValueError, match="whose windows are closed"):
        run(path, 0, 5)
    with pytest.warns(LateRowsWarning, match=r"^5 row"):
        run(path, 0, 5, late="drop")


def test_a_history_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "state"
    read = []

    def history() -> pa.RecordBatchReader:
        def batches() -> Any:
            read.append(1)
            yield from EVENTS.to_batches()

        return pa.RecordBatchReader.from_batches(EVENTS.schema, batches())

    options: dict[str, Any] = {"until": 32}
    results = run(path, 32, 36, history=history(), **options) + run(path, 36, 40, history=history(), **options)
    assert len(read) == 1
    expected = [row for row in TOTAL.run(EVENTS).to_pylist() if 32 < row["window_end"] <= 39]
    assert sorted(map(repr, results)) == sorted(map(repr, expected))
    assert run(path, 0, 0, **options) == []  # without the history
    with pytest.raises(ValueError, match="until: 32 became nothing"):
        run(path, 0, 0)


def test_sql(tmp_path: Path) -> None:
    text = "SELECT card, sum(amount) AS total FROM t [RANGE 30 SLIDE 5 ON minute] WHERE amount > {} GROUP BY card"
    path = tmp_path / "state"
    query = sash.sql(text.format(3))
    results = run(path, 0, 13, query) + run(path, 13, 40, query)
    assert len(results) == len([row for row in query.run(EVENTS).to_pylist() if row["window_end"] <= 39])
    with pytest.raises(ValueError, match=r"where: amount > 3 became amount > 4"):
        run(path, 0, 0, sash.sql(text.format(4)))


CHANGED: dict[str, dict[str, Any]] = {
    "aggregates: total: sum(amount) became max(amount)": {"aggregates": {"total": agg.max("amount")}},
    "windows: time": {"windows": window.time(30, slide=10)},
    "by: card became nothing": {"by": None},
    "lateness: nothing became 5": {"lateness": 5},
}


@pytest.mark.parametrize("message", CHANGED)
def test_a_changed_query_is_an_error(message: str, tmp_path: Path) -> None:
    run(tmp_path / "state", 0, 10)
    before = (tmp_path / "state").read_bytes()
    same: dict[str, Any] = {
        "aggregates": {"total": agg.sum("amount")}, "windows": window.time(30, slide=5), "by": "card", "time": "minute"
    }  # fmt: skip
    with pytest.raises(ValueError, match=f"different query: .*{message.replace('(', '.').replace(')', '.')}"):
        run(tmp_path / "state", 10, 20, sash.Query(**{**same, **CHANGED[message]}))
    assert (tmp_path / "state").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [({"mode": "update"}, "mode: append became update"), ({"late": "keep"}, "")],
)
def test_options_that_the_state_depends_on(options: Any, message: str, tmp_path: Path) -> None:
    run(tmp_path / "state", 0, 10)
    if message:
        with pytest.raises(ValueError, match=message):
            run(tmp_path / "state", 10, 20, **options)
    else:
        run(tmp_path / "state", 10, 20, **options)


def test_other_types_are_an_error(tmp_path: Path) -> None:
    run(tmp_path / "state", 0, 10)
    other = EVENTS.set_column(2, "amount", EVENTS["amount"].cast(pa.int64()))
    with pytest.raises(ValueError, match="columns: amount: double became int64"):
        TOTAL.run(other.to_reader(), resume=tmp_path / "state")


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: data[:90] + b"?" + data[91:], lambda _: b""])
def test_a_damaged_file_is_an_error(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "state"
    run(path, 0, 10)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=r"restore '.*state' from a copy, or remove it and run over all rows again"):
        run(path, 10, 20)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is a folder"):
        run(tmp_path, 0, 10)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        run(tmp_path / "nowhere" / "state", 0, 10)
    with pytest.raises(TypeError, match="must be the path of a file"):
        run(3, 0, 10)  # type: ignore[arg-type]


def test_two_runs_that_end_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state"
    run(path, 0, 10)
    readers = [TOTAL.run(EVENTS.slice(10, 10).to_reader(), resume=path) for _ in range(2)]
    write = ResumeFile.write

    def write_slowly(file: ResumeFile, data: bytes) -> None:
        time.sleep(0.2)  # the other run would compare in between
        write(file, data)

    monkeypatch.setattr(ResumeFile, "write", write_slowly)

    def end(reader: pa.RecordBatchReader) -> str:
        try:
            reader.read_all()
        except ValueError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor() as pool:
        messages = sorted(pool.map(end, readers))
    assert messages[0] == ""
    assert "Another run has replaced" in messages[1]


def test_two_runs_at_once(tmp_path: Path) -> None:
    path = tmp_path / "state"
    run(path, 0, 10)
    reader = TOTAL.run(EVENTS.slice(10, 10).to_reader(), resume=path)
    run(path, 10, 30)
    with pytest.raises(ValueError, match="Another run has replaced"):
        reader.read_all()


def test_rows_by_key_cannot_go_on(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a key is complete when the next one begins"):
        run(tmp_path / "state", 0, 10, order="keys")


def test_tables_and_spark_have_no_file() -> None:
    with pytest.raises(TypeError, match="only a RecordBatchReader in this process continues from a file"):
        TOTAL.run(EVENTS, resume="state")


# -- kill -9 -----------------------------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
import pyarrow as pa
import sash
from sash import agg, window

path, begin, end, fatal = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
steps = 0

def dying(function):
    def call(*arguments, **options):
        global steps
        for when in ("before", "after"):
            if steps == fatal:
                os.kill(os.getpid(), signal.SIGKILL)
            steps += 1
            if when == "before":
                result = function(*arguments, **options)
        return result
    return call

for name in ("fsync", "replace", "rename", "chmod"):
    setattr(os, name, dying(getattr(os, name)))
events = pa.table({"card": [1, 2] * 20, "minute": list(range(40)), "amount": [float(n) for n in range(40)]})
total = sash.Query({"total": agg.sum("amount")}, window.time(30, slide=5), by="card", time="minute")
total.run(events.slice(begin, end - begin).to_reader(), resume=path).read_all()
print(steps)
"""


def killed_run(path: Path, begin: int, end: int, fatal: int) -> int | None:
    """Run in a process that is killed at a step; return the number of steps if it was not."""
    arguments = [sys.executable, "-c", KILLED, str(path), str(begin), str(end), str(fatal)]
    ended = subprocess.run(arguments, capture_output=True, text=True, check=False, env={**os.environ})
    assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
    return int(ended.stdout) if ended.returncode == 0 else None


def test_kill_at_each_step(tmp_path: Path) -> None:
    """After a kill, the file is that of the run before, or of this one."""
    path = tmp_path / "state"
    run(path, 0, 15)
    before = path.read_bytes()
    token = ResumeFile(path).read_header(before)["token"]
    steps, found = None, set()
    fatal = 0
    while steps is None:
        path.write_bytes(before)
        steps = killed_run(path, 15, 30, fatal)
        is_new = ResumeFile(path).read_header(path.read_bytes())["token"] != token
        found.add(is_new)
        rest = run(path, 30 if is_new else 15, 40)
        expected = [row for row in TOTAL.run(EVENTS).to_pylist() if (29 if is_new else 14) < row["window_end"] <= 39]
        assert sorted(map(repr, rest)) == sorted(map(repr, expected))
        fatal += 1
    assert found == {False, True}
    assert fatal > 6
